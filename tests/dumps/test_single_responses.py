"""Dumps of KTO, whose responses are not in pairs: TRL's own numbers agree, mistakes are named, and a part becomes a workbook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blueprint as bp
from blueprint.dumps import MinibatchError, inspect, read_dump, save
from blueprint.verifying import VerifyOptions, verify_step
from tests.kto_in_trl import SETTINGS, recorded

RUNS: dict[str, Any] = recorded()["runs"]
Logged = dict[str, float]


def tensors_of(case: dict[str, Any]) -> dict[str, Any]:
    """Returns the tensors of a recorded case, as TRL calls them."""
    width = max(1, *map(len, case["policy"]))
    rows = {
        name: np.array([[*row, *[0.0] * (width - len(row))] for row in case[name]]) for name in ("policy", "reference")
    }
    mask = np.array([[1.0] * len(row) + [0.0] * (width - len(row)) for row in case["policy"]])
    found = {"label": np.array(case["label"]) * 1.0, "per_token_logps": rows["policy"], "ref_per_token_logps": rows["reference"],
             "completion_mask": mask}  # fmt: skip
    if case.get("loss_type", "kto") == "kto":
        found |= {"KL_logps": np.array(case["elsewhere_policy"]), "ref_KL_logps": np.array(case["elsewhere_reference"])}
    return found


def written(path: Path, tensors: dict[str, Any], settings: dict[str, Any], logged: Logged, **more: Any) -> Path:
    """Writes a dump of TRL's."""
    said = {
        "library": "trl",
        "version": "1.16.0",
        "algorithm": "kto",
        "hyperparameters": settings,
        "logged": logged,
        **more,
    }
    save(path, tensors, said)
    return path


@pytest.mark.parametrize("name", RUNS)
def test_what_trl_computes_agrees(name: str, tmp_path: Path) -> None:
    case, result = RUNS[name]["case"], RUNS[name]["result"]
    logged = {key: each for key, each in result.items() if key != "slopes"}
    path = written(tmp_path / "kto.npz", tensors_of(case), {key: case[key] for key in SETTINGS if key in case}, logged)
    (part,) = verify_step([path]).parts
    assert part.verdict.first is None
    assert {each.compared.name for each in part.verdict.lines} >= {"kl", "total_loss"}
    assert not part.verdict.uncompared
    assert inspect(path).dropped == ()


def drawn() -> tuple[dict[str, Any], dict[str, Any]]:
    """Draws twelve responses of one to six tokens, behind prompts, with pads; and settings of no preset."""
    rng = np.random.default_rng(7)
    mask = np.zeros((12, 12))
    for row, (first, length) in enumerate(zip(rng.integers(2, 5, 12), rng.integers(1, 7, 12), strict=True)):
        mask[row, first : first + length] = 1
    policy = -rng.uniform(0.1, 4, mask.shape)
    reference = np.minimum(policy + rng.normal(-0.2, 0.7, mask.shape), -0.01)
    others = -rng.uniform(5, 20, 12)
    good = np.array([1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0.0])
    return {
        "label": good, "per_token_logps": policy, "ref_per_token_logps": reference, "completion_mask": mask,
        "KL_logps": others, "ref_KL_logps": others - rng.normal(0.6, 0.5, 12),
    }, {"beta": 0.25, "desirable_weight": 1.5, "undesirable_weight": 0.8}  # fmt: skip


class Kto:
    """KTO in numpy, with what may be done otherwise as arguments."""

    def __init__(self, tensors: dict[str, Any], settings: dict[str, float], **otherwise: Any) -> None:
        """Computes the step. otherwise: mask, ratio, z, weights, divisor, good: each a function of what it replaces."""

        def made(name: str, usual: Any) -> Any:
            return otherwise.get(name, lambda each: each)(usual)

        mask, good = made("mask", tensors["completion_mask"]), made("good", tensors["label"] == 1)
        logp, logp_ref = ((tensors[f"{of}per_token_logps"] * mask).sum(1) for of in ("", "ref_"))
        ratio = made("ratio", logp - logp_ref)
        z = made("z", max(0.0, float((tensors["KL_logps"] - tensors["ref_KL_logps"]).mean())))
        beta = settings["beta"]
        reward, x = made("reward", beta * ratio), np.where(good, 1, -1) * beta * (ratio - z)
        weight = made("weight", np.where(good, settings["desirable_weight"], settings["undesirable_weight"]))
        losses = made("losses", weight / (1 + np.exp(x)))
        self.logged = {
            "loss": float(losses.sum()) / made("divisor", len(ratio)), "kl": z,
            "rewards/chosen": reward[good].mean(), "rewards/rejected": reward[~good].mean(),
            "rewards/margins": reward[good].mean() - reward[~good].mean(),
            "logps/chosen": logp[good].mean(), "logps/rejected": logp[~good].mean(),
        }  # fmt: skip


def own_ratio(tensors: dict[str, Any]) -> float:
    return float(
        ((tensors["per_token_logps"] - tensors["ref_per_token_logps"]) * tensors["completion_mask"]).sum(1).mean()
    )


