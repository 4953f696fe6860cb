"""What may explain a deviation by chance is held against more that may have been done: that then comes before it, or with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.verifying import of_equations
from blueprint.verifying.compare import compare_number
from blueprint.verifying.trials import COARSE, FAR, WAITS, WITHIN, Best, _doubt
from blueprint.verifying.verdict import Match
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying.feeding import EQUATIONS
from tests.verifying.mutants import KINDS, PPO, mutant, placed, varied, verified

SURE = 0


def match(said: str, number: float = 1.0, apart: float = 0.0, allowed: float = 1e-4) -> Match:
    """Returns a cause by which a number comes so near."""
    compared = compare_number("loss", "loss", "", (1.0, number + apart), allowed)
    return Match(said, apart, made=({"loss": compared},))


def best_of(*stages: list[Match], far: tuple[str, ...] = ()) -> tuple[list[str], int]:
    """Returns what is said of stages of causes, and how many stages were looked at."""
    best = Best(lambda each: FAR if each.said in far else WITHIN if each.largest > 1e-6 else SURE)
    looked = 0
    for stage in stages:
        best.add(stage)
        looked += 1
        if best.settled():
            break
    return [each.said for each in best.matches], looked


def test_of_what_is_sure_no_later_stage_is_asked() -> None:
    assert best_of([match("a")], [match("b")]) == (["a"], 1)


def test_what_reads_another_row_is_held_against_one_stage_more() -> None:
    assert best_of([match("a")], [match("b", 2.0)], far=("a",)) == (["b", "a"], 2)
    assert best_of([match("a")], [], [match("b", 2.0)], far=("a",)) == (["a"], 2)


def test_what_is_as_doubtful_is_said_where_it_gives_the_same_numbers() -> None:
    assert best_of([match("a")], [match("b"), match("c", 2.0)], far=("a", "b", "c")) == (["a", "b"], 2)


def test_what_agrees_within_what_is_allowed_is_held_against_three_stages_more() -> None:
    near = match("a", apart=5e-5)
    assert best_of([near], [], [], [match("b")]) == (["b", "a"], 4)
    assert best_of([near], [], [], [], [match("b")]) == (["a"], 4)
    assert WAITS[WITHIN] == 3


def test_what_leaves_less_is_asked_for_anew() -> None:
    rest = replace(match("a"), still=(("kl", 1.0),))
    assert best_of([rest], [match("b")]) == (["b"], 2)
    assert best_of([match("a")], [replace(match("b"), still=(("kl", 1.0),))], far=("a",)) == (["a"], 2)


def test_coarse_numbers_agree_to_rounding_never() -> None:
    """Of 16 bits all causes do within what is allowed, and none is the better for it."""
    assert _doubt(match("a", apart=5e-5), None, "loss") == WITHIN
    assert _doubt(match("a", apart=5e-4, allowed=2 * COARSE), None, "loss") == SURE


def test_an_equation_that_reads_what_it_does_not_is_far() -> None:
    use = dict(rlhf().preset("trl_1.12").values)
    far = {each.label: each.far for each in of_equations(EQUATIONS, use, "advantages_used", ("rewards",))}
    of = "another equation of td_errors (TD error: better than the critic expected)"
    assert far[f"{of}: the sign of gamma·V_seen[t + 1] is turned"] is False
    assert {value for label, value in far.items() if label.endswith(" of the episode before is read")} == {True}


@pytest.mark.parametrize(
    ("mistake", "vary", "right"),
    [
        ("line 25: values - mean -> values + mean", True, "the sign of advantage.variance.mean is turned"),
        ("line 131: mask_p1 -> mask", False, "pads.mask is read, not loss.pads.mask_p1"),
    ],
)
def test_what_another_row_explains_by_chance_is_not_said_alone(mistake: str, vary: bool, right: str) -> None:
    """The log-probs happen to have the variance, within what is allowed; another mask makes the same on these texts."""
    at = max(at for at, said in enumerate(placed(PPO)) if said == mistake)
    files = PPO.files("plain")
    found = verified(varied(files, at) if vary else files, mutant(PPO, at)[0])
    said = found.causes[0].said, *found.causes[0].same
    assert any(right in each for each in said)


def test_a_share_of_few_rows_is_explained_by_its_own_equation() -> None:
    at = next(at for at, said in enumerate(placed(KINDS["classic"])) if said == "line 89: 1.0 -> 2.0")
    first = verified(KINDS["classic"].files("cleanrl"), mutant(KINDS["classic"], at)[0]).causes[0]
    assert "clip_fraction.outside" in first.said
    assert first.rank == 0
