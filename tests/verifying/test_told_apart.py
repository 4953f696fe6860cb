"""Causes that give the same numbers are named together, those that are only near by are not; when "everything else agrees"."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.verifying import Compared, Match, StepVerdict, folded, text_of_step, verify_step
from blueprint.verifying.compare import BLOCK, EQUAL, same_numbers
from blueprint.verifying.places import Stand, made, stands
from blueprint.verifying.verdict import Otherwise, told_apart
from tests.hooks import dpo_formulas, reward_formulas
from tests.hooks.test_planted import dumped, whole
from tests.hooks.trl_formulas import Written
from tests.verifying.mutants import varied

MARGIN, SIGMOID = "trl_reward/margin", "trl_dpo/sigmoid"


def of_row(*numbers: float) -> Compared:
    """A tensor as it was computed again."""
    ours = np.array(numbers)
    return Compared("margin", "margin", "", len(ours), 0, 0.0, 1e-3, size=1.0, ours=folded(ours))


def of_number(number: float) -> Compared:
    return Compared("total_loss", "total_loss", "", 1, 0, 0.0, 1e-3, logged=0.5, recomputed=number, size=0.5)


def cause(said: str, *files: dict[str, Compared]) -> Match:
    return Match(said, 0.0, made=files)


def verified(files: list[Written], trainer: object, folder: Path) -> StepVerdict:
    return verify_step(dumped(files, trainer, folder))  # type: ignore[arg-type]


def test_the_same_numbers_are_equal_to_rounding_and_no_further() -> None:
    assert same_numbers(of_row(1.0, 2.0), of_row(1.0, 2.0 + 2e-12))
    assert not same_numbers(of_row(1.0, 2.0), of_row(1.0, 2.0 + 1e-6))
    assert same_numbers(of_number(0.25), of_number(0.25 + EQUAL / 10))
    assert not same_numbers(of_number(0.25), of_number(0.25 + 1e-8))
    assert same_numbers(of_row(np.inf, np.nan), of_row(np.inf, np.nan))
    assert not same_numbers(of_row(np.inf, 1.0), of_row(1e300, 1.0))


def test_one_other_number_of_a_large_tensor_is_seen() -> None:
    row = np.random.default_rng(0).normal(size=5 * BLOCK + 7)
    with warnings.catch_warnings(action="error"):
        endless = of_row(np.inf, -np.inf, *row)
        assert same_numbers(endless, of_row(np.inf, -np.inf, *row))
        assert not same_numbers(endless, of_row(np.inf, -np.inf, *row[:-1], row[-1] + 1e-6))
    for at in (0, BLOCK - 1, 3 * BLOCK, len(row) - 1):
        other = row.copy()
        other[at] += 1e-6
        assert same_numbers(of_row(*row), of_row(*row))
        assert not same_numbers(of_row(*row), of_row(*other))


def test_causes_are_together_only_if_every_value_of_every_file_is_the_same() -> None:
    one = {"margin": of_row(1.0, 2.0), "total_loss": of_number(0.5)}
    near = {**one, "total_loss": of_number(0.5 + 1e-7)}
    shorter = {"margin": one["margin"]}
    files = {"a": (one, one), "b": (one, near), "c": (one, one), "d": (one,), "e": (one, shorter)}
    found = told_apart([cause(said, *each) for said, each in files.items()])
    assert {each.said: each.same for each in found} == {"a": ("c",), "c": ("a",), "b": (), "d": (), "e": ()}
    assert [each.said for each in found] == ["a", "c", "b", "d", "e"]
    assert not any(each.made for each in found)


def test_where_no_tensor_was_kept_nothing_is_said_to_be_equal() -> None:
    one, other = ({"margin": replace(of_row(1.0), ours=None)} for _ in range(2))
    assert [each.same for each in told_apart([cause("a", one), cause("b", other)])] == [(), ()]
    assert [each.same for each in told_apart([Match("a", 0.0), Match("b", 0.0)])] == [(), ()]


def test_of_many_causes_those_that_are_the_same_for_any_numbers_are_said_once() -> None:
    """Six give the same numbers in the file: of these, three come to another number where the file's numbers are others."""
    here = {"margin": of_row(1.0, 2.0)}
    there = {"a": 1.0, "b": 1.0, "c": 2.0, "d": 2.0, "e": 2.0}

    def elsewhere(match: Match) -> Otherwise | None:
        number = there.get(match.said)
        return None if number is None else Otherwise({"margin": np.array([number])}, constant=number == 1.0)

    six = [cause(said, here) for said in "abcdef"]
    assert {each.said: (each.same, each.stands_for, each.constant) for each in told_apart(six, elsewhere)} == {
        "a": (("c", "f"), 1, True), "c": (("a", "f"), 2, False), "f": (("a", "c"), 0, False),
    }  # fmt: skip
    assert [each.said for each in told_apart(six[:5], elsewhere)] == ["a", "b", "c", "d", "e"]


