"""Blanks lie on what their kind is about: what one would ask in an exam on it, from its first step to the loss."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import blueprint as bp
from blueprint.inputs import load
from blueprint.page.outline import Blueprint
from blueprint.workbooks.registry import blueprint_of, kinds
from blueprint.worksheets import Asked, Search, WorksheetError, worksheet

PPO = {
    "kl.k1", "reward.penalty", "rewards", "td_errors", "advantages", "returns", "ratio", "ratio.clipped", "surrogate",
    "policy_loss", "value_loss", "entropy", "total_loss",
}  # fmt: skip
TOPICS: dict[str, tuple[set[str], set[str]]] = {
    "default": (PPO, {"advantages", "ratio", "ratio.clipped", "surrogate", "policy_loss", "total_loss"}),
    "classic": (
        PPO | {"advantage.whitened", "value.step_loss"},
        {"td_errors", "advantages", "ratio", "surrogate", "policy_loss", "total_loss"},
    ),
    "dpo": (
        {
            "policy.log_p", "policy.sum", "reference.sum", "chosen.against", "rejected.against", "margin", "margin.scaled",
            "margin.right", "chosen.reward", "rejected.reward", "loss.paired",
        },
        {"policy.sum", "chosen.against", "margin", "margin.right", "chosen.reward", "loss.paired"},
    ),
    "bandit": (
        {
            "arm.gap", "greedy.p", "arm.p", "arm.cumulative", "pull.reward", "pull.error", "pull.share", "pull.step", "pull.new",
            "regret.pull", "regret.total", "regret.expected", "regret.mean", "pull.mean",
        },
        {"greedy.p", "pull.reward", "pull.error", "regret.expected", "regret.mean", "pull.mean"},
    ),
    "advantage": (
        {
            "action.p", "trace.slope", "trace.return", "trace.mean", "weight.less_mean", "weight.less_value", "trace.delta",
            "weight.gae", "gradient.to_go", "gradient.gae", "gradient.mean", "gradient.variance", "sweep.first.mean",
            "sweep.first.bias", "long.delta", "long.gae", "long.mean", "long.first_bias", "long.first_sd",
        },
        {"weight.less_mean", "trace.delta", "gradient.mean", "long.gae", "long.first_sd"},
    ),
    "frontier": (
        {
            "token.log_p", "reference.logp", "reference.chance", "repeats", "reward.proxy", "reward.gold", "optimum.logsumexp",
            "optimum.p", "optimum.log_ratio", "optimum.proxy", "optimum.kl", "optimum.objective", "optimum.gold",
        },
        {"optimum.objective", "optimum.gold"},
    ),
    "grpo": (
        {
            "group.mean", "group.deviation", "group.scaled", "ratio", "ratio.clipped", "surrogate.unclipped",
            "surrogate.pessimistic", "kl_new.k3", "kl_loss", "policy_loss", "log_ratio.free",
        },
        {"group.mean", "group.deviation", "group.scaled", "ratio", "ratio.clipped", "surrogate.pessimistic", "policy_loss"},
    ),
    "kl-controller": (
        {"kl.seq_sum", "kl.token_mean", "error.raw", "error", "factor", "kl_coef.after"},
        {"error.raw", "factor", "kl_coef.after"},
    ),
    "optimum": (
        {
            "reference.logp", "response.p", "optimum.logsumexp", "optimum.p", "policy.p", "policy.log_ratio", "kl.reference",
            "objective", "objective.best", "implicit.reward", "prefers.p", "pair.margin", "pair.loss", "dpo_loss",
        },
        {"pair.loss", "dpo_loss"},
    ),
    "reinforce": (
        {
            "policy.p", "slope", "slope.square", "expected_reward", "gradient", "gradient.square", "advantage", "gradient.with",
            "variance.without", "variance.with", "variance.share", "baseline.optimal",
        },
        {"slope", "expected_reward", "variance.without", "variance.with"},
    ),
    "reward-model": (
        {
            "reward_model.out", "difference", "probability", "argument.right", "preference_loss", "rewards.margins",
            "argument.grad", "score.used.grad", "weight.pair.pairs", "total_loss",
        },
        {"reward_model.out", "difference", "probability", "argument.right", "preference_loss"},
    ),
    "sft": (
        {
            "policy.logits", "policy.log_p", "policy.p", "policy.p_log_p", "loss.of_token", "loss.of_text", "watch.logp",
            "total_loss", "policy.logits.grad", "policy.Y.grad", "update1.norm", "update1.policy.Y",
        },
        {"policy.log_p", "policy.p", "loss.of_token", "loss.of_text", "total_loss"},
    ),
    "very-very-sleepy": (PPO | {"surrogate.clipped"}, {"td_errors", "advantages", "returns"}),
}  # fmt: skip
"""By numbers what their blanks may be, and what is always among twelve of them."""


@cache
def of(name: str) -> Blueprint:
    """Returns the blueprint of built-in numbers."""
    return blueprint_of(load(name, []))


@pytest.mark.parametrize("name", ["reward-model", "pipeline/reward-model", "kto", "grpo", "dpo", "sft"])
@pytest.mark.parametrize("seed", ["", "another"])
def test_no_row_is_asked_for_three_times_while_others_are_asked_for_once(name: str, seed: str) -> None:
    for check in (False, True):
        made = worksheet(of(name), 12, seed=seed, check=check)
        asked = Counter(blank.block.name for blank in made.blanks)
        assert len(made.blanks) == 12
        assert max(asked.values()) <= 2, asked


@pytest.mark.parametrize("name", TOPICS)
def test_twelve_blanks_lie_on_the_derivation_of_their_kind(name: str) -> None:
    topic, always = TOPICS[name]
    made = worksheet(of(name), 12, seed="another")
    rows = {blank.block.name for blank in made.blanks}
    assert len(made.blanks) == 12
    assert rows <= topic
    assert always <= rows
    assert Search(made.blueprint, made.full.values, shown=made.shown).leaks() == []


def test_every_kind_names_rows_that_it_has() -> None:
    for kind in kinds():
        built = [of(name) for name in kind.built_in() if "pipeline" not in name or kind.name == "dpo"]
        there = {block.name for each in built for block in each.blocks()}
        assert not built or kind.derivation, f"{kind.name} names no derivation"
        assert not built or set(kind.derivation) <= there, f"{kind.name} has no {set(kind.derivation) - there}"


@pytest.mark.parametrize(
    ("name", "title", "blank"),
    [
        ("grpo", "group.mean@q=2", "group.mean@q=2"),
        ("grpo", "group.mean", "group.mean@"),
        ("default", "ratio.clipped@n=1,t=7", "ratio.clipped@n=1,t=7"),
        ("default", "surrogate", "surrogate@"),
        ("grpo", "surrogate", "surrogate@"),
        ("dpo", "margin.scaled", "margin.scaled@"),
        ("dpo", "loss.pair", "loss.sigmoid@"),
        ("dpo", "chosen.ratio", "chosen.against@"),
        ("reward-model", "score", "score@"),
    ],
)
def test_core_rows_can_be_asked_for(name: str, title: str, blank: str) -> None:
    """Some of their numbers are those of a typed weight, and some rows only hand on another one, which is then asked for."""
    assert worksheet(of(name), [Asked(title)]).blanks[0].title.startswith(blank)


def test_of_a_section_no_cell_is_asked_for_twice() -> None:
    """Some of its rows hand on another one."""
    titles = [
        blank.title
        for blank in worksheet(of("dpo"), [Asked("section:The loss of a pair"), Asked("section:The loss")]).blanks
    ]
    assert len(titles) == len(set(titles)) > 1


def test_a_cell_that_only_hands_on_another_says_which_to_ask_for() -> None:
    says = "loss.pair@p=1 only hands on loss.sigmoid@p=1, where its answer would stand: ask for loss.sigmoid@p=1"
    with pytest.raises(WorksheetError, match=says):
        worksheet(of("dpo"), [Asked("loss.pair@p=1")])


def test_of_a_choice_only_what_is_in_use_is_left() -> None:
    """With sorted margins in the file, which another loss reads, no margin could be a blank."""
    made = worksheet(of("dpo"), [Asked("margin.scaled@p=1")])
    equations = {block.name: str(block.definitions[0].expr) for block in made.blueprint.blocks() if block.definitions}
    assert equations["loss.pair"] == "L_dpo[p]"
    assert "aot.argument" not in equations
    assert "Other options" in made.blueprint.left_out
    with pytest.raises(WorksheetError, match=r"aot\.argument in Pairs!"):
        worksheet(of("dpo"), [Asked("margin.scaled@p=1")], fixed=False)


def test_what_follows_backwards_is_left_out() -> None:
    """k3 = ρ − 1 − log ρ tells the ratio to whoever knows the log-ratio."""
    made = worksheet(of("default"), [Asked("ratio@n=1,t=5")])
    there = {block.name for block in made.blueprint.blocks()}
    assert not there & {"policy_kl.k3", "approx_kl.k3"}
    says = "has ratio@n=1,t=5 within its formula, so that it follows backwards"
    assert made.blueprint.left_out["Loss: pk3 (policy_kl.k3)"] == says


@pytest.mark.parametrize("name", ["default", "dpo", "grpo", "sft"])
def test_no_worksheet_proposes_changes_and_tells_what_they_lead_to(name: str) -> None:
    assert "First hour" in {sheet.title for sheet in of(name).sheets}
    made = worksheet(of(name), 3)
    assert "First hour" not in {sheet.title for sheet in made.blueprint.sheets}
    assert made.blueprint.left_out["First hour"] == "proposes changes, and tells what each of them leads to"


@pytest.mark.parametrize(
    ("name", "count", "level", "seed"),
    [
        ("very-very-sleepy", 40, 3, ""),
        ("very-very-sleepy", 12, 1, ""),
        ("sft", 1, 3, "s2"),
        ("dpo", 12, 1, ""),
        ("sft", 12, 3, "s2"),
        ("reward-model", 12, 3, "s2"),
        ("reinforce", 12, 2, "a"),
        ("kl-controller", 8, 3, "a"),
        ("classic", 12, 2, "a"),
    ],
)
def test_check_agrees_with_an_untouched_worksheet(name: str, count: int, level: int, seed: str, tmp_path: Path) -> None:
    made = worksheet(of(name), count, level, seed=seed)
    made.book.save(tmp_path / "sheet.xlsx")
    assert bp.check(tmp_path / "sheet.xlsx").agrees
