"""A minibatch in tiles is the minibatch as a whole: every row and number, for every library and any options."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

import torch

from blueprint.dumps import Array, Minibatch
from blueprint.verifying import replay
from blueprint.verifying.formulas.options import WORDS, Named, Spread, Tiled
from blueprint.verifying.formulas.ppo import recompute
from blueprint.verifying.settings import Setting, options_of
from blueprint.verifying.tiled_passes import FLOOR, texts_of
from blueprint.workbooks.common.conventions import rlhf
from tests.verifying.dumps import LIBRARIES

TOLERANCE = 1e-12
RESPONSES, SLOTS = 7, 9
ONE_ROW, THREE_ROWS, ALL_ROWS = SLOTS, 3 * SLOTS, 1000 * SLOTS
WHITENED: dict[str, Setting] = {"reward.whiten": "on", "whiten_advantages": "on"}
INPUTS = ("logprobs_old", "logprobs_ref", "logprobs_new", "entropy", "values_old", "values_new")


def made(seed: int, holes: bool = False) -> Minibatch:
    """Returns a minibatch of random numbers, with responses of every length, an empty one among them."""
    drawn = np.random.default_rng(seed)
    mask = np.arange(SLOTS) < np.array([9, 4, 0, 1, 8, 9, 3])[:, None]
    mask &= drawn.random(mask.shape) < (0.8 if holes else 1)
    tensors: dict[str, Array] = {name: drawn.normal(size=mask.shape) for name in INPUTS}
    tensors |= {"scores": drawn.normal(size=RESPONSES), "ended": drawn.random(RESPONSES) < 0.5, "response_mask": mask}
    slots, first = np.array([9, 9, 9, 6, 9, 9, 5]), np.zeros(RESPONSES, dtype=int)
    return Minibatch("made", tensors, dict.fromkeys(INPUTS, "float64"), {}, slots, first)


def at_once(batch: Minibatch, settings: dict[str, Setting]) -> Named:
    """Returns every row of a minibatch computed as a whole."""
    options = options_of(settings)
    return recompute(texts_of(batch, slice(None), options), options, torch.full((1,), FLOOR, dtype=torch.float64))


def parting(batch: Minibatch, settings: dict[str, Setting], tile: int) -> list[str]:
    """Lists the rows and numbers that are not the same in tiles."""
    found, whole = replay(batch, settings, tile_tokens=tile), at_once(batch, settings)
    episodes = [5, 0, 3]
    rows = found.rows(episodes)
    tiles = list(found.tiles([name for name, row in whole.items() if row.dim() == 3]))
    assert [first for first, _ in tiles] == list(range(0, RESPONSES, max(1, tile // SLOTS)))
    pairs = []
    for name, each in whole.items():
        expected = each[0].numpy()
        pairs += [(name, np.asarray(found.whole[name]), expected)] if each.dim() == 1 else []
        pairs += (
            [(name, found.responses[name], expected), (name, rows[name], expected[episodes])] if each.dim() == 2 else []
        )
        if each.dim() == 3:
            pairs += [(name, rows[name], expected[episodes])]
            pairs += [(name, np.concatenate([tile[name] for _, tile in tiles]), expected)]
    assert {name for name, _, _ in pairs} == set(whole)
    return [name for name, ours, theirs in pairs if _distance(ours, theirs) > TOLERANCE]


def _distance(ours: Array, theirs: Array) -> float:
    assert ours.shape == theirs.shape
    return float(np.abs(ours - theirs).max() / (1 + np.abs(theirs).max()))


@pytest.mark.parametrize("tile", [ONE_ROW, THREE_ROWS, ALL_ROWS])
@pytest.mark.parametrize("library", LIBRARIES)
def test_tiles_of_any_height_give_the_whole(library: str, tile: int) -> None:
    settings = dict(rlhf().preset(library).values)
    for holes in (False, True):
        assert parting(made(1, holes), settings, tile) == []
        assert parting(made(2, holes), settings | WHITENED, tile) == []


@pytest.mark.parametrize("seed", range(12))
def test_random_options_give_the_whole(seed: int) -> None:
    drawn, known = np.random.default_rng(seed), rlhf()
    columns = list(known.presets.values())
    settings: dict[str, Setting] = {key: columns[drawn.integers(len(columns))].values[key] for key in known.settings}
    settings |= {key: str(drawn.choice(words)) for key, words in WORDS.items()}
    settings |= {"ent_coef": 0.1, "loss.ratio_threshold": float(drawn.choice([1, 10]))}
    assert parting(made(seed, holes=True), settings, THREE_ROWS) == []


def test_a_tile_more_or_less_is_noticed() -> None:
    """What a tile adds to the sums matters: without the last response, numbers of the whole batch are others."""
    batch, settings = made(3), dict(rlhf().preset("trl_0.11.4").values)
    tensors = {name: each[:-1] for name, each in batch.tensors.items()}
    fewer = replay(replace(batch, tensors=tensors, slots=batch.slots[:-1]), settings, tile_tokens=ONE_ROW)
    found = replay(batch, settings, tile_tokens=ONE_ROW)
    for name in ("advantage.mean", "advantage.variance", "policy_loss", "value_loss", "ev.used", "kl.statistic"):
        assert abs(found.whole[name] - fewer.whole[name]) > 1e-6, name


def test_progress_goes_through_the_batch_as_often_as_there_are_passes() -> None:
    batch, settings = made(4), dict(rlhf().preset("trl_0.11.4").values)
    for changes, times in (({}, 2), (WHITENED, 3)):
        seen: list[int] = []
        replay(batch, {**settings, **changes}, seen.append, ONE_ROW)
        assert sum(seen) == times * batch.mask.size


def test_spreads_far_from_zero_are_joined_without_loss() -> None:
    """Σ z² − (Σ z)²/n would lose every digit here; the pairwise update of Chan, Golub and LeVeque loses none."""
    values = 1e9 + torch.randn(1, 1000, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ones, parts = torch.ones_like(values), [values[:, first : first + 7] for first in range(0, 1000, 7)]
    found = Spread.of(torch.ones_like(parts[0]), parts[0])
    for part in parts[1:]:
        found = found.joined(Spread.of(torch.ones_like(part), part))
    expected = (values - 1e9).var() * (values.numel() - 1)
    # A mean near 1e9 is only known to 1e-7, which is what may be lost here.
    assert float(found.squares) == pytest.approx(float(expected), rel=1e-7)
    naive = (values.square().sum() - values.sum().square() / ones.sum()).item()
    assert naive != pytest.approx(float(expected), rel=1e-2)


def test_sums_that_are_not_settled_are_those_of_the_tile() -> None:
    sums = Tiled()
    first, second = torch.ones(1, 2, 3), torch.full((1, 1, 3), 2.0)
    assert float(sums.total("a", first)) == 6
    assert float(sums.total("a", second)) == 6
    sums.settle(lambda name: True)
    assert float(sums.total("a", second)) == 12
