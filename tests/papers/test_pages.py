"""Workbooks are what a page of `papers` makes of the numbers typed in them: built-in ones by every preset, and others.

PPO's and GRPO's have files of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("torch", reason="the pages of papers are written in torch")

import blueprint as bp
from blueprint.witness.raw import Page, Raw
from blueprint.workbooks.kind import Kind
from blueprint.workbooks.registry import kind_named, kind_of_level, kinds
from tests.page.workshop import MAINS, SLOPED, row
from tests.papers.held import TOLERANCE, held_against
from tests.papers.pages import CLOSE, apart, built, drawn, file_of, presets, typed_alone, typed_in
from tests.workbooks.dpo.own_logprobs import by_response, given, golden


class Family(NamedTuple):
    """Built-in numbers of a kind into which presets are typed.

    preset: one that is built, too. results: how many the page has, at least. slopes: one of them, and whose numbers have it.
    drawn: blocks for which other numbers are drawn, of the last name.
    """

    names: tuple[str, ...]
    preset: str
    results: int
    slopes: dict[str, tuple[str, ...]]
    batch: str
    drawn: tuple[str, ...]


FAMILIES = {
    "dpo": Family(
        ("dpo", "dpo-batch", "by-hand-dpo", "pipeline/dpo"), "halos_cdpo", 23,
        {"policy.E.grad": ("dpo", "pipeline/dpo"), "policy.logits.grad": ("dpo", "dpo-batch", "pipeline/dpo")}, "dpo-batch",
        tuple(f"{texts}{model}.logits" for texts in ("", "mismatched.") for model in ("policy", "reference")),
    ),
    "reward_model": Family(
        ("reward-model", "reward-batch", "pipeline/reward-model"), "openrlhf_rm_margin", 19,
        {"head.score.grad": ("reward-batch",)}, "reward-batch", ("head.score",),
    ),
    "sft": Family(
        ("sft", "sft-batch", "pipeline/sft"), "trl_1.16_dft", 18, {"policy.E.grad": ("sft", "pipeline/sft")}, "sft-batch",
        ("policy.logits",),
    ),
}  # fmt: skip
NAMES = [(kind, name) for kind, of in FAMILIES.items() for name in of.names]


def page_of(kind: str) -> Page:
    page: Page = import_module(f"blueprint.workbooks.{kind}.paper").PAGE
    return page


@pytest.mark.parametrize(
    ("kind", "name", "preset"), [(kind, *each) for kind, of in FAMILIES.items() for each in presets(*of.names)]
)
def test_the_page_has_the_numbers_of_the_workbook(kind: str, name: str, preset: str) -> None:
    assert apart(typed_in(name, preset), page_of(kind)) == []


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_what_is_built_with_a_preset_is_what_is_typed_in(kind: str, name: str) -> None:
    assert apart(file_of(bp.build(name, preset=FAMILIES[kind].preset, gradients=True)), page_of(kind)) == []


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_the_page_reads_nothing_that_is_computed(kind: str, name: str) -> None:
    alone = page_of(kind).results(Raw(typed_alone(built(name))))
    assert {key: each.isfinite().all().item() for key, each in alone.items()} == dict.fromkeys(alone, True)
    for slope, names in FAMILIES[kind].slopes.items():
        assert (slope in alone) == (name in names)
    assert len(alone) >= FAMILIES[kind].results


@pytest.mark.parametrize(
    ("kind", "name", "preset"), [(kind, *each) for kind, of in FAMILIES.items() for each in presets(of.batch)]
)
def test_other_numbers(kind: str, name: str, preset: str) -> None:
    """Drawn ones. ColossalChat's odds, p/(1.0001 − p), lose 4 digits where p is nearly 1, and their slopes 8."""
    close = 1e-8 if preset == "colossalchat" else CLOSE
    for seed in range(3 if kind == "dpo" else 5):
        assert apart(typed_in(name, preset, drawn(name, seed, *FAMILIES[kind].drawn)), page_of(kind), close) == []


@pytest.mark.parametrize(("name", "preset"), presets("dpo-batch"))
def test_models_exchanged_and_the_same(name: str, preset: str) -> None:
    """Policy and reference exchanged, so that KTO's z would be below 0; and both the same, so that all pairs tie."""
    logits, blocks = FAMILIES["dpo"].drawn, built(name).blocks
    policy, reference, *far = (built(name).values.arrays[blocks[key]] for key in logits)
    for more in (
        dict(zip(logits, (reference, policy, *far[::-1]), strict=True)),
        {logits[1]: policy, logits[3]: far[0]},
    ):
        close = 1e-8 if preset == "colossalchat" else CLOSE
        assert apart(typed_in(name, preset, more), page_of("dpo"), close) == []


