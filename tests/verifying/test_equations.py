"""Causes that nobody has listed: every change of one part of an equation on the way to a quantity, and none of what is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.language import text, typed
from blueprint.verifying import Kept, VerifyOptions, choose, definitions, of_equations, read_dumps
from blueprint.verifying.constant_rows import constant_rows, source, without_constants, without_ones
from blueprint.verifying.definitions import Definitions
from blueprint.workbooks.classic_ppo.verifying.recompute import EQUATIONS as CLASSIC
from blueprint.workbooks.dpo.schema import dpo_presets
from blueprint.workbooks.dpo.verifying.recompute import EQUATIONS as DPO
from blueprint.workbooks.dpo.verifying.verify import KIND as PAIRS
from blueprint.workbooks.grpo.schema import GRPO, grpo_presets
from blueprint.workbooks.grpo.verifying.causes import MADE
from blueprint.workbooks.grpo.verifying.feeding import EQUATIONS as GROUPS
from blueprint.workbooks.grpo.verifying.verify import trial_of
from blueprint.workbooks.reward_model.schema import rm_presets
from blueprint.workbooks.reward_model.verifying import KIND as SCORES
from blueprint.workbooks.reward_model.verifying.recompute import EQUATIONS as REWARD_MODEL
from blueprint.workbooks.rlhf_ppo.verifying.feeding import EQUATIONS as PPO
from tests.hooks.test_planted import REAL
from tests.verifying.mutants import KINDS, named, placed

SUMS = ("policy.sum", "reference.sum")
OF_PAIRS = {"trl_dpo": PAIRS, "trl_reward": SCORES}
RANKED = dict(rm_presets().preset("default").values)
NOT_IN_FILES = {"text.there", "pair.of_ranking"}
OF_KINDS = {"ppo": PPO, "classic": CLASSIC, "grpo": GROUPS, "dpo": DPO, "rewards": REWARD_MODEL}


def test_rows_that_are_known_are_not_changed() -> None:
    settings = dict(dpo_presets().preset("default").values)
    changed = {row for each in of_equations(DPO, settings, "total_loss", SUMS) for row in each.ways["equations"]}
    assert {"margin", "margin.argument", "loss.sigmoid", "loss.paired", "total_loss"} <= changed
    assert not changed & {*SUMS, "policy.weighed", "loss.ipo", "chosen.logged"}


def test_where_things_stand_is_no_equation() -> None:
    settings = dict(dpo_presets().preset("default").values)
    changed = {row for each in of_equations(DPO, settings, "total_loss", SUMS) for row in each.ways["equations"]}
    assert not [row for row in changed if row.endswith(".column")]


def test_both_sides_of_a_pair_are_changed_together_and_each_alone() -> None:
    settings = dict(dpo_presets().preset("default").values)
    tries = [
        each for each in of_equations(DPO, settings, "total_loss", SUMS) if "chosen.against" in each.ways["equations"]
    ]
    both = [each for each in tries if "rejected.against" in each.ways["equations"]]
    assert both
    assert [*map(tries.index, both)] == [*range(len(both))]
    assert {each.label.rpartition(", ")[2] for each in tries} == {"on both sides", "on the chosen side alone"}


def test_every_change_says_another_thing() -> None:
    for equations, presets, row, known in (
        (DPO, dpo_presets(), "total_loss", SUMS),
        (REWARD_MODEL, rm_presets(), "total_loss", ("score",)),
        (GROUPS, grpo_presets(), MADE["total_loss"], ("advantages", "loss.left", "group.left", "kl_new.counts")),
        (GROUPS, grpo_presets(), MADE["advantages"], ()),
    ):
        labels = [each.label for each in of_equations(equations, dict(presets.preset("default").values), row, known)]
        assert len(labels) == len({*labels}) > 100


def test_every_change_can_be_computed() -> None:
    """Of a real step of DPO and of a reward model, but for a row that has no number where a loss adds its parts up, and for rows
    that are made of the scores of all positions, or of rankings: files of one score for each response have none.
    """
    for run, name in (
        ("trl_dpo/sft", "chosen.logp"),
        ("trl_dpo/sft", "total_loss"),
        ("trl_reward/margin", "total_loss"),
    ):
        (batch, *_), _ = read_dumps(sorted((REAL / run).iterdir()))
        trial = OF_PAIRS[run.partition("/")[0]].trial(
            batch, choose(batch, VerifyOptions()).values, VerifyOptions(), [batch]
        )
        tried = [each for stage in trial.tries(name) for each in stage if "equations" in each.ways]
        assert len(tried) > 200
        tried = tried[:: 1 if name == "chosen.logp" else 4]
        lost = [each.label for each in tried if name not in trial.compared(each, until=name)]
        lost = [
            each for each in lost if not each.startswith("position.columns ") and "position.columns is read" not in each
        ]
        taken = {each.partition(": ")[2].partition(" ")[0] for each in lost}
        assert taken == {each for each in taken if REWARD_MODEL.under(RANKED).made_of((each,)) & NOT_IN_FILES}


def test_a_row_that_there_is_not_has_no_changes() -> None:
    assert not [*of_equations(DPO, dict(dpo_presets().preset("default").values), "entropy", SUMS)]


def test_settings_that_a_quantity_reads_are_those_of_the_words_in_force() -> None:
    settings = dict(grpo_presets().preset("default").values)
    read = GROUPS.read(settings, ("advantages",))
    assert {"group.baseline", "group.std", "group.eps", "group.ddof"} <= read < {*GRPO}
    assert not [key for key in read if key.startswith(("loss.", "ratio.", "rollout."))]
    assert "group.ddof" not in GROUPS.read({**settings, "group.std": "none"}, ("advantages",))
    assert "kl.coef" in GROUPS.read(settings, ("total_loss",), ("advantages",))


def test_what_is_kept_changes_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each change only what follows from it is made again: it comes to what everything made again comes to."""
    path = sorted((REAL / "trl_grpo" / "grpo").iterdir())[-1]
    (batch,) = read_dumps([path])[0]
    trial = trial_of(batch, choose(batch, VerifyOptions()).values, VerifyOptions())  # type: ignore[arg-type]
    every = [each for stage in trial.tries("total_loss") for each in stage]
    tried, settings = [each for each in every if "equations" in each.ways], [each for each in every if not each.ways]
    changes = [*tried[::80], *settings[:72:6]]
    found = [trial.compared(each) for each in changes]
    monkeypatch.setattr(definitions, "KEPT", -1)  # so that nothing is kept
    anew = replace(trial, kept=Kept())
    for change, kept in zip(changes, found, strict=True):
        assert {name: (one.largest, one.deviating) for name, one in kept.items()} == {
            name: (one.largest, one.deviating) for name, one in anew.compared(change).items()
        }
    moved = sum(any(not one.agrees for one in kept.values()) for kept in found)
    assert moved > len(tried) // 120


