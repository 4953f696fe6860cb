"""Many small RLHF runs at once, on one page of plain torch: sampling, the losses of PPO and its alternatives, and Adam.

The leading dimension R is a run: one seed with one KL coefficient. Runs share the prompts and nothing else, so the gradient of
the sum of their losses holds, at the weights of each run, the gradient of that run alone. B is a response, T a token of it.

Elman 1990, Finding Structure in Time (the network, as in `papers/models.py`). Schulman et al. 2017, PPO, eq. 6, 7, 9; Schulman
et al. 2016, GAE, eq. 11, 16; Ziegler et al. 2019, Fine-Tuning Language Models from Human Preferences, eq. 2 (as in
`papers/ppo.py`). Shao et al. 2024, DeepSeekMath (GRPO), sec. 4.1, eq. 3, 4. Dong et al. 2023, RAFT, sec. 3 (rejection sampling,
then fine-tuning on the best). Kingma and Ba 2015, Adam, algorithm 1; the norm is held as by torch.nn.utils.clip_grad_norm_.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Weights = dict[str, Tensor]
"""E [R, V, K] and W [R, K + J + 1, J], over embedding, memory and a 1; then Y [R, J, V], or w [R, J] and b [R]."""
Moments = Sequence[tuple[Tensor, Tensor]]
"""Of each weight, in its shape, Adam's mean gradient and mean squared gradient."""


@dataclass(frozen=True)
class Rollout:
    """What is known of the responses before the update. tokens, mask, logp_old, logp_ref, values: [R, B, T]; scores: [R, B]."""

    tokens: Tensor
    mask: Tensor  # true on the tokens of a response, its end token included
    logp_old: Tensor
    logp_ref: Tensor
    values: Tensor
    scores: Tensor


@dataclass(frozen=True)
class Loss:
    """What each run makes smaller, and its parts: a number for each run, [R]."""

    total: Tensor
    policy_loss: Tensor
    value_loss: Tensor
    entropy: Tensor
    clip_fraction: Tensor
    approx_kl: Tensor