def page_has(numbers: str | Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """Lists the results of the page that a workbook does not have."""
    book = bp.build(numbers, set=asked, gradients=True)
    kind = kind_of_level(book.blueprint.facts["level"])
    assert kind is not None
    return apart(file_of(book), page_of(kind.name))


FORMS = kind_named("dpo").part("settings")["loss.form"].words


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["dpo", "dpo-batch"])
def test_every_form(name: str, form: str) -> None:
    asked = {
        "loss.form": form,
        "loss.label_smoothing": 0.1,
        "loss.gamma": 0.3,
        "loss.nll_coef": 0.2,
        "loss.desirable": 1.33,
    }
    odds = {"logp.of": "mean", "reference.used": "off", "loss.nll_region": "text", "loss.nll_mean": "sequence_mean"}
    assert page_has(name, asked | (odds if form == "orpo" else {"loss.weight": "wpo"})) == []


SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("dpo-batch", {"margin.divergence": "forward_kl"}),
    ("dpo-batch", {"margin.divergence": "js"}),
    ("dpo-batch", {"logp.alpha": 0.25, "reference.used": "off"}),
    ("dpo-batch", {"logp.ld": "policy", "logp.ld_from": "row", "logp.ld_alpha": 0.3}),
    ("dpo-batch", {"logp.ld": "both", "logp.ld_alpha": 0.3}),
    ("dpo-batch", {"logp.of": "mean_with_pad", "watch.rewards": "with_reference"}),
    ("dpo-batch", {"logp.of": "mean_nonzero", "loss.bco_mix": 2}),
    ("dpo-batch", {"loss.nll_coef": 1, "loss.nll_mean": "cells", "loss.nll_region": "everything", "loss.mean_eps": 0.5}),
    ("dpo-batch", {"loss.form": "bco", "loss.bco_threshold": "batch_mean", "watch.rewards": "no_beta"}),
]  # fmt: skip
"""Settings of no preset; those of demonstrations are in `tests/workbooks/test_torch_agrees.py`."""


@pytest.mark.parametrize(("numbers", "asked"), SETTINGS, ids=str)
def test_settings_of_no_preset(numbers: str, asked: dict[str, Any]) -> None:
    assert page_has(numbers, asked) == []


OWN: dict[str, Any] = {
    "tokens": given("policy", "reference"), "no reference": given("policy"), "one number a response": by_response(),
    "the recorded pairs": golden(),
}  # fmt: skip
RECORDED = ("kto", "rpo_squared", "rpo_backward", "rpo_forward")
"""Forms that read mismatched responses or true rewards, which are recorded."""


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *((name, form) for name in OWN for form in ("sigmoid", "hinge", "bco", "sppo", "nca", "aot_unpaired")),
        *(("the recorded pairs", form) for form in RECORDED),
    ],
)
def test_log_probs_of_ones_own(name: str, form: str) -> None:
    """Responses of one to four tokens, one of which has a log-prob of −700 and another of 0; and what is not given."""
    assert page_has(OWN[name], {"loss.form": form}) == []


