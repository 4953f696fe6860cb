"""Reward models by what real runs of TRL wrote: clean ones agree, and mistakes planted in its formulas are found and named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from blueprint.verifying import verify_step
from tests.hooks.dpo_formulas import Array, Use, sigmoid
from tests.hooks.real.libraries import RUNS
from tests.hooks.reward_formulas import TRL, Trainer, last_tokens, otherwise, pair_loss
from tests.hooks.trl_formulas import Tensors, Written, read

REAL = Path(__file__).parents[1] / "data" / "real" / "trl_reward"
PLAIN, MARGIN, PAD = "plain", "margin", "pad_eos"


class Mistake(NamedTuple):
    """run: whose trainer it is. first: the quantity that goes wrong first. cause: words of a cause that must be named, "" where
    the place is all that can be said."""

    run: str
    first: str
    cause: str
    trainer: Trainer


def moved(by: int) -> Trainer:
    return otherwise(read=lambda t, use: last_tokens(t, use) + by)


def last_column(t: Tensors, use: Use) -> Array:
    return np.full(len(t["input_ids"]), t["input_ids"].shape[1] - 1)


def of_mask(t: Tensors, use: Use) -> Array:
    return np.asarray(t["attention_mask"].sum(1).astype(int) - 1)


def first_token(t: Tensors, use: Use) -> Array:
    return np.zeros(len(t["input_ids"]), int)


def overflowing(apart: Array, margin: Array) -> Array:
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(-np.log(1 / (1 + np.exp(-(apart - margin).astype(np.float32)))))


def far_apart(t: Tensors) -> Tensors:
    """Scores so far apart that the chosen response of the first pair has a σ of 0 in float32."""
    return {**t, "position_scores": t["position_scores"] * 400}


def with_loss(pair_loss: Callable[[Array, Array], Array]) -> Trainer:
    return otherwise(pair_loss=pair_loss)


def held(centred: Callable[[Array, Array], Array]) -> Trainer:
    return otherwise(centred=centred)


def summed(each: Array) -> float:
    return float(each.sum())


def mean_of_uneven(each: Array) -> float:
    return float((each[:3].mean() + each[3:].mean()) / 2)


MISTAKES = {
    "the last column of a padded batch": Mistake(PLAIN, "chosen.score", "score.read = last_column", otherwise(read=last_column)),
    "one token too early": Mistake(PLAIN, "chosen.score", "score.read = before_end", moved(-1)),
    "one token too late": Mistake(PLAIN, "chosen.score", "the score read one token too late",
                                  otherwise(read=lambda t, use: np.minimum(last_tokens(t, use) + 1, t["input_ids"].shape[1] - 1))),
    "the first token": Mistake(PLAIN, "chosen.score", "the score read at the first token", otherwise(read=first_token)),
    "the end read, though it is the pad": Mistake(PAD, "chosen.score", "score.read = last_token", otherwise(read=of_mask)),
    "a tie is right": Mistake(PLAIN, "accuracy", "two equal scores counted as a success",
                              otherwise(ahead=lambda a, b: np.asarray(a >= b, float))),
    "a tie is half right": Mistake(PLAIN, "accuracy", "half a success",
                                   otherwise(ahead=lambda a, b: np.asarray((a > b) + 0.5 * (a == b)))),
    "a success is a score above 0": Mistake(PLAIN, "accuracy", "", otherwise(ahead=lambda a, b: np.asarray(a > 0, float))),
    "the margin in the logged margin": Mistake(MARGIN, "mean.margin", "subtracted in what is logged",
                                               otherwise(margin=lambda a, b, m: a - b - m)),
    "the logged margin turned": Mistake(PLAIN, "mean.margin", "the opposite sign", otherwise(margin=lambda a, b, m: b - a)),
    "the loss turned": Mistake(PLAIN, "total_loss", "chosen and rejected exchanged", with_loss(lambda x, m: pair_loss(-x, m))),
    "the margin forgotten": Mistake(MARGIN, "total_loss", "loss.margin = off", with_loss(lambda x, m: pair_loss(x, 0 * m))),
    "the margin added": Mistake(MARGIN, "total_loss", "the margin of each pair added", with_loss(lambda x, m: pair_loss(x, -m))),
    "the margin doubled": Mistake(MARGIN, "total_loss", "", with_loss(lambda x, m: pair_loss(x, 2 * m))),
    "σ without log": Mistake(PLAIN, "total_loss", "1 − σ of the difference", with_loss(lambda x, m: 1 - sigmoid(x - m))),
    "hinge": Mistake(PLAIN, "total_loss", "", with_loss(lambda x, m: np.maximum(0, 1 - x))),
    "−log of a σ that is 0": Mistake(PLAIN, "total_loss", "which is infinite", otherwise(given=far_apart, pair_loss=overflowing)),
    "a sum over the pairs": Mistake(PLAIN, "total_loss", "a sum over the pairs", otherwise(averaged=summed)),
    "divided by accumulation once more": Mistake(PLAIN, "total_loss", "everything divided by 2",
                                                 otherwise(averaged=lambda each: float(each.mean() / 2))),
    "uneven microbatches averaged alike": Mistake(PLAIN, "total_loss", "", otherwise(averaged=mean_of_uneven)),
    "centring forgotten": Mistake(MARGIN, "total_loss", "reward.center = 0", otherwise(centred=lambda a, b: 0 * a)),
    "ten times the centring": Mistake(MARGIN, "total_loss", "reward.center = 0.1", held(lambda a, b: 10 * (a + b) ** 2)),
    "a centring that nobody uses": Mistake(PLAIN, "total_loss", "reward.center = 0.037",
                                           otherwise(settled=lambda use: {**use, "center_rewards_coefficient": 0.037})),
    "centring of the difference": Mistake(MARGIN, "total_loss", "the difference of the scores held near 0",
                                          otherwise(centred=lambda a, b: (a - b) ** 2)),
    "centring of the mean": Mistake(MARGIN, "total_loss", "the mean of the scores held near 0",
                                    otherwise(centred=lambda a, b: ((a + b) / 2) ** 2)),
}  # fmt: skip


def dumped(files: Sequence[Written], trainer: Trainer, folder: Path) -> list[Path]:
    """Writes what the hook would have written of them."""
    paths = [folder / f"{number}.safetensors" for number, _ in enumerate(files)]
    for path, each in zip(paths, files, strict=True):
        made = trainer.written(each)
        made._replace(settings=each.settings).save(path)
    return paths


@pytest.mark.parametrize("run", RUNS["trl_reward"].arguments)
def test_a_clean_step_agrees_in_all_its_files(run: str) -> None:
    found = verify_step(sorted((REAL / run).iterdir()))
    assert {line.name: line.line.says for line in found.lines if line.line.says != "agrees"} == {}
    assert len(found.lines) == 8
    assert not found.unread
    assert not found.lacking


@pytest.mark.parametrize("run", RUNS["trl_reward"].arguments)
def test_everything_follows_from_the_scores_of_positions_by_formulas_of_our_own(run: str) -> None:
    """TRL's numbers are float32: 24 bits of numbers of about 2."""
    for file in read(REAL / run):
        again = TRL.written(file)
        for name in ("rewards_chosen", "rewards_rejected"):
            assert np.abs(again.tensors[name] - file.tensors[name]).max() < 1e-6, name
        for name, number in again.logged.items():
            assert number == pytest.approx(file.logged[name], rel=1e-6, abs=1e-6), name


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_where_it_is_made(name: str, tmp_path: Path) -> None:
    mistake = MISTAKES[name]
    found = verify_step(dumped(read(REAL / mistake.run), mistake.trainer, tmp_path))
    assert found.first is not None
    assert found.first.name == mistake.first
    assert not mistake.cause or any(mistake.cause in each.said for each in found.causes), [
        each.said for each in found.causes
    ]