def memories(model: Weights, prompts: Tensor, tokens: Tensor) -> Tensor:
    """Returns the memory after the prompt and after each token of a response, [R, B, T + 1, J].

    prompts: ids [Q, P], Q prompts of one length; the responses to a prompt stand together, B/Q of them. tokens: ids [R, B, T].
    """
    (R, B, T), (V, K) = tokens.shape, model["E"].shape[1:]
    added = model["E"] @ model["W"][:, :K] + model["W"][:, -1:]  # what reading each token of the vocabulary adds
    recurrent = model["W"][:, K:-1]
    one_hot = torch.eye(V, dtype=added.dtype, device=added.device)
    memory = added.new_zeros(R, len(prompts), added.shape[2])
    for token in prompts.unbind(1):
        memory = torch.tanh(one_hot[token] @ added + memory @ recurrent)
    memory = memory.repeat_interleave(B // len(prompts), dim=1)
    read = (one_hot[tokens.flatten(1)] @ added).reshape(R, B, T, added.shape[2])
    found = [memory]
    for x in read.unbind(2):
        memory = torch.tanh(x + memory @ recurrent)
        found.append(memory)
    return torch.stack(found, dim=2)


def log_probs(model: Weights, prompts: Tensor, tokens: Tensor, temperature: float = 1.0) -> Tensor:
    """Returns the log-prob of every token of the vocabulary at each place of a response, [R, B, T, V]."""
    memory = memories(model, prompts, tokens)[:, :, :-1]
    logits = memory.flatten(1, 2) @ model["Y"] / temperature
    return logits.log_softmax(-1).reshape(*tokens.shape, -1)


def written(log_p: Tensor, tokens: Tensor) -> Tensor:
    """Returns the log-prob of the tokens written, [R, B, T]."""
    return log_p.gather(-1, tokens[..., None]).squeeze(-1)


def numbers(model: Weights, prompts: Tensor, tokens: Tensor) -> Tensor:
    """Returns the number of a critic or a reward model after the prompt and after each token, [R, B, T + 1]."""
    memory = memories(model, prompts, tokens)
    # Not `memory @ w`: of one run alone that is another routine, which may sum in another order and so come to other digits.
    return (memory * model["w"][:, None, None]).sum(-1) + model["b"][:, None, None]


def values(critic: Weights, prompts: Tensor, tokens: Tensor) -> Tensor:
    """Returns what the critic expects before each token is written, [R, B, T]."""
    return numbers(critic, prompts, tokens)[..., :-1]


def scores(reward_model: Weights, prompts: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
    """Returns the reward model's number after the last token of each response, [R, B]."""
    return numbers(reward_model, prompts, tokens).gather(2, mask.sum(2, keepdim=True)).squeeze(2)


@torch.no_grad()
def sampled(policy: Weights, prompts: Tensor, u: Tensor, temperature: float = 1.0) -> tuple[Tensor, Tensor]:
    """Writes a response for each row of draws u [R, B, T]; returns tokens and mask. Token 0 ends a response, and stands behind it.

    The token is the first whose cumulative probability is above u (inverse transform sampling: Devroye 1986, ch. II.2).
    """
    (V, K), tokens = policy["E"].shape[1:], torch.zeros_like(u, dtype=torch.long)
    added = policy["E"] @ policy["W"][:, :K] + policy["W"][:, -1:]
    one_hot = torch.eye(V, dtype=u.dtype, device=u.device)
    memory = memories(policy, prompts, tokens[..., :0])[:, :, 0]
    mask, running = torch.zeros_like(tokens, dtype=torch.bool), torch.ones_like(tokens[..., 0], dtype=torch.bool)
    for t in range(u.shape[2]):
        cumulative = (memory @ policy["Y"] / temperature).softmax(-1).cumsum(-1)[..., :-1]
        tokens[..., t] = (cumulative <= u[..., t, None]).sum(-1) * running
        mask[..., t] = running
        running = running & (tokens[..., t] != 0)
        memory = torch.tanh(one_hot[tokens[..., t]] @ added + memory @ policy["W"][:, K:-1])
    return tokens, mask


def mean(x: Tensor, mask: Tensor) -> Tensor:
    """Returns the mean over the tokens of each run that count, [R]."""
    return x.where(mask, 0).sum((1, 2)) / mask.sum((1, 2)).clamp(min=1)


def advantages(rollout: Rollout, kl_coef: Tensor, gamma: float, lam: float) -> tuple[Tensor, Tensor]:
    """Returns whitened advantages and returns, [R, B, T]; kl_coef: β of each run, [R].

    The reward is −β·k1 on every token, and the score on the last one.
    """
    mask, T = rollout.mask, rollout.mask.shape[2]
    last = mask.sum(2, keepdim=True) - 1
    penalty = -kl_coef[:, None, None] * (rollout.logp_old - rollout.logp_ref)
    rewards = penalty.scatter_add(2, last, rollout.scores[..., None])
    values = rollout.values.where(mask, 0)
    ahead = torch.cat([values[..., 1:], torch.zeros_like(values[..., :1])], dim=2)
    deltas = (rewards + gamma * ahead - values).where(mask, 0)
    step = torch.arange(T, device=mask.device)
    fading = ((gamma * lam) ** (step[:, None] - step).clamp(min=0).to(deltas.dtype)).tril()
    found = deltas @ fading  # A_t = Σ_l (γλ)^l δ_{t+l}
    centred = (found - mean(found, mask)[:, None, None]).where(mask, 0)
    variance = centred.square().sum((1, 2)) / (mask.sum((1, 2)) - 1).clamp(min=1)
    return centred / (variance + 1e-8).sqrt()[:, None, None], found + values


def ppo(
    rollout: Rollout, whitened: Tensor, returns: Tensor, log_p: Tensor, new_values: Tensor, counted: Tensor, *,
    clip: float = 0.2, value_clip: float = 0.2, value_coef: float = 0.5, entropy_coef: float = 0.0,
) -> Loss:  # fmt: skip
    """Returns the loss of PPO. log_p: of the new policy, [R, B, T, V]; counted: the tokens of this step, [R, B, T]."""
    log_ratio = written(log_p, rollout.tokens) - rollout.logp_old
    ratio = log_ratio.where(counted, 0).exp()
    free, clipped = -whitened * ratio, -whitened * ratio.clamp(1 - clip, 1 + clip)
    near = new_values.clamp(rollout.values - value_clip, rollout.values + value_clip)
    squares = torch.maximum((new_values - returns) ** 2, (near - returns) ** 2) / 2
    policy_loss, value_loss = mean(torch.maximum(free, clipped), counted), mean(squares, counted)
    entropy = mean(-(log_p.exp() * log_p).sum(-1), counted)
    total = policy_loss + value_coef * value_loss - entropy_coef * entropy
    changed = mean((clipped > free).to(ratio.dtype), counted)
    return Loss(total, policy_loss, value_loss, entropy, changed, mean(ratio - 1 - log_ratio, counted))


def grpo(
    rollout: Rollout, log_p: Tensor, kl_coef: Tensor, prompts: int, *, clip: float = 0.2, scale: bool = True, eps: float = 1e-4
) -> Loss:  # fmt: skip
    """Returns the loss of GRPO: the responses to a prompt are compared with each other, and the KL (k3) is part of the loss."""
    group, counted = rollout.scores.reshape(len(rollout.scores), prompts, -1), rollout.mask
    against = group - group.mean(2, keepdim=True)
    A = (against / (group.std(2, keepdim=True) + eps) if scale else against).flatten(1)[..., None]
    logp = written(log_p, rollout.tokens).where(counted, 0)
    log_ratio = logp - rollout.logp_old.where(counted, 0)
    ratio = log_ratio.exp()
    free, clipped = -ratio * A, -ratio.clamp(1 - clip, 1 + clip) * A
    to_ref = rollout.logp_ref.where(counted, 0) - logp
    k3 = to_ref.exp() - to_ref - 1
    lengths = counted.sum(2)

    def by_response(x: Tensor) -> Tensor:
        return (x.where(counted, 0).sum(2) / lengths).mean(1)

    policy_loss, kl_loss = by_response(torch.maximum(free, clipped)), by_response(k3)
    entropy = mean(-(log_p.exp() * log_p).sum(-1), counted)
    changed = mean((clipped > free).to(ratio.dtype), counted)
    moved = mean(ratio - 1 - log_ratio, counted)
    return Loss(
        policy_loss + kl_coef * kl_loss, policy_loss, torch.zeros_like(policy_loss), entropy, changed, moved.detach()
    )


def rejection(rollout: Rollout, log_p: Tensor, prompts: int) -> Loss:
    """Returns the loss of fine-tuning on the best response to each prompt, by its score: the first one where several are."""
    group = rollout.scores.reshape(len(rollout.scores), prompts, -1)
    best = torch.zeros_like(group, dtype=torch.bool).scatter(2, group.argmax(2, keepdim=True), True).flatten(1)
    kept = rollout.mask & best[..., None]
    logp = written(log_p, rollout.tokens)
    nll, none = -mean(logp, kept), torch.zeros_like(logp[:, 0, 0])
    log_ratio = (logp - rollout.logp_old).where(rollout.mask, 0).detach()
    moved = mean(log_ratio.exp() - 1 - log_ratio, rollout.mask)
    return Loss(nll, nll, none, mean(-(log_p.exp() * log_p).sum(-1), rollout.mask), none, moved)


class Adam:
    """Adam for weights whose leading dimension is a run; the gradient of each run may be held at a norm first.

    Numbers are those of Kingma and Ba: β1 0.9, β2 0.999, ε 1e-8.
    """

    def __init__(
        self,
        weights: Sequence[Tensor],
        lr: float,
        max_norm: float = float("inf"),
        steps: int = 0,
        moments: Moments = (),
    ) -> None:
        """Begins with moments of 0, or goes on with those left after some steps. weights: leaves that require a gradient."""
        self.weights, self.lr, self.max_norm, self.steps = weights, lr, max_norm, steps
        self.moments = [(m.clone(), v.clone()) for m, v in moments] or [
            (torch.zeros_like(each), torch.zeros_like(each)) for each in weights
        ]

    def step(self, loss: Tensor) -> Tensor:
        """Moves all weights down the slope of their run's loss [R]; returns the norm of each run's gradient before, [R]."""
        gradients = torch.autograd.grad(loss.sum(), self.weights)
        self.steps += 1
        with torch.no_grad():
            norm = sum((g.reshape(len(g), -1).square().sum(1) for g in gradients), loss.new_zeros(len(loss))).sqrt()
            scale = (self.max_norm / (norm + 1e-6)).clamp(max=1)
            for weight, gradient, (m, v) in zip(self.weights, gradients, self.moments, strict=True):
                g = gradient * scale.reshape(-1, *[1] * (gradient.ndim - 1))
                m.mul_(0.9).add_(g, alpha=1 - 0.9)
                v.mul_(0.999).addcmul_(g, g, value=1 - 0.999)
                size = (v / (1 - 0.999**self.steps)).sqrt() + 1e-8
                weight.sub_(self.lr * (m / (1 - 0.9**self.steps)) / size)
        return norm
