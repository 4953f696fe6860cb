"""One iteration of many runs: sample responses, score them, and take some steps of Adam on what was sampled; and several
iterations in a row, from the arrays that are kept before them to those that are kept after them.

The leading dimension R is a run, in the order of `RunNumbers.runs`. All arithmetic of the loss is in `papers/many_runs.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from blueprint.papers import many_runs as page
from blueprint.papers.many_runs import Loss, Rollout, Weights
from blueprint.training import people
from blueprint.training.before import Models, prompts_of
from blueprint.training.run_toml import Arrays, RunNumbers

WATCHED = (
    "gold", "proxy", "kl", "kl_k1", "clip_fraction", "entropy", "value_loss", "grad_norm", "length", "policy_loss", "approx_kl",
    "kl_coef", "finished",
)  # fmt: skip
"""What is watched of each iteration, a number for each run:

gold, proxy: means over the responses of what people want, and of the reward model's score. kl: exact, of the sampling policy to
the reference, summed over a response's tokens, mean over responses; kl_k1: the same estimated from the tokens written.
clip_fraction, value_loss, policy_loss, grad_norm (before it is held), approx_kl (k3 of new to sampling policy): means over the
iteration's steps. entropy: of the sampling policy, mean over tokens. length: tokens of a response, mean. kl_coef: β as it was
used. finished: share of responses with an end token.
"""


@dataclass(frozen=True)
class Kept:
    """What Adam keeps from one iteration to the next: steps taken, and by weight (`policy.E`) its two means, [R, …] each."""

    steps: int
    moments: dict[str, tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class State:
    """Where the runs stand before an iteration: the weights of policy and critic, β, [R], and Adam, where it is kept."""

    policy: Weights
    critic: Weights
    kl_coef: Tensor
    adam: Kept | None = None


@dataclass(frozen=True)
class Outcome:
    """What an iteration comes to: the state after it, what is watched, [R] each, responses [R, B, T] and their scores [R, B]."""

    after: State
    watched: dict[str, Tensor]
    tokens: Tensor
    mask: Tensor
    scores: Tensor


@dataclass(frozen=True)
class LastStep:
    """What a trainer sees in the last step of an iteration, before the weights move once more; [R, B, T], but for the loss, [R].

    counted: the tokens from which the step learns. logp, entropy, values: of the policy and the critic in training; values of
    GRPO say nothing. advantages: as PPO's loss takes them, whitened.
    """

    rollout: Rollout
    counted: Tensor
    logp: Tensor
    entropy: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor
    loss: Loss


class Trainer:
    """Takes iterations of all runs of some numbers, from the models that were learned before."""

    def __init__(self, numbers: RunNumbers, models: Models, device: str = "cpu") -> None:
        """Gives every run a copy of its seed's models: the runs of a seed stand together."""
        betas = len(numbers.ppo.kl_coef)
        self.numbers, self.device, self.prompts = numbers, device, prompts_of(numbers, device)
        self.reference, self.reward_model = (
            {name: each.to(device).repeat_interleave(betas, dim=0) for name, each in model.items()}
            for model in (models.sft, models.reward_model)
        )

    def start(self) -> State:
        """Returns the state before the first iteration: the policy is the reference, and the critic the reward model."""
        beta = torch.tensor([beta for _, beta in self.numbers.runs], dtype=torch.float64, device=self.device)
        return State(dict(self.reference), dict(self.reward_model), beta)

    def iterate(self, state: State, iteration: int) -> Outcome:
        """Takes one iteration; iteration: its number from 0 on, which fixes its draws."""
        rollout, log_p, log_ref = self.rollout(state, iteration)
        before = self._seen_before(rollout, state, log_p, log_ref)
        policy, critic, steps, adam = self._updated(rollout, state)
        watched = before | {name: torch.stack([each[name] for each in steps]).mean(0) for name in steps[0]}
        after = State(policy, critic, self._next_kl_coef(state.kl_coef, watched["kl_k1"]), adam)
        return Outcome(after, watched, rollout.tokens, rollout.mask, rollout.scores)

    @torch.no_grad()
    def rollout(self, state: State, iteration: int) -> tuple[Rollout, Tensor, Tensor]:
        """Samples and scores; returns also all log-probs of sampling policy and reference, [R, B, T, V]."""
        update, T = self.numbers.update, self.numbers.text.max_new_tokens
        shape = (update.responses, T)
        u = people.for_seeds(self.numbers, people.RESPONSES, shape, self.device, iteration)
        u = u.repeat_interleave(len(self.numbers.ppo.kl_coef), dim=0)  # the runs of a seed share their luck
        tokens, mask = page.sampled(state.policy, self.prompts, u)
        log_p, log_ref = (page.log_probs(each, self.prompts, tokens) for each in (state.policy, self.reference))
        logp, logp_ref = page.written(log_p, tokens), page.written(log_ref, tokens)
        values = page.values(state.critic, self.prompts, tokens)
        scores, of = page.scores(self.reward_model, self.prompts, tokens, mask), self.numbers.reward
        if of.length_penalty:
            scores = scores - of.length_penalty * (mask.sum(2) - of.free_tokens).clamp(min=0).to(scores.dtype)
        return Rollout(tokens, mask, logp, logp_ref, values, scores), log_p, log_ref

    @torch.no_grad()
    def _seen_before(self, rollout: Rollout, state: State, log_p: Tensor, log_ref: Tensor) -> dict[str, Tensor]:
        """Returns what is watched of the responses and the policy that wrote them."""
        mask, tokens = rollout.mask, rollout.tokens

        def of_responses(x: Tensor) -> Tensor:
            return x.where(mask, 0).sum(2).mean(1)

        p = log_p.exp()
        return {
            "gold": people.gold(self.numbers, tokens, mask).mean(1),
            "proxy": page.scores(self.reward_model, self.prompts, tokens, mask).mean(1),
            "kl": of_responses((p * (log_p - log_ref)).sum(-1)),
            "kl_k1": of_responses(rollout.logp_old - rollout.logp_ref),
            "entropy": page.mean(-(p * log_p).sum(-1), mask),
            "length": mask.sum(2).to(p.dtype).mean(1),
            "finished": ((tokens == 0) & mask).any(2).to(p.dtype).mean(1),
            "kl_coef": state.kl_coef,
        }

    def last_step(self, state: State, iteration: int) -> LastStep:
        """Returns what the last step of an iteration sees."""
        update, tokens = self.numbers.update, (rollout := self.rollout(state, iteration)[0]).tokens
        policy, critic, *_ = self._updated(rollout, state, update.epochs * update.minibatches - 1)
        counted = self._minibatches(rollout.mask)[-1]
        with torch.no_grad():
            log_p = page.log_probs(policy, self.prompts, tokens)
            loss = self._loss(rollout, state)(policy, critic, counted)
            values = page.values(critic, self.prompts, tokens)
        entropy = -(log_p.exp() * log_p).sum(-1)
        use = self.numbers.ppo
        whitened, returns = page.advantages(rollout, state.kl_coef, use.gamma, use.gae_lambda)
        return LastStep(rollout, counted, page.written(log_p, tokens), entropy, values, whitened, returns, loss)

    def _updated(
        self, rollout: Rollout, state: State, steps_taken: int | None = None
    ) -> tuple[Weights, Weights, list[dict[str, Tensor]], Kept | None]:
        """Takes the steps of an iteration, or the first of them; returns new weights, what is watched of each step, and Adam,
        where it is kept.
        """
        update = self.numbers.update
        policy, critic = (
            {name: each.detach().clone().requires_grad_() for name, each in model.items()}
            for model in (state.policy, state.critic)
        )
        learning = {f"policy.{name}": each for name, each in policy.items()}
        learning |= {f"critic.{name}": each for name, each in critic.items()} if update.method == "ppo" else {}
        before = state.adam or Kept(0, {})  # made anew, an iteration is a whole by itself
        moments = [before.moments[name] for name in learning if name in before.moments]
        adam = page.Adam([*learning.values()], update.lr, update.max_norm, before.steps, moments)
        loss_of, steps = self._loss(rollout, state), []
        for counted in (self._minibatches(rollout.mask) * update.epochs)[:steps_taken]:
            loss = loss_of(policy, critic, counted)
            norm = adam.step(loss.total)
            seen = {
                name: getattr(loss, name).detach()
                for name in ("policy_loss", "value_loss", "clip_fraction", "approx_kl")
            }
            steps.append(seen | {"grad_norm": norm})
        policy, critic = ({name: each.detach() for name, each in model.items()} for model in (policy, critic))
        kept = Kept(adam.steps, dict(zip(learning, adam.moments, strict=True))) if update.adam == "kept" else None
        return policy, critic, steps, kept

    def _loss(self, rollout: Rollout, state: State) -> Callable[[Weights, Weights, Tensor], Loss]:
        """Returns the loss of a step as a function of new weights and of the tokens that count in it."""
        use, method, prompts = self.numbers.ppo, self.numbers.update.method, self.prompts
        whitened, returns = page.advantages(rollout, state.kl_coef, use.gamma, use.gae_lambda)

        def loss(policy: Weights, critic: Weights, counted: Tensor) -> Loss:
            log_p = page.log_probs(policy, prompts, rollout.tokens)
            if method == "grpo":
                return page.grpo(
                    rollout, log_p, state.kl_coef, len(prompts), clip=use.clip_range, scale=self.numbers.grpo.scale
                )
            if method == "rejection":
                return page.rejection(rollout, log_p, len(prompts))
            values = page.values(critic, prompts, rollout.tokens)
            return page.ppo(
                rollout, whitened, returns, log_p, values, counted, clip=use.clip_range,
                value_clip=use.value_clip_range, value_coef=use.vf_coef, entropy_coef=use.ent_coef,
            )  # fmt: skip

        return loss

    def _minibatches(self, mask: Tensor) -> list[Tensor]:
        """Returns the tokens that count in each step of an epoch: the responses are taken in their order."""
        number, B = self.numbers.update.minibatches, mask.shape[1]
        if number == 1:
            return [mask]
        piece = torch.arange(B, device=mask.device) // (B // number)
        return [mask & (piece == each)[:, None] for each in range(number)]

    def _next_kl_coef(self, kl_coef: Tensor, kl: Tensor) -> Tensor:
        """Moves β towards the target KL (Ziegler et al. 2019, sec. 2.2; `papers/kl_controller.py`), where there is one."""
        of = self.numbers.controller
        if not of.target:
            return kl_coef
        error = (kl / of.target - 1).clamp(-0.2, 0.2)
        return kl_coef * (1 + error * self.numbers.update.responses / of.horizon)


