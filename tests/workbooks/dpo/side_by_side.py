"""Many sets of conventions on one batch of pairs: by the definitions, all side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.inputs import settings_in
from blueprint.language import Axis, Block, Values, compute, needs, typed
from blueprint.language.evaluate_torch import evaluate_torch
from blueprint.language.gradient import Gradient, gradient
from blueprint.workbooks.common import Choices, Switch
from blueprint.workbooks.dpo.definitions import Derived, derived
from blueprint.workbooks.dpo.definitions.logprobs import LABELS, n, o, p, t
from blueprint.workbooks.dpo.workbook import GIVEN, HELD, of_policy
from tests.preference_runs import Array, Batch, log_softmax

DPO = settings_in(Path(str(files("blueprint.workbooks.dpo")))).settings
GRAD = ".grad"
RUN = Axis("l", "run", start=1)
Asking = Mapping[str, float | str]
"""Conventions by key; those that are left out are as by default."""


def started(known: Batch, others: Batch) -> dict[str, Array]:
    """Returns what everything starts from, by name; chosen and rejected responses stand in turn."""
    return {
        "policy.logprobs": known.logprobs("policy"), "reference.logprobs": known.logprobs("reference"),
        "policy.square": np.exp(2 * log_softmax(known.logits["policy"])).sum(-1), "response.tokens": known.tokens,
        "text.tokens": np.column_stack([np.ones(len(known.text)), known.text]), "true.reward": known.true_rewards,
        "response.chosen": np.tile([1.0, 0.0], len(known.ids) // 2), "mismatched.tokens": others.tokens,
        **{f"mismatched.{of}.logprobs": others.logprobs(of) for of in ("policy", "reference")},
    }  # fmt: skip


def paired(pairs: int) -> dict[str, tuple[tuple[Axis, ...], Array]]:
    """Returns which response belongs to which pair, and along what that lies."""
    either = np.repeat(np.eye(pairs), 2, axis=1)
    is_chosen = either * np.tile([1.0, 0.0], pairs)
    return {
        "count.pairs": ((), np.array(float(pairs))), "pair.chosen": ((o, n), is_chosen),
        "pair.rejected": ((o, n), either - is_chosen),
        "pair.either": ((o, n), either), "pair.same": ((o, p), np.eye(pairs)),
        "pair.before": ((o, p), np.triu(np.ones((pairs, pairs)), 1)),
    }  # fmt: skip


class SideBySide:
    """All conventions at once, a member of an axis for each: the steps, what is given, and the numbers."""

    def __init__(self, known: Batch, others: Batch, asked: Sequence[Asking]):
        """Outlines the steps; others: each prompt with another response."""
        responses, positions = known.tokens.shape
        self.asked, self.sizes = asked, {RUN: len(asked), n: responses, t: positions, p: responses // 2}
        self.given: dict[str, Block] = {}
        self.numbers: dict[Block, object] = {}
        for name, array in started(known, others).items():
            self._give(name, (n, t)[: array.ndim], array)
        for name, (axes, array) in paired(responses // 2).items():
            self._give(name, axes, array)
        used, switch = self._conventions()
        self.steps: Derived = derived(self.given, Choices(used, switch, (RUN,), labels=LABELS.labels))

    def _give(self, name: str, axes: tuple[Axis, ...], array: Array) -> None:
        edges = (t.first - 1,) if name == "text.tokens" else ()
        self.given[name] = typed(name, axes, edges=edges)
        self.numbers[self.given[name]] = array

    def _conventions(self) -> tuple[dict[str, Any], dict[str, Any]]:
        used: dict[str, Any] = {}
        switch: dict[str, Any] = {}
        for key, setting in DPO.items():
            values = [each.get(key, setting.value) for each in self.asked]
            made = typed(key, (RUN,), key.replace(".", "_"), limit=setting.limit)
            self.numbers[made] = [setting.words.index(str(word)) for word in values] if setting.words else values
            used[key] = made[RUN]
            if setting.words:
                switch[key] = Switch(setting.words, made[RUN])
        return used, switch

    def computed(self, wanted: Iterable[Block]) -> Values:
        """Computes blocks and all that they are made of, beyond the largest number, too."""
        blocks = list(dict.fromkeys(each for made in wanted for each in _behind(made)))
        return compute(blocks, self.sizes, {block: self.numbers[block] for block in blocks if block.typed}, beyond=True)

    def row(self, values: Values, name: str, place: int) -> Array:
        """Returns a row of one of them; one that no convention moves stands there once for all."""
        block = self.steps.rows[name]
        return np.asarray(values[block][place] if RUN in block.axes else values[block], float)

    @cached_property
    def way_back(self) -> Gradient:
        """The total of each differentiated by the log-probs."""
        known = {**self.given, **self.steps.rows}
        constant = [known[name] for name in (*GIVEN, *HELD) if name in known]
        return gradient(
            self.steps.rows["total_loss"], [known["policy.logprobs"]], constant, declared=of_policy(known), along=(RUN,)
        )

    def slopes(self) -> dict[str, Array]:
        """Returns the slope of each loss by every row on the way, and by the log-prob of each token, by name, [run, …]."""
        made = [block for block in self.way_back.blocks if block.name.endswith(GRAD)]
        values = self.computed(made)
        return {
            block.name.removesuffix(GRAD): np.broadcast_to(
                values[block], (len(self.asked), *values[block].shape[RUN in block.axes :])
            )
            for block in made
        }

    def by_autograd(self) -> dict[str, Array]:
        """Returns the slope of the sum of all losses by every row that moves, by name."""
        total, known = self.steps.rows["total_loss"], {**self.given, **self.steps.rows}
        blocks = _behind(total)
        moving, still = known["policy.logprobs"], [known[name] for name in (*GIVEN, *HELD) if name in known]
        numbers = {block: self.numbers[block] for block in blocks if block.typed}
        found = evaluate_torch(blocks, self.sizes, numbers, moving=[moving], still=still, beyond=True)
        return {block.name: each.numpy() for block, each in found.slopes(total).items()}


@cache
def _behind(block: Block) -> tuple[Block, ...]:
    """Lists a block and everything that it is made of."""
    found = [block]
    for each in found:
        found += [need.read for need in needs(each) if all(need.read is not known for known in found)]
    return tuple(found)
