"""A window on a minibatch: what is typed in it, the conventions in use, and where each response goes on behind it."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from blueprint.witness.batch import Batch, Rows
from blueprint.witness.conventions import NUMBERS, WORDS, Options, Texts
from blueprint.witness.conventions.places import place_rows, response_rows
from blueprint.witness.live.rows import mask_of
from blueprint.witness.models import Named
from blueprint.workbooks.minibatch.witness.kind import kind_of


class Window:
    """What is known of files of one kind and shape: what is typed, and what was computed of it so far."""

    def __init__(self, batch: Batch, rows: Rows) -> None:
        """Reads what is typed. Raises WitnessError for a mask other than 0 and 1, or a row that is not there."""
        self.batch, self.kind = batch, kind_of(batch.files[0])
        self.mask, self.slots = mask_of(batch), batch.typed("slots")
        self._rows, self._known = rows, {name: batch.typed(name) for name in self.kind.typed}
        self.options = Options({name: batch.setting(name) for name in (*NUMBERS, *WORDS) if name in batch.settings[0]})
        self.texts = self._texts()

    def __getitem__(self, name: str) -> Tensor:
        """Returns a quantity that is typed, or was computed before."""
        return self._known[name]

    def __contains__(self, name: str) -> bool:
        """Returns whether a quantity is known."""
        return name in self._known

    def add(self, found: Named) -> None:
        """Takes quantities that were computed: [F], [F, N] or [F, N, T (and edges)]."""
        self._known |= found
        self._rows.add(found)

    def _texts(self) -> Texts:
        """Returns the inputs of the conventions in the columns of the window, [F, N, T]; 0 for what a file has not."""
        nothing, known = torch.zeros_like(self.mask), self._known
        return Texts(
            slots=self.slots[..., :-1],
            mask=self.mask,
            old_logprobs=known["old.logprobs"],
            reference_logprobs=known["reference.logprobs"],
            logprobs=known["policy.logprobs"],
            kl_old_reference=nothing,
            kl_new_reference=nothing,
            kl_old_new=nothing,
            entropy=known.get("policy.entropy", nothing),
            old_values=known.get("old_critic.values", nothing),
            values=known.get("critic.values", nothing),
            score=known.get("score.given", nothing[..., 0]),
            ended=known["response.ended"],
        )


def add_places(window: Window) -> None:
    """Adds where each response ends, what counts as response and what is kept.

    The column behind the last one is looked at too: a response that goes on there ends in no column of the window.
    """
    behind = window["after.words"][..., None]
    wider = replace(window.texts, slots=window.slots, mask=torch.cat([window.mask, behind], dim=-1))
    rows = place_rows(wider)
    rows |= {
        name: each for name, each in response_rows(wider, rows, window.options).items() if name in ("response", "kept")
    }
    window.add({name: each[..., :-1] for name, each in rows.items()})
