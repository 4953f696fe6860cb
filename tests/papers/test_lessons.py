"""Workbooks of lessons, classic PPO and the KL controller are what their pages make of what is typed, and at the ends of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the pages of papers are written in torch")

import blueprint as bp
from blueprint.workbooks.kind import Kind
from blueprint.workbooks.registry import kind_of_level, kinds
from tests.page.workshop import MAINS, SLOPED, row
from tests.papers.held import TOLERANCE, held_against

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
    "kto": (15, [
        (None, {}), (None, {"kto.loss_type": "apo_zero_unpaired", "kto.beta": 0.5}), (None, {"kto.beta": 0}),
        (None, {"kto.desirable_weight": 1.5, "kto.undesirable_weight": 0}), (None, {"responses.good": [1] * 5}),
        (None, {"policy.elsewhere": [-9, -8, -7, -8, -9], "responses.good": [0] * 5}),
        (None, {"policy.elsewhere": [0] * 5, "kto.beta": 100}),
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
ELSEWHERE = ("rlhf_ppo", "grpo", "dpo", "reward_model", "sft")
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
    page = kind.part("paper")
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