Progress = Callable[[int], None]
"""Is told how many iterations more are finished."""
PARTS = ("sft", "reward_model", "report")
"""What is learned before the first iteration, by the fields of `Models`."""


def arrays_after(
    trainer: Trainer, before: Arrays | None, first: int, end: int, progress: Progress = lambda done: None
) -> Arrays:
    """Returns what is kept of iterations from `first` up to, and without, `end`; before: what is kept of those before, if any."""
    state, outcomes = state_in(before, trainer.device) if before else trainer.start(), []
    for iteration in range(first, end):
        outcomes.append(trainer.iterate(state, iteration))
        state = outcomes[-1].after
        progress(1)
    return _arrays(outcomes)


def models_in(arrays: Arrays, device: str) -> Models:
    """Returns the models that were learned before, from their arrays."""
    return Models(*(_part(arrays, part, device) for part in PARTS))


def arrays_of_models(models: Models) -> Arrays:
    """Returns the models that were learned before as arrays by name."""
    return {f"{part}.{name}": each.cpu().numpy() for part in PARTS for name, each in getattr(models, part).items()}


def _part(arrays: Arrays, part: str, device: str) -> dict[str, torch.Tensor]:
    """Returns the tensors whose names begin with a part and a dot."""
    begin = f"{part}."
    return {
        name.removeprefix(begin): torch.as_tensor(each, device=device)
        for name, each in arrays.items()
        if name.startswith(begin)
    }


