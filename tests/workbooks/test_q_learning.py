"""Q-learning: golden values along one path, explorations, the TD error as PPO's δ, and a pencil."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.page.workshop import Array, made

NAME, PATH, PENCIL = "q-learning", "q-learning-path", "by-hand-q-learning"
EXACT = 1e-12
WALLS_AROUND = 'grid.map=[["S", "#"], ["#", "G"]]'
DOWN, RIGHT = 1, 3
LAST = (0.1, 0.19, 0.271, 0.3439, 0.40951)
BEFORE_IT = (-0.001, 0.008, 0.02501, 0.048338, 0.07655)
"""After each episode Q of the last of six moves, and of the one before it: computed before there was a workbook."""
SIX = [
    "grid.episodes=6",
    f"steps.uniform={[0.5] * 36}",
    f"steps.moves={(['right'] * 3 + ['down'] * 3) * 6}".replace("'", '"'),
]


def row(name: str, *overrides: str, numbers: str = NAME) -> Array:
    """Return a block, its edges included."""
    book = made(*overrides, numbers=numbers)
    return np.asarray(book.values.arrays[book.blocks[name]])


def test_values_travel_back_along_a_path() -> None:
    table = row("episode.q", numbers=PATH)
    np.testing.assert_allclose(table[:, 11, DOWN], LAST, rtol=0, atol=EXACT)
    np.testing.assert_allclose(table[:, 7, DOWN], BEFORE_IT, rtol=0, atol=5e-6)
    assert table[-1, 0, RIGHT] == pytest.approx(-0.004095, abs=5e-7)
    assert row("episode.steps", numbers=PATH).tolist() == [6] * 5


def test_with_alpha_1_a_value_travels_one_cell_an_episode() -> None:
    start = row("episode.start", "q_learning.alpha=1", *SIX, numbers=PATH)
    np.testing.assert_allclose(start, [0, 0, 0, 0, 0, 0.9019801], rtol=0, atol=5e-8)


def test_a_step_changes_one_value_and_the_last_episode_ends_learning() -> None:
    changed = (np.diff(row("q.table"), axis=0) != 0).sum((1, 2))
    counts = row("step.counts").astype(bool)
    assert (changed[counts] <= 1).all()
    assert changed[~counts].sum() == 0
    assert (~counts).sum() == 4
    assert row("episode.steps").tolist() == [44, 23, 19, 6, 14]


def test_the_td_error_is_the_advantage_of_ppo_with_lambda_0() -> None:
    assert np.abs(row("gae.difference")).max() <= EXACT
    lam = ("q_learning.gae_lambda=0.9",)
    error, done = row("step.td_error", *lam), row("step.done", *lam)[1:]
    later, expected = 0.0, []
    for delta, end in zip(error[:106][::-1], done[:106][::-1], strict=True):
        later = delta + 0.99 * 0.9 * (1 - end) * later
        expected.append(later)
    np.testing.assert_allclose(row("gae.advantage", *lam)[:106], expected[::-1], rtol=0, atol=EXACT)
    assert np.abs(row("gae.difference", *lam)).max() > 0.1


def test_moves_are_drawn_by_both_explorations() -> None:
    here, top = row("step.q_here"), row("step.q_top")
    for tau, override in ((0.05, ()), (0.5, ("q_learning.tau=0.5",))):
        soft = row("soft.p", "q_learning.exploration=softmax", *override)
        q = row("step.q_here", "q_learning.exploration=softmax", *override)
        expected = np.exp(q / tau) / np.exp(q / tau).sum(-1, keepdims=True)
        np.testing.assert_allclose(soft, expected, rtol=0, atol=EXACT)
    greedy = row("move.greedy")
    assert (greedy.max(-1).round(9) == 0.925).all()
    assert (greedy.argmax(-1) == here.argmax(-1)).all()  # the first of several
    np.testing.assert_allclose(top, here.max(-1))
    drawn = row("step.drawn", "q_learning.epsilon=1")
    assert drawn.tolist() == [int(u * 4) for u in row("step.uniform")]  # four quarters side by side


def test_a_typed_word_overrules_the_draw() -> None:
    assert row("step.move", "steps.uniform=[0.5, 0.5]", 'steps.moves=["down", ""]').tolist() == ["down", "up"]


def test_behind_walls_no_episode_ends_and_every_move_costs() -> None:
    assert int(row("final.ended", WALLS_AROUND)) == 0
    assert (row("step.earned", WALLS_AROUND) == -0.01).all()


def test_a_pencil_is_enough() -> None:
    """Each number of the steps is a fraction of at most four decimals, computed here exactly."""
    alpha, gamma, q = Fraction(1, 5), Fraction(1, 2), dict[tuple[int, int], Fraction]()
    names = ("step.state", "step.action", "step.done", "step.q_new")
    state, action, done, new = (row(name, numbers=PENCIL) for name in names)
    lands = row("step.next", numbers=PENCIL)[1:]
    for s, a, end, value, to in zip(state, action, done[1:], new, lands, strict=True):
        best = 0 if end else max(q.get((int(to), move), Fraction(0)) for move in range(4))
        reward = Fraction(1) if end else Fraction(-1, 10)
        old = q.get((int(s), int(a)), Fraction(0))
        q[int(s), int(a)] = old + alpha * (reward + gamma * best - old)
        assert float(q[int(s), int(a)]) == pytest.approx(value, abs=EXACT)
        assert q[int(s), int(a)] * 10**4 % 1 == 0


def test_what_start_says_one_will_see() -> None:
    def ended(*overrides: str) -> int:
        return int(row("final.ended", *overrides))

    soft = "q_learning.exploration=softmax"
    assert [ended(soft, f"q_learning.tau={tau}") for tau in (0.05, 1, 0.01)] == [4, 3, 2]
    assert ended("q_learning.initial=1") == 2
    best = row("picture.value", "q_learning.alpha=1")[0]
    assert sorted(best[best > 0].round(2)) == [1.0]  # after the first episode one cell knows of the goal
