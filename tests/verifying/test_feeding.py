"""A minibatch in the blocks of the definitions comes to what `formulas` computes: every row that is compared, for every library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.dumps import Array, Minibatch, Moments, Share
from blueprint.inputs.catalogue import OFF
from blueprint.workbooks.rlhf_ppo.verifying.replay import replay
from blueprint.verifying.formulas.options import WORDS
from blueprint.verifying.logged import NUMBERS, PARTS, TENSORS
from blueprint.verifying.settings import Setting
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying.feeding import EQUATIONS, fed
from tests.recorded_ppo import RUNS, Run
from tests.verifying.dumps import FIRST, LIBRARIES, dump, settings
from tests.verifying.test_tiles import WHITENED, made

TOLERANCE = 1e-12
ROWS = tuple(dict.fromkeys(row for each in (*TENSORS, *NUMBERS) for row, _ in each.rows))
Change = Callable[[Array], Array]


def parting(batch: Minibatch, use: dict[str, Setting], given: tuple[str, ...] = ()) -> dict[str, float]:
    """Returns the rows that are not the same, and how far they are apart, over 1 + their size."""
    numbers = dict.fromkeys(PARTS, 0.25) if given else {}
    found = replay(batch, use, given=given, numbers=numbers)
    rows: dict[str, Any] = {**found.whole, **found.rows(range(len(batch.slots)))}
    ours, columns = fed(batch, use, given, numbers).values(ROWS), batch.mask.shape[1]
    apart = {}
    for name in ROWS:
        theirs = np.asarray(rows[name])[..., :columns] if np.ndim(rows[name]) else np.asarray(rows[name])
        with np.errstate(invalid="ignore"):
            off = np.abs(ours[name] - theirs) / (1 + np.abs(theirs))
        off = np.where((ours[name] == theirs) | (np.isnan(ours[name]) & np.isnan(theirs)), 0.0, off)
        apart[name] = float(np.max(off))
    return {name: off for name, off in apart.items() if not off < TOLERANCE}


def altered(**changes: Change) -> Minibatch:
    batch = made(5)
    return replace(batch, tensors={**batch.tensors, **{name: by(batch.tensors[name]) for name, by in changes.items()}})


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.run}-{run.variant}")
def test_a_recorded_run_comes_to_the_same(run: Run) -> None:
    assert parting(dump(run), settings(run)) == {}


@pytest.mark.parametrize("seed", range(6))
def test_any_words_and_numbers_of_presets_come_to_the_same(seed: int) -> None:
    drawn, known = np.random.default_rng(seed), rlhf()
    columns = list(known.presets.values())
    use: dict[str, Setting] = {key: columns[drawn.integers(len(columns))].values[key] for key in known.settings}
    use |= {key: str(drawn.choice(words)) for key, words in WORDS.items()}
    use |= {"ent_coef": 0.1, "loss.ratio_threshold": float(drawn.choice([1, 10]))}
    assert parting(made(seed, holes=True), use) == {}
    assert seed % 2 or parting(made(seed + 1, holes=True), use | WHITENED) == {}


EXTREMES: dict[str, Minibatch] = {
    "log-ratios of -700": altered(logprobs_new=lambda x: x - 700),
    "log-ratios of 700": altered(logprobs_new=lambda x: x + 700),
    "log-ratios beyond the largest number": altered(logprobs_new=lambda x: x + 720),
    "a reference that is far away": altered(logprobs_ref=lambda x: x + 720),
    "equal scores": altered(scores=np.ones_like),
    "scores that stand on tokens": altered(scores=lambda x: np.repeat(x[:, None], 9, axis=1)),
    "empty responses": altered(response_mask=np.zeros_like),
    "one token": altered(response_mask=lambda x: x & (np.cumsum(x, axis=1) == 1)),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_numbers_come_to_the_same(name: str) -> None:
    for library in LIBRARIES[::3]:
        assert parting(EXTREMES[name], dict(rlhf().preset(library).values)) == {}, library


def test_limits_that_are_off_come_to_the_same() -> None:
    off = {key: OFF for key, setting in rlhf().settings.items() if setting.limit}
    for library in LIBRARIES[::3]:
        assert parting(made(5), {**rlhf().preset(library).values, **off}) == {}, library


def test_moments_and_shares_of_a_larger_batch_come_to_the_same() -> None:
    beyond = {"reward": Moments(90.0, 0.4, 70.0), "advantage": Moments(85.0, -0.2, 99.0)}
    batch = replace(made(6), moments=beyond, share=Share(70.0, 12.0, 2.0, 11.0))
    for word in ("token-mean", "seq-mean-token-sum-norm", "seq-mean-token-mean"):
        for library in ("verl", "openrlhf"):
            use = {**rlhf().preset(library).values, **WHITENED, "loss.aggregation": word}
            assert parting(batch, use) == {}, (word, library)


@pytest.mark.parametrize("library", ["trl_0.11.4", "trl_1.12", "verl", "openai"])
def test_rows_of_the_file_in_the_place_of_computed_ones_come_to_the_same(library: str) -> None:
    run = FIRST[library]
    batch = dump(run)
    there = tuple(name for name in ("rewards", "advantages", "returns") if name in batch.tensors)
    for given in (there, *((name,) for name in there), (f"{there[0]}.raw",)):
        if given != ("returns.raw",):
            assert parting(batch, settings(run), given) == {}, given


def test_settings_that_are_off_leave_no_row() -> None:
    use = dict(rlhf().preset("trl_1.12").values)
    assert "surrogate.floor" not in EQUATIONS.under(use).rows
    assert "surrogate.floor" in EQUATIONS.under({**use, "loss.dual_clip": 3.0}).rows
