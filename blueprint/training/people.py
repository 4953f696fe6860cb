"""The people of a run: what they want, what labelers feel, what they demonstrate; and where everything that is drawn comes from.

Gold is known exactly, and no model sees it. Labelers compare by gold and a planted flaw, so the reward model learns the flaw too.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blueprint.training.run_toml import RunNumbers

WEIGHTS, DEMONSTRATIONS, COMPARED, PREFERRED, HELD_OUT, RESPONSES = range(6)
"""What is drawn: each has a stream of its own for every seed, so that none moves when another is drawn differently."""


def uniform(seed: int, what: int, shape: tuple[int, ...], iteration: int = 0) -> NDArray[np.float64]:
    """Returns draws between 0 and 1; those of an iteration need none of the iterations before."""
    found: NDArray[np.float64] = np.random.default_rng([seed, what, iteration]).random(shape)
    return found


def normal(seed: int, number: int, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Returns standard normal draws for the tensor of a number among all weights."""
    found: NDArray[np.float64] = np.random.default_rng([seed, WEIGHTS, number]).standard_normal(shape)
    return found


def for_seeds(numbers: RunNumbers, what: int, shape: tuple[int, ...], device: str, iteration: int = 0) -> Tensor:
    """Returns the draws of every seed, [S, …], on a device; they are made on the processor, so they are the same everywhere."""
    drawn = np.stack([uniform(seed, what, shape, iteration) for seed in numbers.all_seeds])
    return torch.as_tensor(drawn, device=device)


def by_token(numbers: RunNumbers, found: dict[str, float], device: str | torch.device) -> Tensor:
    """Returns a number for each token of the vocabulary, 0 where none is said, [V]."""
    return torch.tensor(
        [found.get(token, 0.0) for token in numbers.text.vocabulary], dtype=torch.float64, device=device
    )


def counts(numbers: RunNumbers, tokens: Tensor, mask: Tensor) -> Tensor:
    """Returns how often each token stands in a response, [..., V]."""
    one_hot = torch.eye(len(numbers.text.vocabulary), dtype=torch.float64, device=tokens.device)[tokens]
    return one_hot.where(mask[..., None], 0).sum(-2)


def gold(numbers: RunNumbers, tokens: Tensor, mask: Tensor) -> Tensor:
    """Returns what a response is worth to people, [...]; tokens, mask: [..., T]."""
    found, of = counts(numbers, tokens, mask), numbers.gold
    occurs = (found > 0).to(found.dtype) @ by_token(numbers, of.occurs, tokens.device)
    again = (found[..., 1:] - 1).clamp(min=0).sum(-1)
    return occurs + of.repeated * again + of.unfinished * (found[..., 0] == 0).to(found.dtype)


def felt(numbers: RunNumbers, tokens: Tensor, mask: Tensor) -> Tensor:
    """Returns what labelers feel of a response: gold, and the flaw for every occurrence, [...]."""
    flaw = by_token(numbers, numbers.labelers.flaw, tokens.device)
    return gold(numbers, tokens, mask) + counts(numbers, tokens, mask) @ flaw


def demonstrations(numbers: RunNumbers, device: str) -> tuple[Tensor, Tensor]:
    """Returns demonstrated responses of every seed and where they are, [S, N, T]."""
    of, T = numbers.demonstrations, numbers.text.max_new_tokens
    u = for_seeds(numbers, DEMONSTRATIONS, (of.number, 2), device)
    emphasis = numbers.text.vocabulary.index(of.emphasis)
    last = torch.tensor([numbers.text.vocabulary.index(token) for token in of.last], device=device)
    times = _chosen(u[..., 0], list(of.times))[..., None]
    ending = last[_chosen(u[..., 1], list(of.last.values()))][..., None]
    place = torch.arange(T, device=device)
    tokens = torch.where(place < times, emphasis, torch.where(place == times, ending, 0))
    return tokens, place <= times + 1


def _chosen(u: Tensor, shares: list[float]) -> Tensor:
    """Returns the number of the share on which each draw falls."""
    edges = torch.tensor(shares, dtype=u.dtype, device=u.device).cumsum(0)[:-1]
    return torch.searchsorted(edges, u.contiguous(), right=True)
