"""The loss from numbers of words against the workbook, and against the plain functions on batches of many tiles."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

import torch
from torch import Tensor

from blueprint.witness import WitnessError
from blueprint.witness.options import DEFAULTS, WORDS, Options, Texts
from blueprint.witness.ppo import recompute
from blueprint.witness.tokens import Tokens, TokenSettings, token_loss
from tests.witness.stage import Array, built_in, random_file

FILES = {"default": lambda: built_in("default")} | {
    str(seed): (lambda seed=seed: random_file(seed)) for seed in range(8)
}


def tokens_of(file: dict[str, Array]) -> Tokens:
    """Returns the numbers of words of a workbook."""

    def row(name: str) -> Tensor:
        return torch.tensor(file[name][:, : file["rollout.draw"].shape[1]])

    names = (
        "old.logprobs",
        "reference.logprobs",
        "policy.logprobs",
        "old_critic.values",
        "critic.values",
        "reward.score",
    )
    mask = torch.tensor(file["mask"][:, 1:-1])
    old, reference, new, old_values, values, scores = map(row, names)
    entropy, kl = row("policy.entropy"), row("policy_kl.exact")
    return Tokens(old, reference, new, old_values, values, scores, mask, entropy, kl)


def settings_of(file: dict[str, Array]) -> TokenSettings:
    """Returns the settings that a workbook uses."""
    names = (
        "gamma",
        "gae_lambda",
        "kl_coef",
        "clip_range",
        "value_clip_range",
        "vf_coef",
        "ent_coef",
        "policy_kl_coef",
    )
    numbers = {name: float(file[name]) for name in (*names, "whiten_eps")}
    return TokenSettings(
        **numbers,  # type: ignore[arg-type]
        kl_estimator=str(file["kl_estimator"]),
        whiten_advantages=str(file["whiten_advantages"]) == "on",
    )


@pytest.mark.parametrize("name", FILES)
def test_the_loss_is_the_workbooks(name: str) -> None:
    file = FILES[name]()
    found = token_loss(tokens_of(file), settings_of(file))
    for block, number in found.numbers.items():
        size = 1 + abs(file["surrogate"]).max() + abs(file["value.word_loss"]).max()
        assert abs(number - file[block]) <= 1e-12 * size, block
    assert torch.allclose(found.advantages[0], torch.tensor(file["advantages"][:, :-1]), rtol=0, atol=1e-12)


def many(rows: int, steps: int) -> Tokens:
    """Returns a batch of made-up numbers, in which responses have different lengths."""
    torch.manual_seed(0)
    old, reference, new, scores = -torch.rand(4, rows, steps, dtype=torch.float64)
    old_values, values = torch.randn(2, rows, steps, dtype=torch.float64)
    mask = torch.arange(steps) < torch.randint(1, steps + 1, (rows, 1))
    return Tokens(old, reference, new, old_values, values, scores, mask)


def slowly(tokens: Tokens, settings: TokenSettings) -> dict[str, float]:
    """Returns the loss by the computation of the workbooks, which holds every step of every word in memory."""
    each = {name: row[None].double() for name, row in vars(tokens).items() if row is not None}
    mask, scores = each.pop("mask"), each.pop("scores")
    nothing = torch.zeros_like(mask)
    names = ("kl_old_reference", "kl_new_reference", "kl_old_new", "entropy")
    texts = Texts(
        slots=mask, mask=mask, **each, **dict.fromkeys(names, nothing), score=nothing[..., 0], ended=nothing[..., 0]
    )
    numbers = {name: getattr(settings, name, value) for name, value in DEFAULTS.items()}
    numbers |= dict.fromkeys(WORDS, 0.0) | {"loss.clip_range_high": settings.clip_range}
    options = Options({name: torch.full((1, 1, 1), value, dtype=torch.float64) for name, value in numbers.items()})
    rows = recompute(texts, options, torch.zeros(1), {"score.placed": mask * scores})
    parts = ("policy_loss", "value_loss", "entropy", "policy_kl", "adds.value_loss", "adds.entropy", "adds.policy_kl")
    return {name: float(rows[name]) for name in (*parts, "total_loss")}


@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (3000, 16), (600, 515)])
def test_tiles_are_the_whole(shape: tuple[int, int]) -> None:
    tokens, settings = many(*shape), TokenSettings()
    expected = slowly(tokens, settings)
    found = token_loss(tokens, settings).numbers
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=0, abs=1e-12)


def test_chunks_of_episodes_count_as_one_batch() -> None:
    tokens, settings = many(90, 40), TokenSettings()
    chunks = [tokens.rows(slice(first, first + 40)) for first in range(0, 90, 40)]
    whole, found = token_loss(tokens, settings), token_loss(chunks, settings)
    assert found.numbers == pytest.approx(whole.numbers, rel=0, abs=1e-13)
    assert torch.equal(torch.cat(found.advantages), whole.advantages[0])


def test_float32_is_near() -> None:
    tokens, settings = many(300, 200), TokenSettings()
    coarse = Tokens(*(getattr(tokens, name).float() for name in list(Tokens.__dataclass_fields__)[:7]))
    whole = token_loss(tokens, settings).numbers
    flags = {name: number for name, number in whole.items() if "fraction" not in name}
    found = token_loss(coarse, settings).numbers
    assert {name: found[name] for name in flags} == pytest.approx(flags, rel=1e-5, abs=2e-5)


def test_refusals() -> None:
    tokens = many(2, 3)
    with pytest.raises(WitnessError, match="kl_estimator is 'k4': write one of k1, k2, k3"):
        token_loss(tokens, TokenSettings(kl_estimator="k4"))
    with pytest.raises(WitnessError, match=r"one shape \[B, T\], .*'mask': \(2, 4\)"):
        replace(tokens, mask=torch.zeros(2, 4))
