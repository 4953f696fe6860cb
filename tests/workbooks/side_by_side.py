"""Many sets of conventions of GRPO or DPO on one batch: by the definitions, all side by side, and GRPO by the page one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import torch

from blueprint.language import Axis, Block, Values, compute, needs, typed
from blueprint.language.evaluate_torch import evaluate_torch
from blueprint.language.gradient import Gradient, gradient
from blueprint.papers.libraries import grpo as page
from blueprint.workbooks.common import Choices, Switch
from blueprint.workbooks.dpo import definitions as dpo
from blueprint.workbooks.dpo.definitions import LABELS as LABELS_OF_PAIRS
from blueprint.workbooks.dpo.definitions import o as column
from blueprint.workbooks.dpo.definitions import p
from blueprint.workbooks.dpo.workbook import GIVEN, HELD, of_policy
from blueprint.workbooks.grpo import definitions as grpo
from blueprint.workbooks.grpo.definitions.rewards_and_group_advantages import LABELS, i, n, o, q, t
from blueprint.workbooks.grpo.paper import conventions
from blueprint.workbooks.grpo.workbook import CONSTANT
from blueprint.workbooks.registry import kind_named
from tests.page.workshop import Array
from tests.preference_runs import Batch as Pairs
from tests.preference_runs import log_softmax
from tests.workbooks.grpo.recorded import Batch

RUN = Axis("l", "run", start=1)
GRAD = ".grad"
MODELS = {"policy": "new", "old": "old", "reference": "ref", "engine": "rollout"}
"""By our name of a model that of the recorded runs of GRPO."""
SETTINGS: dict[str, Mapping[str, Any]] = {kind: kind_named(kind).part("settings") for kind in ("grpo", "dpo")}
Asking = Mapping[str, float | str]
"""Conventions by key; those that are left out are as by default."""
Given = dict[str, tuple[tuple[Axis, ...], Any]]
"""What everything starts from: by name along what it lies, and its numbers."""


class SideBySide:
    """All conventions at once, a member of an axis for each: the steps, what is given, and the numbers."""

    def __init__(self, kind: str, started: Given, sizes: Mapping[Axis, int], asked: Sequence[Asking]):
        """Outlines the steps; started and sizes as `of_groups` and `of_pairs` have them."""
        self.kind, self.asked, self.sizes = kind, asked, {RUN: len(asked), **sizes}
        edges = {"response.tokens": (t.last + 1,)} if kind == "grpo" else {"text.tokens": (t.first - 1,)}
        self.given = {name: typed(name, axes, edges=edges.get(name, ())) for name, (axes, _) in started.items()}
        self.numbers: dict[Block, object] = {self.given[name]: array for name, (_, array) in started.items()}
        used: dict[str, Any] = {}
        switch: dict[str, Any] = {}
        for key, setting in SETTINGS[kind].items():
            values = [each.get(key, setting.value) for each in asked]
            made = typed(key, (RUN,), key.replace(".", "_"), limit=setting.limit)
            self.numbers[made] = [setting.words.index(str(word)) for word in values] if setting.words else values
            used[key] = made[RUN]
            if setting.words:
                switch[key] = Switch(setting.words, made[RUN])
        derived, labels = (grpo.derived, LABELS) if kind == "grpo" else (dpo.derived, LABELS_OF_PAIRS)
        self.steps: Any = derived(self.given, Choices(used, switch, (RUN,), labels=labels.labels))
        self.rows: Mapping[str, Block] = self.steps.rows

    def computed(self, wanted: Iterable[Block]) -> Values:
        """Computes blocks and all that they are made of, beyond the largest number, too."""
        blocks = list(dict.fromkeys(each for made in wanted for each in _behind(made)))
        return compute(blocks, self.sizes, {block: self.numbers[block] for block in blocks if block.typed}, beyond=True)

    def row(self, values: Values, name: str, place: int) -> Array:
        """Returns a row of one of them; one that no convention moves stands there once for all."""
        block = self.rows[name]
        return np.asarray(values[block][place] if RUN in block.axes else values[block], float)

    @cached_property
    def way_back(self) -> Gradient:
        """The total of each differentiated by the log-probs."""
        known = {**self.given, **self.rows}
        declared = of_policy(known) if self.kind == "dpo" else ()
        return gradient(
            self.rows["total_loss"], [known["policy.logprobs"]], self._still, declared=declared, along=(RUN,)
        )

    @property
    def _still(self) -> list[Block]:
        known = {**self.given, **self.rows}
        return [known[name] for name in (CONSTANT if self.kind == "grpo" else (*GIVEN, *HELD)) if name in known]

    def slopes(self) -> dict[str, Array]:
        """Returns the slope of each loss by every row on the way, and by the log-prob of each token, by name, [run, …]."""
        made = [block for block in self.way_back.blocks if block.name.endswith(GRAD)]
        values, found = self.computed(made), {}
        for block in made:
            shape = (len(self.asked), *values[block].shape[RUN in block.axes :])
            found[block.name.removesuffix(GRAD)] = np.broadcast_to(values[block], shape)
        return found

    def by_autograd(self) -> dict[str, Array]:
        """Returns the slope of the sum of all losses by every row that moves, by name."""
        total = self.rows["total_loss"]
        blocks, moving = _behind(total), self.given["policy.logprobs"]
        numbers = {block: self.numbers[block] for block in blocks if block.typed}
        found = evaluate_torch(blocks, self.sizes, numbers, moving=[moving], still=self._still, beyond=True)
        return {block.name: each.numpy() for block, each in found.slopes(total).items()}


@cache
def _behind(block: Block) -> tuple[Block, ...]:
    """Lists a block and everything that it is made of."""
    found = [block]
    for each in found:
        found += [need.read for need in needs(each) if all(need.read is not known for known in found)]
    return tuple(found)


def of_groups(known: Batch, asked: Sequence[Asking]) -> SideBySide:
    """Sets conventions of GRPO side by side."""
    (count, positions), prompts, m = known.mask.shape, len(known.greedy), known.mask
    started: Given = {
        "count.prompts": ((), prompts), "count.group": ((), count // prompts), "count.responses": ((), count),
        "greedy": ((q,), known.greedy), "score": ((n,), known.rewards), "truncated": ((n,), known.truncated),
        "response.length": ((n,), m.sum(1)), "response.same": ((o, n), np.eye(count)),
        "response.is": ((q, i, o), np.eye(count).reshape(prompts, count // prompts, count)),
        "policy.entropy": ((n, t), m * known.entropy),
        "response.tokens": ((n, t), np.column_stack([m, np.zeros(count)])),
        **{f"{ours}.logprobs": ((n, t), m * known.logprobs(theirs)) for ours, theirs in MODELS.items()},
    }  # fmt: skip
    return SideBySide("grpo", started, {n: count, t: positions, q: prompts, i: count // prompts}, asked)


def started(known: Pairs, others: Pairs) -> dict[str, Array]:
    """Returns what pairs start from, by name; chosen and rejected responses stand in turn."""
    return {
        "policy.logprobs": known.logprobs("policy"), "reference.logprobs": known.logprobs("reference"),
        "policy.square": np.exp(2 * log_softmax(known.logits["policy"])).sum(-1), "response.tokens": known.tokens,
        "text.tokens": np.column_stack([np.ones(len(known.text)), known.text]), "true.reward": known.true_rewards,
        "response.chosen": np.tile([1.0, 0.0], len(known.ids) // 2), "mismatched.tokens": others.tokens,
        **{f"mismatched.{of}.logprobs": others.logprobs(of) for of in ("policy", "reference")},
    }  # fmt: skip


def of_pairs(known: Pairs, others: Pairs, asked: Sequence[Asking]) -> SideBySide:
    """Sets conventions of DPO side by side. others: each prompt with another response."""
    responses, positions = known.tokens.shape
    pairs = responses // 2
    either = np.repeat(np.eye(pairs), 2, axis=1)
    is_chosen = either * np.tile([1.0, 0.0], pairs)
    given: Given = {name: ((n, t)[: array.ndim], array) for name, array in started(known, others).items()}
    given |= {
        "count.pairs": ((), np.array(float(pairs))), "pair.chosen": ((column, n), is_chosen),
        "pair.rejected": ((column, n), either - is_chosen), "pair.either": ((column, n), either),
        "pair.same": ((column, p), np.eye(pairs)), "pair.before": ((column, p), np.triu(np.ones((pairs, pairs)), 1)),
    }  # fmt: skip
    return SideBySide("dpo", given, {n: responses, t: positions, p: pairs}, asked)


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
    how = conventions({key: setting.value for key, setting in SETTINGS["grpo"].items()} | dict(asked))
    return Paged(of, z, page.grpo(of, how))


def array(x: torch.Tensor) -> Array:
    return np.asarray(x.detach().numpy())
