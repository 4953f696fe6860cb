"""A minibatch in the blocks of the definitions: some of its responses, other settings, extreme numbers, parts of a larger batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.dumps import Array, Minibatch, Moments, Share
from blueprint.inputs.catalogue import OFF
from blueprint.verifying.logged import NUMBERS, TENSORS
from blueprint.verifying.settings import Setting
from blueprint.workbooks.common.conventions import LIVE, rlhf
from blueprint.workbooks.rlhf_ppo.verifying.feeding import EQUATIONS, fed
from blueprint.workbooks.rlhf_ppo.verifying.judge import cut
from blueprint.workbooks.rlhf_ppo.verifying.replay import moments_in, replay
from tests.verifying.dumps import LIBRARIES, made

TOLERANCE = 1e-12
ROWS = tuple(dict.fromkeys(row for each in (*TENSORS, *NUMBERS) for row, _ in each.rows))
WHITENED: dict[str, Setting] = {"reward.whiten": "on", "whiten_advantages": "on"}
Change = Callable[[Array], Array]


def drawn_settings(seed: int) -> dict[str, Setting]:
    drawn, known = np.random.default_rng(seed), rlhf()
    columns = list(known.presets.values())
    use: dict[str, Setting] = {key: columns[drawn.integers(len(columns))].values[key] for key in known.settings}
    use |= {
        key: str(drawn.choice(tuple(each.words))) for key, each in LIVE.items() if each.words and "kl_est" not in key
    }
    return use | {"ent_coef": 0.1, "loss.ratio_threshold": float(drawn.choice([1, 10]))}


def apart(ours: Array, theirs: Array) -> float:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    with np.errstate(invalid="ignore"):
        off = np.abs(ours - theirs) / (1 + np.abs(theirs))
    return float(np.where((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)), 0.0, off).max(initial=0.0))


@pytest.mark.parametrize("seed", range(6))
def test_chosen_responses_come_to_what_they_are_in_the_whole_batch(seed: int) -> None:
    batch, episodes = made(seed, holes=True), [5, 0, 3]
    found = replay(batch, drawn_settings(seed) | (WHITENED if seed % 2 else {}))
    some = found.rows(episodes)
    assert len(some) > 80
    for name in [name for name in some if some[name].ndim == 1 or name in ROWS]:
        own = some[name][:, : batch.mask.shape[1]] if some[name].ndim == 2 else some[name]
        assert apart(own, found[name][episodes]) <= TOLERANCE, name


@pytest.mark.parametrize("seed", range(6))
def test_any_words_come_to_the_same_where_they_are_chosen_in_the_equations(seed: int) -> None:
    use = drawn_settings(seed)
    of = fed(made(seed, holes=True), use)
    plain, among = of.values(ROWS), EQUATIONS.among_many(use).values(use, of.sizes, of.known, ROWS, None, "cpu")
    assert {name: apart(among[name], plain[name]) for name in ROWS if apart(among[name], plain[name]) > TOLERANCE} == {}


def altered(**changes: Change) -> Minibatch:
    batch = made(5)
    return replace(batch, tensors={**batch.tensors, **{name: by(batch.tensors[name]) for name, by in changes.items()}})


EXTREMES: dict[str, tuple[Minibatch, str, float]] = {
    "log-ratios of -700": (altered(logprobs_new=lambda x: x - 700), "ratio.mean", 0.0),
    "log-ratios beyond the largest number": (altered(logprobs_new=lambda x: x + 720), "ratio.mean", np.inf),
    "empty responses": (altered(response_mask=np.zeros_like), "policy_loss", 0.0),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_numbers_come_to_what_they_should(name: str) -> None:
    batch, number, value = EXTREMES[name]
    for library in LIBRARIES[::3]:
        use = {**rlhf().preset(library).values, "metrics.over": "mask", "batch.response_mask": "non_pad"}
        found = replay(batch, {**use, "loss.log_ratio_clamp": OFF})
        assert found.whole[number] == pytest.approx(value, abs=1e-9), library


def test_limits_that_are_off_change_nothing_that_is_within_them() -> None:
    off = {key: OFF for key, setting in rlhf().settings.items() if setting.limit}
    large = {key: min(1e6, LIVE[key].high) for key in off}
    for library in LIBRARIES[::3]:
        use = dict(rlhf().preset(library).values)
        without, beyond = (replay(made(5), {**use, **limits}) for limits in (off, large))
        for name in ("rewards", "advantages_used", "policy_loss", "value_loss", "total_loss"):
            assert apart(without[name], beyond[name]) <= TOLERANCE, (library, name)


@pytest.mark.parametrize("library", ["trl_0.11.4", "trlx", "verl", "openrlhf"])
def test_a_part_with_the_moments_of_its_batch_is_whitened_as_the_whole(library: str) -> None:
    use: dict[str, Setting] = {**rlhf().preset(library).values, **WHITENED}
    whole = replay(made(6), use)
    rows = np.array([1, 4, 5])
    part = replay(replace(cut(made(6), rows), moments=moments_in(whole)), use)
    for name in ("rewards", "advantages_used", "returns"):
        assert apart(part[name], whole[name][rows]) <= TOLERANCE, name
    assert replay(cut(made(6), rows), use).whole["advantage.mean"] != pytest.approx(whole.whole["advantage.mean"])


def test_losses_are_shares_of_means_over_more_tokens() -> None:
    batch, use = made(6), dict(rlhf().preset("verl").values)
    tokens = float(batch.mask.sum())
    share = replay(replace(batch, share=Share(4 * tokens, 12.0, 2.0, 11.0)), use)
    assert share.whole["policy_loss"] == pytest.approx(replay(batch, use).whole["policy_loss"] / 2, rel=1e-6)
    assert share.counted("policy") == (2 * tokens, 6.0)


def test_moments_of_a_larger_batch_are_read() -> None:
    beyond = {"reward": Moments(90.0, 0.4, 70.0), "advantage": Moments(85.0, -0.2, 99.0)}
    use: dict[str, Setting] = {**rlhf().preset("openrlhf").values, **WHITENED}
    found = replay(replace(made(6), moments=beyond), use).whole
    assert (found["advantage.count"], found["reward.count"]) == (85.0, 90.0)
    assert found["advantage.mean"] == pytest.approx(-0.2, rel=1e-6)


def test_settings_that_are_off_leave_no_row() -> None:
    use = dict(rlhf().preset("trl_1.12").values)
    assert "surrogate.floor" not in EQUATIONS.under(use).rows
    assert "surrogate.floor" in EQUATIONS.under({**use, "loss.dual_clip": 3.0}).rows