def test_a_margin_that_is_no_longer_one_is_a_score_less_itself(tmp_path: Path) -> None:
    """Of either side, or one score read for all: the margin is the same whatever the scores are, and all of these are one cause."""
    trainer = reward_formulas.otherwise(margin=lambda chosen, rejected, margin: rejected - rejected)
    (found,) = verified(varied(whole("trl_reward/plain"), 163), trainer, tmp_path).causes
    assert "rejected.score is read, not chosen.score" in found.said
    assert (found.constant, found.stands_for) == (True, 5)


def test_a_loss_that_is_always_0_is_said_once(tmp_path: Path) -> None:
    """So is every change after which it is 0, whatever the scores are."""
    trainer = reward_formulas.otherwise(pair_loss=lambda x, m: 0 * x)
    found = verified(varied(whole("trl_reward/plain"), 163), trainer, tmp_path)
    (first,) = found.causes
    assert first.stands_for >= 5
    assert first.constant
    said = text_of_step(found)
    assert "That quantity is then the same whatever the numbers are" in said
    assert f"{first.stands_for} other changes come to the same for any numbers" in said


def test_a_report_says_what_cannot_be_told_apart(tmp_path: Path) -> None:
    """Twice the difference is the margin read as −difference, where there is no margin."""
    files = varied(whole("trl_reward/plain"), 3)
    trainer = reward_formulas.otherwise(pair_loss=lambda x, m: reward_formulas.pair_loss(2 * x, m))
    found = verified(files, trainer, tmp_path)
    said, (first, *_) = text_of_step(found), found.causes
    assert first.same
    assert f"It matches with {first.said}; then everything else agrees, too, in all 2 files." in said
    for other in first.same:
        assert f"    So it does, with the same numbers in every logged value of all 2 files, with {other}." in said
    assert said.count("It matches with") == len({frozenset((each.said, *each.same)) for each in found.causes})
    assert "cannot be told apart in these files." in said


def test_settings_that_come_to_the_same_are_named_with_each_other(tmp_path: Path) -> None:
    """The margin of pairs is forgotten: so it is by a form of the loss that has none."""
    files = varied(whole(MARGIN), 5)
    trainer = reward_formulas.otherwise(pair_loss=lambda x, m: reward_formulas.pair_loss(x, 0 * m))
    (first, *_) = verified(files, trainer, tmp_path).causes
    assert {first.said, *first.same} >= {"loss.margin = off", "loss.form = log_exp"}
    assert "center" not in " ".join((first.said, *first.same))


def test_what_was_not_compared_is_not_said_to_agree(tmp_path: Path) -> None:
    """TRL logs the entropy, which takes logits; without it the same report speaks of everything."""
    files = [each._replace(logged={}) for each in whole(SIGMOID)]
    trainer = dpo_formulas.otherwise(averaged=lambda each: float(each.sum()))
    alone = text_of_step(verified(files, trainer, tmp_path))
    assert "a sum over the pairs, not their mean; then everything else agrees, too, in all 2 files." in alone
    for path, file in zip(sorted(tmp_path.iterdir()), files, strict=True):
        made = trainer.written(file)
        made._replace(logged={**made.logged, "entropy": 2.5}, settings=file.settings).save(path)
    said = text_of_step(verify_step(sorted(tmp_path.iterdir())))
    assert "everything else agrees" not in said
    assert "all else that was compared agrees, too (not compared: entropy), in all 2 files." in said


def test_what_a_cause_makes_impossible_is_no_agreement() -> None:
    assert Match("a", 0.0).rest
    assert not Match("a", 0.0, unseen=("total_loss",)).rest


def test_a_cause_that_breaks_what_agreed_is_one_of_the_quantity_alone(tmp_path: Path) -> None:
    """The largest of −score is logged: as if scores had the other sign, but mean, accuracy and loss say that they have not."""
    files = whole(MARGIN)
    paths = dumped(files, reward_formulas.TRL, tmp_path)
    for path, file in zip(paths, files, strict=True):
        made = reward_formulas.TRL.written(file)
        scores = np.concatenate([made.tensors["rewards_chosen"], made.tensors["rewards_rejected"]])
        made._replace(logged={**made.logged, "max_reward": float((-scores).max())}, settings=file.settings).save(path)
    found = verify_step(paths)
    assert found.first is not None
    assert found.first.name == "largest.score"
    assert all(each.rest for each in found.causes)


def test_a_row_that_stands_for_another_is_made_of_what_was_computed() -> None:
    rows = {"chosen.score": np.array([1.0, 2.0, 4.0]), "rejected.score": np.array([0.0, 3.0, 5.0])}
    said = dict(stands(rows, "chosen.score"))
    moved = said["chosen.score and rejected.score are those of the response before, and in all that is made of it"]
    assert made(moved, rows)[0]["chosen.score"].tolist() == [5.0, 1.0, 2.0]
    assert made(moved, rows)[0]["rejected.score"].tolist() == [4.0, 0.0, 3.0]
    swapped = said["rejected.score stands for chosen.score, on both sides, in what is written of it alone"]
    assert made(swapped, rows)[0]["rejected.score"].tolist() == [1.0, 2.0, 4.0]
    assert made({"least.score": Stand(("chosen.score", "rejected.score"), "the smallest")}, rows) == (
        {},
        {"least.score": 0.0},
    )