NEVER = [[0] * 8] * 2
ZERO = [[0, 0, 0]] * 3
HELD: dict[str, tuple[int, list[tuple[str | None, dict[str, Any]]]]] = {
    "classic": (36, [
        *((preset, {}) for preset in (None, "cleanrl", "sb3", "torchrl", "rlax")),
        (None, {"ppo.clip_more": 0.1}), (None, {"ppo.value_clip_range": "off"}),
        (None, {"ppo.bootstrap": "terminated", "rollout.terminated": NEVER}), (None, {"ppo.whiten_advantages": "off"}),
        (None, {"ppo.whiten_form": "std_max", "ppo.whiten_eps": 0.5}), (None, {"ppo.value_combine": "clipped_only"}),
        (None, {"ppo.value_norm": "smooth_l1"}), (None, {"ppo.clip_range": 0.05, "ppo.ent_coef": 0.3}),
    ]),
    "reinforce": (30, [
        (None, {}), *((None, {"reinforce.baseline": word}) for word in ("leave_one_out", "batch", "optimal")),
        (None, {"reinforce.baseline": "typed", "reinforce.baseline_value": 2.5}), (None, {"reinforce.baseline": "expected"}),
        (None, {"reward.scores": [2] * 4}), (None, {"policy.logits": [800, 0, 0, -800]}),
        (None, {"policy.direction": [100, 0, 0, -100], "policy.steps": [0, -1, 3]}),
        (None, {"text.vocabulary": ["a", "b"], "policy.logits": [0, 0], "reward.scores": [1, -1], "policy.direction": [1, 0],
                "policy.steps": [0], "draws.uniform": [0.01, 0.99]}),
    ]),
    "optimum": (26, [
        (None, {}), (None, {"optimum.beta": 2, "optimum.way": 0.3}), (None, {"optimum.way": 1, "policy.beside": ZERO}),
        (None, {"reward.scores": [[700, -700, 0], [0, 0, 0], [0, 0, 0]]}), (None, {"optimum.beta": 0.01}),
        (None, {"reference.first": [-700, 0, 0]}), (None, {"reward.scores": [[1, 1, 1]] * 3}), (None, {"way.steps": [-2, 0, 5]}),
    ]),
    "bandit": (26, [
        (None, {}), (None, {"bandit.strategy": "softmax"}), (None, {"bandit.step": "constant", "bandit.alpha": 0.3}),
        (None, {"bandit.epsilon": 0, "bandit.start": 5}), (None, {"bandit.epsilon": 1}), (None, {"arms.means": [1, 1, 1, 1]}),
        (None, {"bandit.strategy": "softmax", "bandit.tau": 0.001}), (None, {"bandit.strategy": "softmax", "bandit.tau": 1000}),
        (None, {"arms.names": ["A"], "arms.means": [2]}), (None, {"bandit.noise": 0, "sweep.temperatures": [0.001, 1000]}),
        (None, {"arms.means": [-1000, 1000, 0, 0.5], "bandit.strategy": "softmax", "bandit.tau": 0.01}),
        (None, {"arms.means": [1000, -1000, 0, 5], "bandit.strategy": "softmax", "bandit.tau": 0.001}), (None, {"bandit.tie": 1}),
        (None, {"arms.means": [1] * 4, "bandit.noise": 0}), (None, {"bandit.step": "constant", "bandit.alpha": 0}),
    ]),
    "advantage": (37, [
        (None, {}), (None, {"advantage.theta": 2, "advantage.gamma": 0.9}), (None, {"advantage.gae_lambda": 0}),
        (None, {"advantage.gae_lambda": 1, "advantage.gamma": 1}), (None, {"advantage.gamma": 0}),
        (None, {"sweep.lambdas": [0.2, 0.2, 1, 0]}), (None, {"advantage.reward_sd": 0, "advantage.theta": -20}),
        (None, {"traces.actions": [[0], [1]], "traces.rewards": [[0], [0]], "traces.values": [[0], [0]]}),
        (None, {"long.rewards": [1, 2], "long.values": [100, -100], "long.last_value": 1e6}),
        (None, {"advantage.theta": -20, "advantage.gamma": 1, "advantage.gae_lambda": 1}),
        (None, {"advantage.gamma": 0, "advantage.reward_sd": 1000}),
        (None, {"sweep.lambdas": [1, 1, 0, 0], "long.rewards": [1, 2], "long.values": [1e6, -1e6]}),
    ]),
    "frontier": (36, [
        (None, {}), (None, {"frontier.beta": 2, "frontier.repeated": 0.5}), (None, {"frontier.beta": 0.01}),
        (None, {"sweep.betas": [50, 0.01], "sweep.draws": [1, 3, 1000]}),
        (None, {"proxy.each": [0, 0.1, 0, 0], "sweep.draws": [2, 64]}),
        (None, {"reference.weights": [0.01, 1, 1, 100]}), (None, {"proxy.each": [5, -2, 2, 0], "sweep.draws": [2, 64]}),
    ]),
    "value-iteration": (10, [
        (None, {}), (None, {"value_iteration.gamma": 0}), (None, {"value_iteration.gamma": 1, "value_iteration.step_reward": 0.1}),
        (None, {"grid.map": [["S", "#", ".", "G"], [".", "#", ".", "#"], [".", ".", ".", "."]], "grid.sweeps": 9}),
        (None, {"grid.map": [["G", "S", ".", "."]], "grid.sweeps": 32}), (None, {"grid.map": [["."]]}),
        (None, {"grid.map": [["#", "#"], ["#", "#"]]}), (None, {"grid.map": [["S", "#"], ["#", "G"]], "grid.sweeps": 1}),
        (None, {"grid.sweeps": 1}), (None, {"grid.map": [["S", "#"], ["#", "G"]]}),
    ]),
    "q-learning-path": (17, [
        (None, {}), (None, {"q_learning.alpha": 1, "q_learning.gae_lambda": 0.9}), (None, {"q_learning.gamma": 0}),
        (None, {"q_learning.initial": 1, "q_learning.step_reward": 0.2}), (None, {"q_learning.goal_reward": -3}),
    ]),
    "q-learning": (17, [
        *((None, {"q_learning.exploration": "softmax", "q_learning.tau": tau}) for tau in (0.05, 0.001)),
        (None, {"steps.uniform": [0.5], "steps.moves": [""]}), (None, {"q_learning.gamma": 0, "q_learning.alpha": 1}),
        *((None, {"grid.map": of}) for of in ([["S", "#"], ["#", "G"]], [["G", "."], [".", "."]], [["G"]])),
        (None, {"q_learning.alpha": 0, "q_learning.epsilon": 0}), (None, {"q_learning.initial": 1, "q_learning.epsilon": 0}),
    ]),
    "kl-controller": (7, [
        (None, {}), (None, {"controller.kl_stat": "token_mean", "controller.target": 1.1}),
        (None, {"controller.error_clip": 0.9, "controller.horizon": 300, "controller.n_steps": 64}),
        (None, {"controller.kl_coef": 0.5, "controller.target": 0.01}),
        (None, {"responses.kl_sums": [[-3, 1], [0, 0], [1e6, 2]], "responses.lengths": [[1, 7], [2, 2], [500, 1]]}),
    ]),
}  # fmt: skip
"""By built-in numbers how many results there are, of the first two at least, and presets and settings."""
LESSONS = frozenset(HELD) - {"classic"}
"""Of these every identity holds and every cell is a number, however far from the default."""
ELSEWHERE = ("rlhf_ppo", "grpo", *FAMILIES)
OTHERS = [kind for kind in kinds() if kind.paper and kind.name not in ELSEWHERE and not {*kind.built_in()} & {*HELD}]


