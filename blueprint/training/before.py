"""What comes before PPO: a policy fine-tuned on demonstrations, and a reward model learned from comparisons of its responses.

All seeds learn at once: the leading dimension S is a seed.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from blueprint.papers import many_runs as page
from blueprint.papers.many_runs import Weights
from blueprint.training import people
from blueprint.training.numbers import RunNumbers


@dataclass(frozen=True)
class Models:
    """The two models with which PPO begins, and by name what is known of them, a number for each seed, [S].

    sft_nll: mean −log p of a demonstrated token. reward_loss, accuracy: on the comparisons. gold_correlation,
    felt_correlation: of its scores with gold, and with what labelers feel, on responses that it has not seen.
    """

    sft: Weights
    reward_model: Weights
    report: dict[str, Tensor]


def prompts_of(numbers: RunNumbers, device: str) -> Tensor:
    """Returns the tokens of the prompts, [Q, P]."""
    return torch.tensor([numbers.ids(prompt) for prompt in numbers.text.prompts], device=device)


SEEDS_AT_ONCE = 64
"""Seeds that learn side by side: with 2,000 responses each they need about 1 GB."""


def learned_before(numbers: RunNumbers, device: str) -> Models:
    """Fine-tunes a policy and fits a reward model, for every seed."""
    found = []
    for first in range(0, numbers.seeds, SEEDS_AT_ONCE):
        some = {"seed": numbers.seed + first, "seeds": min(SEEDS_AT_ONCE, numbers.seeds - first)}
        seeds = numbers.model_copy(update=some)
        sft, nll = fine_tuned(seeds, device)
        reward_model, report = fitted(seeds, sft, device)
        found.append((sft, reward_model, {"sft_nll": nll, **report}))
    joined = (
        {name: torch.cat([each[name] for each in parts]) for name in parts[0]} for parts in zip(*found, strict=True)
    )
    return Models(*joined)


def _begun(numbers: RunNumbers, head: tuple[int, ...], first: int, device: str) -> Weights:
    """Returns random weights; head: the shape of Y, or of w. first: the number of the first tensor among all weights."""
    size, V = numbers.network, len(numbers.text.vocabulary)
    shapes = ((V, size.embedding), (size.embedding + size.hidden + 1, size.hidden), head)
    scales = (size.embedding_scale, size.embedding_scale, size.head_scale)

    def drawn(number: int) -> Tensor:
        found = [people.normal(seed, first + number, shapes[number]) * scales[number] for seed in numbers.all_seeds]
        return torch.stack([torch.as_tensor(each) for each in found]).to(device)

    weights = {name: drawn(number) for number, name in enumerate(("E", "W", "Y" if len(head) == 2 else "w"))}
    if len(head) == 1:
        weights["b"] = torch.zeros(numbers.seeds, dtype=torch.float64, device=device)
    return {name: each.requires_grad_() for name, each in weights.items()}


def _released(weights: Weights) -> Weights:
    return {name: each.detach() for name, each in weights.items()}


def fine_tuned(numbers: RunNumbers, device: str) -> tuple[Weights, Tensor]:
    """Returns policies that have learned the demonstrations, and their loss, [S]."""
    prompts, (tokens, mask) = prompts_of(numbers, device), people.demonstrations(numbers, device)
    weights = _begun(numbers, (numbers.network.hidden, len(numbers.text.vocabulary)), 0, device)
    adam = page.Adam([*weights.values()], numbers.sft.lr)
    for _ in range(numbers.sft.steps):
        logp = page.written(page.log_probs(weights, prompts, tokens), tokens)
        loss = -page.mean(logp, mask)
        adam.step(loss)
    return _released(weights), loss.detach()


def fitted(numbers: RunNumbers, sft: Weights, device: str = "cpu") -> tuple[Weights, dict[str, Tensor]]:
    """Returns reward models that have learned comparisons, and what is known of them."""
    of, prompts, T = numbers.comparisons, prompts_of(numbers, device), numbers.text.max_new_tokens
    u = people.for_seeds(numbers, people.COMPARED, (2 * of.pairs, T), device)
    tokens, mask = page.sampled(sft, prompts, u, of.temperature)
    feel = people.felt(numbers, tokens, mask).reshape(-1, of.pairs, 2)  # responses 2k and 2k + 1 are compared
    draw = people.for_seeds(numbers, people.PREFERRED, (of.pairs,), device)
    first_wins = draw < torch.sigmoid(feel[..., 0] - feel[..., 1])
    weights = _begun(numbers, (numbers.network.hidden,), 3, device)
    adam = page.Adam([*weights.values()], numbers.reward_model.lr)
    for _ in range(numbers.reward_model.steps):
        score = page.scores(weights, prompts, tokens, mask).reshape(-1, of.pairs, 2)
        ahead = torch.where(first_wins, score[..., 0] - score[..., 1], score[..., 1] - score[..., 0])
        loss = -logsigmoid(ahead).mean(1)
        adam.step(loss)
    found = _released(weights)
    mean = page.scores(found, prompts, tokens, mask).mean(1)
    found["b"] = found["b"] - mean  # a shift of all scores changes no preference; now 0 is what the policy begins with
    report = {"reward_loss": loss.detach(), "accuracy": (ahead > 0).to(loss.dtype).mean(1)}
    return found, report | _held_out(numbers, sft, found, device)


def _held_out(numbers: RunNumbers, sft: Weights, reward_model: Weights, device: str) -> dict[str, Tensor]:
    """Returns how scores of new responses go with gold, and with what labelers feel, [S]."""
    of, prompts = numbers.comparisons, prompts_of(numbers, device)
    u = people.for_seeds(numbers, people.HELD_OUT, (of.held_out, numbers.text.max_new_tokens), device)
    tokens, mask = page.sampled(sft, prompts, u, of.temperature)
    score = page.scores(reward_model, prompts, tokens, mask)
    return {
        "gold_correlation": _correlation(score, people.gold(numbers, tokens, mask)),
        "felt_correlation": _correlation(score, people.felt(numbers, tokens, mask)),
    }


def _correlation(x: Tensor, y: Tensor) -> Tensor:
    """Returns Pearson's correlation of each row, [S]."""
    x, y = x - x.mean(1, keepdim=True), y - y.mean(1, keepdim=True)
    return (x * y).sum(1) / (x.square().sum(1) * y.square().sum(1)).sqrt()
