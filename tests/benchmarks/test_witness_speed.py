"""How long the witness's GAE and loss take, in copies of a tensor of the same bytes, beside the loops of TRL and verl.

Timed by `pytest tests/benchmarks/test_witness_speed.py --benchmark-only -s`. Processor time of one thread, so that other
programs on the machine change it less; all sides take turns, and the median of 20 turns (5 for the slow ones) counts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

import torch
from torch import Tensor

from blueprint.witness.gae import gae
from blueprint.witness.tokens import Tokens, TokenSettings, token_loss
from tests.witness import loops

SIZES, SMALL = [(1024, 16), (4096, 128), (16384, 1024)], (8, 16)
DTYPES = [torch.float64, torch.float32]
LARGE, TURNS, FEW_TURNS = 1 << 22, 20, 5
TICK = 1e-9
Copies: TypeAlias = Callable[[dict[str, Callable[[], Any]], Tensor], dict[str, float]]
SETTINGS = TokenSettings(gamma=1.0, gae_lambda=0.95)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Lets torch use one thread, so that processor time is the time of the work and not of threads that wait."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def batch(size: tuple[int, int], dtype: torch.dtype) -> Tokens:
    """Returns made-up numbers of words; responses have different lengths."""
    torch.manual_seed(0)
    old, reference, new, scores = (-torch.rand(size, dtype=dtype) for _ in range(4))
    old_values, values = (torch.randn(size, dtype=dtype) for _ in range(2))
    mask = (torch.arange(size[1]) < torch.randint(1, size[1] + 1, (size[0], 1))).to(dtype)
    return Tokens(old, reference, new, old_values, values, scores, mask)


@pytest.fixture
def copies(benchmark: Any, timed: bool) -> Copies:
    """Returns a function that gives the median time of each side in copies; pytest-benchmark records the first side."""

    def taken(work: dict[str, Callable[[], Any]], like: Tensor) -> dict[str, float]:
        # A clock tick is longer than the smallest copy.
        repeat, often = (max(1, (1 << 21) // like.numel()), 20 if like.numel() >= LARGE else 1) if timed else (1, 1)
        target, turns = torch.empty_like(like), (TURNS if like.numel() < LARGE else FEW_TURNS) if timed else 1
        times: dict[str, list[float]] = {name: [] for name in ("copy", *work)}
        for each in work.values():
            each()
        for _ in range(turns):
            times["copy"] += [_seconds(lambda: target.copy_(like), repeat) for _ in range(often)]
            for name, each in work.items():
                times[name].append(_seconds(each, max(1, repeat // 16)))
        unit = max(statistics.median(times["copy"]), TICK)
        found = {name: round(statistics.median(each) / unit, 1) for name, each in times.items() if name != "copy"}
        benchmark.pedantic(next(iter(work.values())), rounds=1)
        benchmark.extra_info.update(found)
        print(f"\n{tuple(like.shape)} {like.dtype} copy {unit * 1e3:.4f} ms: {found}")
        return found

    return taken


def _seconds(work: Callable[[], Any], repeat: int) -> float:
    began = time.process_time()
    for _ in range(repeat):
        work()
    return (time.process_time() - began) / repeat


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gae_without_holes(copies: Copies, timed: bool, size: tuple[int, int], dtype: torch.dtype) -> None:
    tokens = batch(size, dtype)
    rewards, values, mask = tokens.scores, tokens.old_values, tokens.mask
    out = (torch.empty_like(rewards), torch.empty_like(rewards))
    found = copies(
        {
            "ours": lambda: gae(rewards, values, 1.0, 0.95, out=out),
            "ours, masked": lambda: gae(rewards, values, 1.0, 0.95, mask, out=out),
            "trl": lambda: loops.trl(rewards, values, mask, 1.0, 0.95),
            "verl": lambda: loops.verl(rewards, values, mask, 1.0, 0.95),
        },
        rewards,
    )
    assert found["ours, masked"] < found["trl"] or not timed
    if size == SIZES[-1] and dtype == torch.float64:
        assert found["ours"] <= 8


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gae_with_holes(copies: Copies, timed: bool, size: tuple[int, int], dtype: torch.dtype) -> None:
    tokens = batch(size, dtype)
    rewards, values = tokens.scores, tokens.old_values
    mask = tokens.mask * (torch.rand(size) < 0.8)
    out = (torch.empty_like(rewards), torch.empty_like(rewards))
    found = copies(
        {
            "ours, carry": lambda: gae(rewards, values, 1.0, 0.95, mask, "carry", out),
            "ours, zero": lambda: gae(rewards, values, 1.0, 0.95, mask, "zero", out),
            "verl": lambda: loops.verl(rewards, values, mask, 1.0, 0.95),
        },
        rewards,
    )
    assert found["ours, carry"] < found["verl"] or not timed
    if size == SIZES[-1]:
        assert 4 * found["ours, carry"] <= found["verl"]


def whiten(advantages: Tensor, mask: Tensor) -> Tensor:
    """Returns whitened advantages as both libraries do: masked mean, masked variance with N − 1, rsqrt."""
    mean = (advantages * mask).sum() / mask.sum()
    centred = advantages - mean
    variance = (centred**2 * mask).sum() / mask.sum()
    words = mask.sum()
    return centred * torch.rsqrt(variance * words / (words - 1) + 1e-8)


def library_loss(tokens: Tokens, advantage_loop: Callable[..., list[Tensor]]) -> float:
    """Returns the total loss with a library's loop and its eager loss, and what both log beside it.

    TRL 0.11.4, ppo_trainer.py:1112 (rewards), :1194 (loss); verl 0.9.1, core_algos.py:1286 and :2125, is the same sum.
    """
    mask = tokens.mask
    rewards = tokens.scores - SETTINGS.kl_coef * (tokens.old_logprobs - tokens.reference_logprobs)
    advantages, returns = advantage_loop(rewards, tokens.old_values, mask, SETTINGS.gamma, SETTINGS.gae_lambda)
    advantages = whiten(advantages, mask)

    def mean(values: Tensor) -> Tensor:
        return (values * mask).sum() / mask.sum()

    limit = SETTINGS.value_clip_range
    clipped = torch.max(torch.min(tokens.values, tokens.old_values + limit), tokens.old_values - limit)
    losses, clipped_losses = (tokens.values - returns) ** 2, (clipped - returns) ** 2
    value_loss = 0.5 * mean(torch.max(losses, clipped_losses))
    log_ratio = tokens.logprobs - tokens.old_logprobs
    ratio = torch.exp(log_ratio)
    policy_losses = -advantages * ratio
    policy_clipped = -advantages * torch.clamp(ratio, 1 - SETTINGS.clip_range, 1 + SETTINGS.clip_range)
    policy_loss = mean(torch.max(policy_losses, policy_clipped))
    mean(torch.gt(policy_clipped, policy_losses).to(mask.dtype))
    mean(-log_ratio)
    return float(policy_loss + SETTINGS.vf_coef * value_loss)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_whole_loss(copies: Copies, timed: bool, size: tuple[int, int], dtype: torch.dtype) -> None:
    tokens = batch(size, dtype)
    found = copies(
        {
            "ours": lambda: token_loss(tokens, SETTINGS),
            "trl": lambda: library_loss(tokens, loops.trl),
            "verl": lambda: library_loss(tokens, loops.verl),
        },
        tokens.scores,
    )
    total = token_loss(tokens, SETTINGS).numbers["total_loss"]
    assert total == pytest.approx(library_loss(tokens, loops.verl), rel=1e-3 if dtype == torch.float32 else 1e-9)
    assert found["ours"] < min(found["trl"], found["verl"]) or not timed


def test_ten_million_words(copies: Copies, timed: bool) -> None:
    """B·T = 10⁷, twice: as one tensor, and in chunks of episodes."""
    rows, columns = (9766, 1024) if timed else SMALL
    tokens, most = batch((rows, columns), torch.float32), 1024 if timed else 3
    chunks = [tokens.rows(slice(first, first + most)) for first in range(0, rows, most)]
    work = {"ours": lambda: token_loss(tokens, SETTINGS), "in chunks": lambda: token_loss(chunks, SETTINGS)}
    found = copies(work, tokens.scores)
    assert work["in chunks"]().numbers["total_loss"] == pytest.approx(work["ours"]().numbers["total_loss"], rel=1e-5)
    assert found["in chunks"] < 2 * found["ours"] or not timed