@pytest.mark.parametrize(
    ("kind", "run", "mistake"),
    [
        ("grpo", "trl_grpo/grpo", "to_reference * mask -> mask"),
        (
            "rloo",
            "trl_rloo/kl",
            "-> centred * grouped.shape[1] - (grouped.shape[1] - 1)",
        ),  # a straight line of the right ones
        ("rloo", "trl_rloo/kl", "grouped.mean(1, keepdims=True) -> grouped.min(1, keepdims=True)"),  # as TRL spells it
        ("grpo", "trl_grpo/sequence", "line 176: rewards -> np.roll(rewards, 1, 0)"),  # across the groups
        ("grpo", "trl_grpo/grpo", "np.exp(above) - above -> above - np.exp(above)"),  # a part of another sign
        ("rm", "trl_reward/margin", "np.log1p(np.exp(-np.abs(x))) -> np.exp(-np.abs(x))"),  # ln(1 + x) is one function
        ("rm", "trl_reward/plain", "line 22: np.abs(x) -> np.sign(x)"),  # of a tie it is 0
    ],
)
def test_a_mistake_that_nobody_listed_is_named(kind: str, run: str, mistake: str) -> None:
    """It explains another batch, too, which verify has not seen."""
    (at,) = [at for at, said in enumerate(placed(KINDS[kind])) if said.endswith(mistake)]
    found = named(KINDS[kind], at, run)
    assert found is not None
    assert found[1].word in ("first", "together")


def test_scores_are_read_where_another_text_ends() -> None:
    at = next(
        at for at, said in enumerate(placed(KINDS["rm"])) if said.endswith("line 18: kept -> np.roll(kept, 1, 0)")
    )
    found = named(KINDS["rm"], at, "centred")
    assert found is not None
    assert found[1].word == "together"  # with the text's place in the place of its end: both say the same
    assert "of the episode before is read (and 1 equal)" in found[1].cause


def test_what_is_switched_off_is_not_changed() -> None:
    """Without a filter of tokens no factor says which are kept: nobody can forget it, or add it."""
    equations = GROUPS.under(dict(grpo_presets().preset("trl_rloo").values))
    known = constant_rows(equations)
    assert {block.name for block in known} > {"keep", "rollout.picked", "group.spread_used"}
    assert not {block.name for block in known} & {"ratio", "group.others", "advantages"}
    counts = equations.rows["policy.counts"].definitions[0].expr
    assert text(without_constants(counts, known)) == "loss.factor·L_t[n, t]"
    assert source(equations.rows["ratio.old_logprobs"]).name == "old.logprobs"


@pytest.mark.parametrize(
    ("made", "plain"),
    [("x·1", "x"), ("x / 1", "x"), ("0 + x", "x"), ("x − (−x)", "x + x"), ("x·2", "x·2")],
)
def test_one_change_is_said_once(made: str, plain: str) -> None:
    x = typed("x")[()]
    forms = {"x·1": x * 1, "x / 1": x / 1, "0 + x": 0 + x, "x − (−x)": x - -x, "x·2": x * 2}
    assert text(without_ones(forms[made])) == plain


@pytest.mark.parametrize("of", OF_KINDS.values(), ids=OF_KINDS)
def test_rows_stand_in_the_same_order_whenever_they_are_made(of: Definitions) -> None:
    """Of many rows only the first are tried for others: a cause must not depend on where blocks lie in memory."""
    once, again = ([*replace(of, typed=dict(of.typed)).live] for _ in range(2))
    assert once == again
