"""What a dump of a step of GRPO is to us: responses in their groups, and what the library said about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blueprint.dumps import Array, Minibatch

TOLD = "as the file says"
"""How groups were told that the file itself names."""


@dataclass(frozen=True)
class GroupedStep(Minibatch):
    """A dump of a step of GRPO, or of a part of one: rows are responses, those to a prompt are a group.

    tensors: those of a `Minibatch`, and as far as the file has them `group` (whole numbers, [B], the same for the responses to a
        prompt), `greedy` ([B]), `truncated` ([B], 1 or 0), `ratio`, `token_loss` and `kl_new` ([B, T]).
    each: how many responses a prompt has, as the file says, else None. by: how the groups were told, in words.
    unsure: the share of the tokens, those of most entropy, that the policy loss counts. weights: of a file whose reward functions
        are each normalised within the group before they are added up, their weights; its tensor `rewards_per_func`, [B, K], has
        what they said. unknown: what of other files decides which tokens count, and is not there.
    """

    each: int | None = None
    by: str = ""
    unsure: float = 1.0
    weights: tuple[float, ...] = ()
    unknown: str = ""

    kind = "grpo"

    @property
    def groups(self) -> Array | None:
        """Which group each response is of, [B], from 0 in the order in which they appear; None where nothing tells."""
        if "group" not in self.tensors:
            return None
        _, first, inverse = np.unique(self.tensors["group"], return_index=True, return_inverse=True)
        return np.asarray(first.argsort().argsort()[inverse])

    def some(self, rows: Array) -> GroupedStep:
        """Returns some of the responses, by their places, or where rows, [B], is true."""
        every = np.arange(len(self.mask)) if self.rows is None else np.asarray(self.rows)
        tensors = {name: array[rows] for name, array in self.tensors.items()}
        return replace(self, tensors=tensors, slots=self.slots[rows], first=self.first[rows], rows=every[rows])

    @property
    def sizes(self) -> Array:
        """How many responses of each group are here."""
        groups = self.groups
        return np.bincount(groups) if groups is not None else np.empty(0, np.int64)

    @property
    def lacks(self) -> str:
        """Says what keeps groups from being compared: "" where they are whole."""
        sizes = self.sizes
        if not len(sizes):
            return "group (which prompt each response answers)"
        uneven = self.each is None and self.by == TOLD and not self._divided  # the file itself says which are a group
        whole = self.each or (2 if uneven else max(2, int(sizes.max())))
        few = int((sizes < whole).sum())
        return f"the other responses of {few} of {len(sizes)} group{'s' * (len(sizes) > 1)}" if few else ""

    @property
    def _divided(self) -> bool:
        """Whether the file says that it is a part of its step."""
        counts = () if self.place is None else (self.place.world_size, self.place.minibatches, self.place.microbatches)
        return any((each or 1) > 1 for each in counts)

    @property
    def head(self) -> str:
        """Says how many responses and groups there are."""
        sizes = self.sizes
        if not len(sizes):
            return f"A step of GRPO: {len(self.mask)} responses, in groups that nothing tells."
        s = "s" * (len(sizes) > 1)
        many = f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()} to {sizes.max()}"
        return (
            f"A step of GRPO: {len(self.mask)} responses to {len(sizes)} prompt{s}, {many} to each; groups {self.by}."
        )

    @property
    def facts(self) -> Mapping[str, Any]:
        """Says how many responses and groups there are."""
        return {"responses": len(self.mask), "groups": len(self.sizes), "group_sizes": sorted(set(self.sizes.tolist()))}
