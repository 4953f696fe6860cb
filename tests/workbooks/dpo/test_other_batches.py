"""Every preset and every form on pairs that no library was run on: far log-probs, equal pairs, one token, none, certain tokens.

Definitions and page give the same log-ratios, margins, losses and gradients, and autograd of the definitions the same slopes on
the way; where a library divides by 0, both have no number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

import torch

from blueprint.papers.libraries import dpo as page
from blueprint.workbooks.dpo.paper import options
from blueprint.workbooks.registry import kind_named
from tests.preference_runs import Array, Batch
from tests.workbooks.apart import distance
from tests.workbooks.side_by_side import GRAD, SETTINGS, Asking, of_pairs, started

# Both compute in double precision, in an order of their own; relative to the largest number of a row.
TOLERANCE = 1e-12
TOKENS, POSITIONS, PAIRS = 6, 7, 4
DPO = SETTINGS["dpo"]
PRESETS: dict[str, Asking] = {
    name: preset.values for name, preset in kind_named("dpo").part("presets")().presets.items()
}
FORMS: dict[str, Asking] = {
    word: {"loss.form": word, "loss.label_smoothing": 0.1, "loss.gamma": 0.3, "beta": 0.2, "loss.nll_coef": 0.1,
           "logp.of": "mean" if word == "orpo" else "sum", "reference.used": "off" if word == "orpo" else "on",
           "loss.weight": "wpo" if word in ("hinge", "robust") else "off"}
    for word in DPO["loss.form"].words
}  # fmt: skip
ASKED = PRESETS | FORMS
ROWS = (
    "policy.curved", "reference.logp", "chosen.ratio", "rejected.ratio", "margin", "loss.weighed", "nll", "preference_loss",
    "total_loss", "rewards.chosen", "rewards.margins", "rewards.accuracies",
)  # fmt: skip
SLOPE = f"policy.logprobs{GRAD}"
CHOSEN_FIRST = [*range(0, 2 * PAIRS, 2), *range(1, 2 * PAIRS, 2)]
"""Rows as the page has them; here the two of a pair stand in turn."""


def drawn(
    *,
    lengths: Sequence[int] = (),
    prompt: int = 2,
    same: int = 0,
    far: float = 0,
    sure: float = 1,
    start: bool = False,
    seed: int = 0,
) -> Batch:
    """Draws pairs of responses to prompts of equal length.

    same: how many tokens of the response are those of the other one, with the same logits. far: by how much log-probs of the
    policy, and of the reference, fall, in turn. sure: what logits are multiplied by. start: policy and reference are the same.
    """
    rng, rows = np.random.default_rng(seed), 2 * PAIRS
    n = np.array(lengths) if lengths else rng.integers(1, POSITIONS - prompt + 1, rows)
    ids, z = rng.integers(0, TOKENS, (rows, POSITIONS)), rng.normal(size=(rows, POSITIONS, TOKENS))
    shared = prompt + same
    ids[1::2, :shared], z[1::2, :shared] = ids[::2, :shared], z[::2, :shared]
    moved = 0.0 if start else 0.5 * rng.normal(size=z.shape)
    logits = {"policy": sure * z, "reference": sure * (z + moved)}
    for row, at in np.ndindex(rows, POSITIONS):
        logits["policy" if (row + at) % 2 else "reference"][row, at, ids[row, at]] -= far
    place = np.arange(POSITIONS)
    tokens = ((place >= prompt) & (place < prompt + n[:, None])).astype(float)
    text = (place < prompt + n[:, None]).astype(float)
    return Batch(ids, tokens, text, logits, rng.normal(size=rows))


def almost_certain() -> Batch:
    """Makes responses whose tokens the policy writes with a probability so near to 1 that e^A is 1, though A is below 0."""
    known = drawn(sure=1000, lengths=[5, 1, 5, 5, 1, 5, 1, 1])
    near = np.where(np.arange(POSITIONS) == 2, 37.5, 60.0)[None, :, None]
    written = np.eye(TOKENS)[known.ids]
    return known._replace(logits={**known.logits, "policy": near * (written - 1)})


BATCHES: dict[str, Callable[[], Batch]] = {
    "log-ratios of 20 a token": partial(drawn, far=20),
    "log-ratios of 700": partial(drawn, far=700, lengths=[1] * 8, prompt=0),
    "policy and reference the same": partial(drawn, start=True),
    "equal pairs, identical prefixes, none": partial(drawn, same=2, lengths=[2, 2, 1, 1, 5, 3, 0, 4]),
    "certain tokens": partial(drawn, sure=1000),
    "almost certain tokens": almost_certain,
}


NO_NUMBER = {
    "equal pairs, identical prefixes, none": {  # a mean of no token, without a reference
        "trl_1.16_orpo", "trl_1.16_cpo", "simpo", "orpo", "halos_simpo", "open_instruct_simpo",
    },
    "almost certain tokens": {"trl_1.16_orpo", "orpo", "axolotl_orpo", "halos_simpo"},  # a response that is certain after all
}  # fmt: skip
"""Presets and forms that have no loss, as the libraries have none there: see `test_no_number`."""


def by_definitions(known: Batch, asked: Sequence[Asking]) -> list[dict[str, Array]]:
    """Returns the rows that are compared, for each set of conventions."""
    beside = of_pairs(known, drawn(seed=9), asked)
    values, slopes = beside.computed(beside.rows[name] for name in ROWS), beside.slopes()
    return [
        {name: beside.row(values, name, at) for name in ROWS} | {SLOPE: slopes["policy.logprobs"][at]}
        for at in range(len(asked))
    ]


UNSURE = {("almost certain tokens", "aot"), ("almost certain tokens", "aot_unpaired")}
"""Where rounding alone says which of two margins is the larger, and so which pair has the slope."""


def by_page(known: Batch, asked: Asking) -> dict[str, Array]:
    """Returns the same of one set, from the page."""
    others = started(known, drawn(seed=9))
    far = (
        others["mismatched.tokens"] * (others["mismatched.policy.logprobs"] - others["mismatched.reference.logprobs"])
    ).sum(1)
    first = {name: torch.tensor(each[CHOSEN_FIRST]) for name, each in {**others, "far": far}.items()}
    logp = first["policy.logprobs"].requires_grad_()
    batch = page.Batch(
        logp, first["reference.logprobs"], first["response.tokens"] == 1, first["text.tokens"][:, 1:] == 1,
        first["policy.square"].log(), first["far"], first["true.reward"],
    )  # fmt: skip
    use = options({key: each.value for key, each in DPO.items()} | dict(asked))
    found, back = page.dpo(batch, use), np.argsort(CHOSEN_FIRST)
    (slope,) = torch.autograd.grad(found.loss, logp, allow_unused=True, materialize_grads=True)
    chosen, rejected = found.ratio.chunk(2)
    rows = (
        found.logp[back], found.logp_ref[back], chosen, rejected, found.margin, found.losses, found.nll, found.preference_loss,
        found.loss, found.mean_rewards[0], found.mean_margin, found.accuracy,
    )  # fmt: skip
    return dict(zip((*ROWS, SLOPE), (each.detach().numpy() for each in (*rows, slope[back])), strict=True))


def agree(known: Batch, of: dict[str, Asking], lost: Collection[str] = (), name: str = "") -> None:
    """Asserts that both give finite losses, but of what is lost, and the same of every row."""
    for (which, asked), ours in zip(of.items(), by_definitions(known, [*of.values()]), strict=True):
        theirs = by_page(known, asked)
        assert np.isfinite(ours["total_loss"]) == (which not in lost), which
        assert np.isfinite(theirs["total_loss"]) == (which not in lost), which
        if which in lost:
            continue
        apart = {row: distance(theirs[row], ours[row]) for row in ours if (name, which) not in UNSURE or row != SLOPE}
        assert {row: each for row, each in apart.items() if not each <= TOLERANCE} == {}, which


@pytest.mark.parametrize("name", BATCHES)
def test_definitions_and_page_agree_for_every_preset_and_form(name: str) -> None:
    agree(BATCHES[name](), ASKED, NO_NUMBER.get(name, ()), name)


@pytest.mark.parametrize("name", BATCHES)
def test_every_slope_on_the_way_is_as_autograd_has_it(name: str) -> None:
    """Of all presets and forms that have a loss; what is no number on the way to one that is not asked for, both have not."""
    asked = {which: each for which, each in ASKED.items() if which not in NO_NUMBER.get(name, ())}
    beside = of_pairs(BATCHES[name](), drawn(seed=9), [*asked.values()])
    ours, theirs = beside.slopes(), beside.by_autograd()
    shared = {row for row in ours.keys() & theirs.keys() if theirs[row].shape == ours[row].shape}
    assert len(shared) > 60
    sure = [at for at, which in enumerate(asked) if (name, which) not in UNSURE]
    far = {row: distance(theirs[row][sure], ours[row][sure]) for row in shared}
    assert {row: each for row, each in far.items() if not each <= TOLERANCE} == {}


def mixed(seed: int) -> Asking:
    """Draws any word for every convention, and a number near its default."""
    rng, found = np.random.default_rng(seed), dict[str, float | str]()
    for key, setting in DPO.items():
        if setting.words:
            found[key] = str(rng.choice(setting.words))
        else:
            usual = float(setting.value) if np.isfinite(float(setting.value)) else 0.02
            found[key] = max(setting.low or 0, usual or 0.2) * (1 + 0.5 * rng.random())
    return found


def test_definitions_and_page_agree_for_mixed_conventions() -> None:
    agree(drawn(seed=3), {f"mixed {seed}": mixed(seed) for seed in range(24)})