TENSORS, VALUES = drawn()
WEIGHTS = np.where(TENSORS["label"] == 1, 0.8, 1.5)
PLANTED: dict[str, tuple[str, dict[str, Callable[[Any], Any]]]] = {
    "a sum over the responses": ("total_loss", {"divisor": lambda _: 1}),
    "good and bad responses exchanged": ("logps.chosen", {"good": lambda good: ~good}),
    "the KL of the responses themselves": ("kl", {"z": lambda _: max(0.0, own_ratio(TENSORS))}),
    "the last token of each response left out": (
        "logps.chosen", {"mask": lambda mask: mask * (np.cumsum(mask[:, ::-1], 1)[:, ::-1] > 1)}),
    "prompt and pads counted": ("logps.chosen", {"mask": np.ones_like}),
    "single.reward (implicit reward: β times the log-ratio): it is doubled": (
        "rewards.chosen",
        {"reward": lambda reward: 2 * reward},
    ),
    "kto.desirable_weight = 1.27": (
        "total_loss", {"weight": lambda weight: np.where(weight == 1.5, 1.27, weight)}),
    "kto.loss_type = apo_zero_unpaired": ("kl", {"z": lambda _: 0.0}),
    "total_loss (loss: mean of L_n over the responses): it is halved": ("total_loss", {"divisor": lambda count: 2 * count}),
    "single.ratio (log-ratio of the response): the sign is turned": ("rewards.chosen", {"ratio": lambda ratio: -ratio}),
}  # fmt: skip


@pytest.mark.parametrize("cause", PLANTED)
def test_a_mistake_is_found_in_its_quantity_and_named(cause: str, tmp_path: Path) -> None:
    quantity, otherwise = PLANTED[cause]
    path = written(tmp_path / "kto.npz", TENSORS, VALUES, Kto(TENSORS, VALUES, **otherwise).logged)
    (part,) = verify_step([path]).parts
    assert part.verdict.first is not None
    assert part.verdict.first.compared.name == quantity
    (likeliest, *_) = part.verdict.causes
    assert any(cause in said for said in (likeliest.said, *likeliest.same)), [each.said for each in part.verdict.causes]


def test_without_a_mistake_all_agrees_and_the_responses_become_a_workbook(tmp_path: Path) -> None:
    path = written(tmp_path / "kto.npz", TENSORS, VALUES, Kto(TENSORS, VALUES).logged, step=3)
    verdict = bp.verify(path)
    assert verdict.first is None
    book = bp.open(bp_import(path, tmp_path / "kto.xlsx"))
    assert float(book.loss) == pytest.approx(Kto(TENSORS, VALUES).logged["loss"], abs=1e-12)


def bp_import(path: Path, out: Path) -> Path:
    """Makes a workbook of all responses of a dump."""
    from click.testing import CliRunner

    from blueprint.cli import main

    found = CliRunner().invoke(
        main, ["import", str(path), "--rows", ",".join(map(str, range(12))), "-o", str(out)], catch_exceptions=False
    )
    assert found.exit_code == 0, found.output
    return out


def test_of_several_ranks_the_kl_is_taken_as_logged(tmp_path: Path) -> None:
    """TRL's z is the mean over all ranks: one file knows only its own."""
    logged = {key: each for key, each in Kto(TENSORS, VALUES, z=lambda _: 0.9).logged.items() if key in ("loss", "kl")}
    (part,) = verify_step([written(tmp_path / "a.npz", TENSORS, VALUES, logged, rank=0, world_size=2)]).parts
    assert part.verdict.first is None
    assert part.verdict.uncompared == {"kl": "the responses of all ranks"}
    (alone,) = verify_step([written(tmp_path / "b.npz", TENSORS, VALUES, logged)]).parts
    assert alone.verdict.first is not None
    assert alone.verdict.first.compared.name == "kl"


WHOLE = {
    "completion_logps": np.array([-3.0, -5.0]),
    "reference_logps": np.array([-4.0, -4.0]),
    "label": np.array([1.0, 0.0]),
}
REFUSED: dict[str, dict[str, Any]] = {
    "nothing says which responses are good: label": {"KL_logps": np.zeros(2), **{key: WHOLE[key] for key in list(WHOLE)[:2]}},
    "responses to other prompts need both": {**WHOLE, "KL_logps": np.zeros(2)},
    r"completion_logps: found the shape \[2, 3\], expected \[2\]": {**WHOLE, "completion_logps": np.zeros((2, 3))},
    "response 1: found 0.5, expected a log-prob": {**WHOLE, "completion_logps": np.array([-1, 0.5])},
    "and no mask": {"label": WHOLE["label"], "per_token_logps": np.zeros((2, 3)), "ref_per_token_logps": np.zeros((2, 3))},
    "completion_mask has 5 columns and per_token_logps 3": {
        "label": WHOLE["label"], "per_token_logps": np.zeros((2, 3)), "ref_per_token_logps": np.zeros((2, 3)),
        "completion_mask": np.ones((2, 5))},
}  # fmt: skip


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_cannot_be_is_refused_in_a_sentence(sentence: str, tmp_path: Path) -> None:
    with pytest.raises(MinibatchError, match=sentence):
        read_dump(written(tmp_path / "kto.npz", REFUSED[sentence], {}, {}))


def test_without_other_responses_the_loss_is_lacking_and_not_that_of_apo(tmp_path: Path) -> None:
    path = written(tmp_path / "kto.npz", WHOLE, {}, {"loss": 0.5})
    (part,) = verify_step([path]).parts
    assert part.verdict.uncompared == {"loss": "log-probs of responses to other prompts"}
    (other,) = verify_step([path], VerifyOptions(overrides=("kto.loss_type=apo_zero_unpaired",))).parts
    assert not other.verdict.uncompared