def state_in(arrays: Arrays, device: str) -> State:
    """Returns the state after the iterations of a file."""
    m, v = (_part(arrays, f"adam.{letter}", device) for letter in "mv")
    kept = Kept(int(arrays["adam.steps"]), {name: (m[name], v[name]) for name in m}) if m else None
    return State(
        _part(arrays, "policy", device),
        _part(arrays, "critic", device),
        torch.as_tensor(arrays["next_kl_coef"], device=device),
        kept,
    )


def _arrays(outcomes: list[Outcome]) -> Arrays:
    """Returns what is kept of some iterations: what was watched, the responses, and the state after the last one."""
    after = outcomes[-1].after
    found = {name: torch.stack([each.watched[name] for each in outcomes]) for name in WATCHED}
    found["next_kl_coef"] = after.kl_coef
    for part, weights in (("policy", after.policy), ("critic", after.critic)):
        found |= {f"{part}.{name}": each for name, each in weights.items()}
    for name, (m, v) in after.adam.moments.items() if after.adam else ():
        found |= {f"adam.m.{name}": m, f"adam.v.{name}": v}
    if after.adam:
        found["adam.steps"] = torch.tensor(after.adam.steps)
    tokens = torch.stack([each.tokens for each in outcomes]).to(torch.uint8)
    return {name: each.cpu().numpy() for name, each in found.items()} | {"tokens": tokens.cpu().numpy()}
