"""DPO and its relatives against the libraries' own code: losses and gradients by the definitions, all runs side by side."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.inputs import settings_in
from blueprint.language import Axis, Block, Values, compute, needs, typed
from blueprint.language.gradient import gradient
from blueprint.workbooks.common import Choices, Switch
from blueprint.workbooks.dpo.backward import GIVEN, HELD, of_policy
from blueprint.workbooks.dpo.definitions.axes import n, o, p, t
from blueprint.workbooks.dpo.definitions.steps import LABELS
from blueprint.workbooks.dpo.steps import Derived, derived
from tests.workbooks.dpo.recorded import ORDER, Array, batch, log_softmax, runs

DPO = settings_in(Path(str(files("blueprint.workbooks.dpo")))).settings
RUN = Axis("l", "run", start=1)
RUNS = list(runs())


@cache
def given() -> tuple[dict[str, Block], dict[Block, object]]:
    """Makes what every run starts from, typed, and its numbers."""
    known, others = batch(), batch("kto_mismatched")
    count = len(known.tokens)
    pairs = count // 2
    is_chosen = np.tile([1.0, 0.0], pairs)
    either = np.repeat(np.eye(pairs), 2, axis=1)
    numbers: dict[str, tuple[tuple[Axis, ...], object]] = {
        "count.pairs": ((), pairs),
        "pair.chosen": ((o, n), either * is_chosen), "pair.rejected": ((o, n), either * (1 - is_chosen)),
        "pair.either": ((o, n), either), "pair.same": ((o, p), np.eye(pairs)),
        "pair.before": ((o, p), np.triu(np.ones((pairs, pairs)), 1)),
        "response.chosen": ((n,), is_chosen), "true.reward": ((n,), known.true_rewards),
        "policy.logprobs": ((n, t), known.logprobs("policy")), "reference.logprobs": ((n, t), known.logprobs("reference")),
        "policy.square": ((n, t), np.exp(2 * log_softmax(known.logits["policy"])).sum(-1)),
        "response.tokens": ((n, t), known.tokens), "mismatched.tokens": ((n, t), others.tokens),
        **{f"mismatched.{of}.logprobs": ((n, t), others.logprobs(of)) for of in ("policy", "reference")},
    }  # fmt: skip
    rows = {name: typed(name, axes) for name, (axes, _) in numbers.items()}
    rows["text.tokens"] = typed("text.tokens", (n, t), edges=(t.first - 1,))
    typed_in = {rows[name]: each for name, (_, each) in numbers.items()}
    return rows, typed_in | {rows["text.tokens"]: np.column_stack([np.ones(count), known.text])}


@cache
def outlined() -> tuple[Derived, dict[Block, object]]:
    """Outlines all runs on the batch at once, a member of an axis for each."""
    rows, numbers = given()
    numbers = dict(numbers)
    used: dict[str, Any] = {}
    switch: dict[str, Any] = {}
    for key, setting in DPO.items():
        asked = [run.conventions.get(key, setting.value) for run in RUNS]
        made = typed(key, (RUN,), key.replace(".", "_"), limit=setting.limit)
        numbers[made] = [setting.words.index(str(word)) for word in asked] if setting.words else asked
        used[key] = made[RUN]
        if setting.words:
            switch[key] = Switch(setting.words, made[RUN])
    return derived(rows, Choices(used, switch, (RUN,), labels=LABELS.labels)), numbers


def computed(wanted: Iterable[Block]) -> Values:
    """Computes blocks and all that they are made of."""
    blocks = list(dict.fromkeys(each for made in wanted for each in _behind(made)))
    _, numbers = outlined()
    sizes = {RUN: len(RUNS), n: 8, t: 8, p: 4}
    return compute(blocks, sizes, {block: numbers[block] for block in blocks if block.typed}, beyond=True)


@cache
def side_by_side() -> tuple[Derived, Values]:
    """Computes them."""
    steps, _ = outlined()
    return steps, computed(steps.rows.values())


@cache
def _behind(block: Block) -> tuple[Block, ...]:
    found = [block]
    for each in found:
        found += [need.read for need in needs(each) if all(need.read is not known for known in found)]
    return tuple(found)


@pytest.mark.parametrize("place", range(len(RUNS)), ids=[f"{run.library}-{run.variant}" for run in RUNS])
def test_the_definitions_give_what_a_library_computed(place: int) -> None:
    (steps, values), run = side_by_side(), RUNS[place]
    loss: Array = values[steps.rows["total_loss"]][place]
    assert abs(float(loss) - run.out["loss"]) <= 1e-12 * max(1.0, abs(run.out["loss"]))


GRADIENTS = [place for place, run in enumerate(RUNS) if "grad_taken" in run.out]


@cache
def slopes() -> Array:
    """The slope of each run's loss by the log-prob of each token, [run, response, position]."""
    rows, _ = given()
    steps, _ = outlined()
    held = [steps.rows[name] for name in HELD]
    constant = [rows[name] for name in GIVEN if name in rows] + held
    made = gradient(
        steps.rows["total_loss"], [rows["policy.logprobs"]], constant, declared=of_policy(steps.rows), along=(RUN,)
    )
    return np.asarray(computed(made.blocks)[made[rows["policy.logprobs"]]], float)


@pytest.mark.parametrize(
    "place", GRADIENTS, ids=[f"{RUNS[place].library}-{RUNS[place].variant}" for place in GRADIENTS]
)
def test_the_gradient_is_that_of_the_library(place: int) -> None:
    """Recorded is the slope by the logit of the token written: times 1 − p of that by its log-prob."""
    meant = np.array(RUNS[place].out["grad_taken"], float)[ORDER]
    found = slopes()[place] * (1 - np.exp(batch().logprobs("policy")))
    assert np.abs(found[:, : meant.shape[1]] - meant).max() <= 1e-11