def every_setting(kind: Kind) -> list[tuple[str | None, dict[str, Any]]]:
    """Returns the settings of a kind that is not listed above: as they are, and each at every word or end of its range."""
    level = next(level for word in kind.levels if (level := kind.level(word)).settings)
    ends = {key: each.words or (each.low, each.high) for key, each in level.settings.items()}
    return [
        (None, {}),
        *((None, {f"{level.of_settings}.{key}": end}) for key, several in ends.items() for end in several),
    ]


HELD |= {MAINS[kind.name]: (1, every_setting(kind)) for kind in OTHERS}
FAR_DRAWS: list[dict[str, Any]] = [
    {"sweep.draws": [1, 100_000]}, {"reference.weights": [1e-6, 1, 1, 1]}, {"proxy.each": [0, -50, 50, 0]},
]  # fmt: skip
HELD["frontier"][1].extend((None, changed) for changed in FAR_DRAWS)
"""A chance to the power of n multiplies its rounding, to 1.7e-11 as measured; which n is best of two that are alike is not said."""
AT_LEAST = {"classic", "reinforce", *(MAINS[kind.name] for kind in OTHERS)}


@pytest.mark.parametrize(
    ("name", "preset", "changed"), [(name, *each) for name, (_, cases) in HELD.items() for each in cases], ids=str
)
def test_a_book_is_what_the_page_makes_of_it(name: str, preset: str | None, changed: dict[str, Any]) -> None:
    book = bp.build(name, preset=preset, set=changed, gradients=name in SLOPED)
    kind = kind_of_level(book.blueprint.facts["level"])
    assert kind is not None
    page = page_of(kind.name)
    found = held_against(
        book, page.results, page.masks if name == "q-learning" else {}
    )  # steps beyond the last count nowhere
    near = 2e-11 if changed in FAR_DRAWS else TOLERANCE
    away = {each: far for each, far in found.items() if not far <= near}
    # Where no draw varies, the share of what is left of the variance is 0/0 on the page, and 1 in the workbook.
    still = name == "reinforce" and row(book, "variance.without") == 0 and row(book, "variance.share") == 1
    assert away.keys() - ({"best.best_draws"} if changed in FAR_DRAWS else set()) == (
        {"variance.share"} if still else set()
    )
    assert len(found) == HELD[name][0] or (name in AT_LEAST and len(found) > HELD[name][0])
    if name in LESSONS:
        assert str(book.values.cell(book.blocks["check.master"])) == "OK"
        computed = [block for block in book.blocks.values() if not block.typed and not block.text]
        assert [block.name for block in computed if not np.isfinite(np.asarray(book.values[block], float)).all()] == []