def alike(t: Tensors) -> Tensors:
    """Gives every pair two equal texts."""
    half = len(t["input_ids"]) // 2
    names = ("input_ids", "attention_mask", "position_scores")
    return {**t, **{name: np.concatenate([t[name][:half]] * 2) for name in names}}


def scaled(by: float) -> Callable[[Tensors], Tensors]:
    return lambda t: {**t, "position_scores": np.float32(t["position_scores"] * by).astype(float)}


EXTREMES: dict[str, Callable[[Tensors], Tensors]] = {
    "scores of 700": scaled(400),
    "scores of 1e6": scaled(1e6),
    "scores of 1e-6": scaled(1e-6),
    "equal pairs": alike,
    "all scores 0": scaled(0),
}


@pytest.mark.parametrize("run", [PLAIN, MARGIN, PAD])
@pytest.mark.parametrize("name", EXTREMES)
def test_a_clean_run_is_not_accused_where_its_numbers_are_extreme(run: str, name: str, tmp_path: Path) -> None:
    files = [each._replace(tensors=EXTREMES[name](each.tensors)) for each in read(REAL / run)]
    found = verify_step(dumped(files, TRL, tmp_path))
    assert found.first is None
    assert "total_loss" in {line.name for line in found.lines if line.line.says == "agrees"}
