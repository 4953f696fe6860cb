"""Many sets of conventions on one batch: by the definitions, all side by side, and by the page of libraries, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch

from blueprint.language import Axis, Block, Values, compute, needs, typed
from blueprint.language.gradient import Gradient, gradient
from blueprint.papers.libraries import grpo as page
from blueprint.workbooks.common import Choices, Switch
from blueprint.workbooks.grpo.definitions import Derived, derived
from blueprint.workbooks.grpo.definitions.group_advantages import LABELS, i, n, o, q, t
from blueprint.workbooks.grpo.paper import conventions
from blueprint.workbooks.grpo.schema import GRPO
from blueprint.workbooks.grpo.workbook import CONSTANT
from tests.workbooks.grpo.recorded import Array, Batch

RUN = Axis("l", "run", start=1)
MODELS = {"policy": "new", "old": "old", "reference": "ref", "engine": "rollout"}
"""By our name of a model that of the recorded runs."""
Asking = Mapping[str, float | str]
"""Conventions by key; those that are left out are as by default."""


class SideBySide:
    """All conventions at once, a member of an axis for each: the steps, what is given, and the numbers."""

    def __init__(self, known: Batch, asked: Sequence[Asking]):
        self.asked, (self.given, self.numbers) = asked, _given(known)
        self.sizes = {RUN: len(asked), **_sizes(known)}
        used: dict[str, Any] = {}
        switch: dict[str, Any] = {}
        for key, setting in GRPO.items():
            values = [each.get(key, setting.value) for each in asked]
            made = typed(key, (RUN,), key.replace(".", "_"), limit=setting.limit)
            self.numbers[made] = [setting.words.index(str(word)) for word in values] if setting.words else values
            used[key] = made[RUN]
            if setting.words:
                switch[key] = Switch(setting.words, made[RUN])
        self.steps: Derived = derived(self.given, Choices(used, switch, (RUN,), labels=LABELS.labels))

    def computed(self, wanted: Iterable[Block], numbers: dict[Block, object] | None = None) -> Values:
        """Computes blocks and all that they are made of, beyond the largest number, too."""
        known = numbers or self.numbers
        blocks = list(dict.fromkeys(each for made in wanted for each in _behind(made)))
        return compute(blocks, self.sizes, {block: known[block] for block in blocks if block.typed}, beyond=True)

    def row(self, values: Values, name: str, place: int) -> Array:
        """Returns a row of one of them; one that no convention moves stands there once for all."""
        block = self.steps.rows[name]
        return np.asarray(values[block][place] if RUN in block.axes else values[block], float)

    def gradient(self) -> Gradient:
        """Differentiates the total of each by the log-probs."""
        known = {**self.given, **self.steps.rows}
        constant = [known[name] for name in CONSTANT if name in known]
        return gradient(self.steps.total.total.block, [known["policy.logprobs"]], constant, along=(RUN,))


def _sizes(known: Batch) -> dict[Axis, int]:
    (responses, positions), prompts = known.mask.shape, len(known.greedy)
    return {n: responses, t: positions, q: prompts, i: responses // prompts}


def _given(known: Batch) -> tuple[dict[str, Block], dict[Block, object]]:
    """Makes what everything starts from, typed, and its numbers."""
    along = {"count.prompts": (), "count.group": (), "count.responses": (), "greedy": (q,), "score": (n,)}
    along |= {"truncated": (n,), "response.length": (n,), "response.is": (q, i, o), "response.same": (o, n)}
    along |= dict.fromkeys((*(f"{name}.logprobs" for name in MODELS), "policy.entropy"), (n, t))
    rows = {name: typed(name, axes) for name, axes in along.items()}
    rows["response.tokens"] = typed("response.tokens", (n, t), edges=(t.last + 1,))
    count, prompts, m = len(known.rewards), len(known.greedy), known.mask
    numbers: dict[str, object] = {
        "count.prompts": prompts, "count.group": count // prompts, "count.responses": count, "greedy": known.greedy,
        "score": known.rewards, "truncated": known.truncated, "response.length": m.sum(1), "response.same": np.eye(count),
        "response.is": np.eye(count).reshape(prompts, count // prompts, count), "policy.entropy": m * known.entropy,
        "response.tokens": np.column_stack([m, np.zeros(count)]),
        **{f"{ours}.logprobs": m * known.logprobs(theirs) for ours, theirs in MODELS.items()},
    }  # fmt: skip
    return rows, {rows[name]: each for name, each in numbers.items()}


@cache
def _behind(block: Block) -> tuple[Block, ...]:
    """Lists a block and everything that it is made of."""
    found = [block]
    for each in found:
        found += [need.read for need in needs(each) if all(need.read is not known for known in found)]
    return tuple(found)


class Paged(NamedTuple):
    """The batch as the page takes it, the policy's logits below its log-probs, and what the page makes of both."""

    of: page.Batch
    logits: torch.Tensor
    found: page.CriticFree


def paged(known: Batch, asked: Asking, reference: str = "ref", old: str = "old") -> Paged:
    """Runs the page on a batch; log-probs and logits of the policy keep their gradients."""
    tokens, prompts = torch.tensor(known.tokens), len(known.greedy)
    logits = {name: torch.tensor(each, dtype=torch.float64) for name, each in known.logits.items()}
    z = logits["new"].requires_grad_()
    said = {name: page.log_probs(each, tokens) for name, each in logits.items()}
    ref, below, engine = (said[name].detach() for name in (reference, old, "rollout"))
    scores, cut, greedy, mask = (
        torch.tensor(each) for each in (known.rewards, known.truncated, known.greedy, known.mask)
    )
    group = torch.arange(prompts).repeat_interleave(len(scores) // prompts)
    of = page.Batch(
        scores, group, greedy[group], cut == 1, mask == 1, said["new"], below, ref, engine, page.entropies(z),
    )  # fmt: skip
    how = conventions({key: setting.value for key, setting in GRPO.items()} | dict(asked))
    return Paged(of, z, page.grpo(of, how))


def array(x: torch.Tensor) -> Array:
    return np.asarray(x.detach().numpy())
