"""GRPO and its family against the libraries' own code: the definitions, all runs side by side, and the witness, run by run."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pytest

from blueprint.language import Axis, Block, Values, compute, needs, typed
from blueprint.workbooks.common import Choices, Switch
from blueprint.workbooks.grpo.definitions.axes import i, n, o, q, t
from blueprint.workbooks.grpo.definitions.steps import LABELS
from blueprint.workbooks.grpo.schema import GRPO
from blueprint.workbooks.grpo.steps import Derived, derived
from tests.workbooks.grpo.recorded import APART, Array, Run, batch, off, recorded_file, runs

RUN = Axis("l", "run", start=1)
RUNS = list(runs())
PLAIN = [run for run in RUNS if (run.reference, run.old) == ("ref", "old")]


def given() -> tuple[dict[str, Block], dict[Block, object]]:
    """Makes what every run starts from, typed, and its numbers."""
    known, along = (
        batch(),
        {"count.prompts": (), "count.group": (), "count.responses": (), "greedy": (q,), "score": (n,)},
    )
    along |= {"truncated": (n,), "response.length": (n,), "response.is": (q, i, o), "response.same": (o, n)}
    along |= dict.fromkeys(
        ("policy.logprobs", "old.logprobs", "reference.logprobs", "engine.logprobs", "policy.entropy"), (n, t)
    )
    rows = {name: typed(name, axes) for name, axes in along.items()}
    rows["response.tokens"] = typed("response.tokens", (n, t), edges=(t.last + 1,))
    count = len(known.rewards)
    numbers: dict[str, object] = {
        "count.prompts": 3, "count.group": 4, "count.responses": count, "greedy": known.greedy, "score": known.rewards,
        "truncated": known.truncated, "response.length": known.mask.sum(1), "response.same": np.eye(count),
        "response.is": np.eye(count).reshape(3, 4, count), "policy.entropy": known.entropy,
        "response.tokens": np.column_stack([known.mask, np.zeros(count)]),
        **{f"{ours}.logprobs": known.logprobs(theirs) for ours, theirs in
           (("policy", "new"), ("old", "old"), ("reference", "ref"), ("engine", "rollout"))},
    }  # fmt: skip
    return rows, {rows[name]: each for name, each in numbers.items()}


@cache
def outlined() -> tuple[Derived, dict[str, Block], dict[Block, object]]:
    """Outlines all runs on the batch at once, a member of an axis for each: the steps, what is given, and the numbers."""
    rows, numbers = given()
    used: dict[str, Any] = {}
    switch: dict[str, Any] = {}
    for key, setting in GRPO.items():
        asked = [run.conventions.get(key, setting.value) for run in PLAIN]
        made = typed(key, (RUN,), key.replace(".", "_"), limit=setting.limit)
        numbers[made] = [setting.words.index(str(word)) for word in asked] if setting.words else asked
        used[key] = made[RUN]
        if setting.words:
            switch[key] = Switch(setting.words, made[RUN])
    return derived(rows, Choices(used, switch, (RUN,), labels=LABELS.labels)), rows, numbers


@cache
def side_by_side() -> tuple[Derived, Values]:
    """Computes them."""
    steps, _, numbers = outlined()
    return steps, computed(steps.rows.values(), numbers)


def computed(wanted: Iterable[Block], numbers: dict[Block, object]) -> Values:
    """Computes blocks and all that they are made of."""
    blocks = list(dict.fromkeys(each for made in wanted for each in _behind(made)))
    sizes = {RUN: len(PLAIN), n: 12, t: 6, q: 3, i: 4}
    return compute(blocks, sizes, {block: numbers[block] for block in blocks if block.typed}, beyond=True)


@cache
def _behind(block: Block) -> tuple[Block, ...]:
    """Lists a block and everything that it is made of."""
    found = [block]
    for each in found:
        found += [need.read for need in needs(each) if all(need.read is not known for known in found)]
    return tuple(found)


def test_every_recorded_run_is_one_of_ours_or_says_why_not() -> None:
    every = {
        f"{name} {variant}"
        for name, each in recorded_file("critic_free_runs.json")["runs"].items()
        for variant in each["variants"]
    }
    assert len(every) == 296
    assert every - {f"{run.library} {run.variant}" for run in RUNS} == set(APART)


@pytest.mark.parametrize("place", range(len(PLAIN)), ids=[f"{run.library}-{run.variant}" for run in PLAIN])
def test_the_definitions_give_what_a_library_computed(place: int) -> None:
    (steps, values), run = side_by_side(), PLAIN[place]
    ours: dict[str, Array] = {
        name: values[steps.rows[name]][place] for name in ("advantages", "ratio", "total_loss", "gmpo.ratio")
    }
    seen = {"advantages": ours["advantages"], "ratio": _ratio(run, ours), "loss": ours["total_loss"]}
    compared = {name: off(each, run.out[name], batch().mask) for name, each in seen.items() if name in run.out}
    assert compared, "a run without a number that is compared"
    assert max(compared.values()) <= run.tolerance, compared


def _ratio(run: Run, ours: dict[str, Array]) -> Array:
    """Returns what a library calls its ratio: by REINFORCE NeMo-RL logs the log-prob, by GMPO verl the geometric mean."""
    match run.conventions["loss.objective"]:
        case "reinforce":
            return batch().logprobs("new")
        case "gmpo":
            return np.repeat(ours["gmpo.ratio"][:, None], 6, axis=1)
    return ours["ratio"]
