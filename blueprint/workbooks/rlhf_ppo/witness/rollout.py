"""The texts: prompts as typed, continued word after word by the old policy on the typed uniform draws.

Column t reads word t and writes word t + 1; the column before the first writes the first prompt word. A word is drawn
where u falls among the cumulative probabilities that exclude the word itself: the last v with Σ_{w<v} p_w ≤ u.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from blueprint.witness import TIE, Array, Batch, File, Named, Tie, WitnessError, block, ids
from blueprint.workbooks.rlhf_ppo.witness.models import Policy, lookup

FIXED = "rollout.response"
"""The block of a response's typed words, which not every file has."""


@dataclass(frozen=True)
class Prompts:
    """What was given: ids and where a word is given, both [F, N, 1 + T], and how many words may follow, [F, 1]."""

    ids: Tensor
    given: Tensor
    room: Tensor


def prompts(batch: Batch) -> Prompts:
    """Reads the prompts of every file. Raises WitnessError for a word that is not in its file's vocabulary."""
    found = batch.padded([typed_ids(file, "given", "the prompt") for file in batch.files], fill=-1)
    room = batch.typed("max_new_tokens")[:, None]
    return Prompts(ids=found.clamp(min=0).long(), given=(found >= 0).to(batch.dtype), room=room)


def fixed(batch: Batch) -> Tensor | None:
    """Reads the words that are typed for the responses, as ids [F, N, T], −1 where the draw decides.

    None if no file has a row for them. Raises WitnessError for a word that is not in its file's vocabulary.
    """
    if not any(FIXED in file for file in batch.files):
        return None
    found = [
        typed_ids(file, FIXED, "the response") if FIXED in file else np.full(size, -1.0)
        for file, size in zip(batch.files, batch.sizes, strict=True)
    ]
    return batch.padded(found, fill=-1).long()


def typed_ids(file: File, name: str, where: str) -> Array:
    """Returns the id of every typed word of a block, −1 where none is."""
    return ids(block(file, name), block(file, "vocabulary"), where)


@dataclass(frozen=True)
class Rollout:
    """The texts. Ids and flags have the axes [F, N, T], those with a start column [F, N, 1 + T].

    `margin` says how far each draw lies from the nearest boundary between two words. `fixed` has the ids of words that are
    written whatever is drawn, −1 where the draw decides.
    """

    written: Tensor
    mask: Tensor
    ended: Tensor
    room: Tensor
    allowed: Tensor
    drawn: Tensor
    margin: Tensor
    fixed: Tensor | None = None

    @property
    def read(self) -> Tensor:
        """Ids of the words read, [F, N, T]: what the column before wrote."""
        return self.written[:, :, :-1]


def replay(
    policy: Policy, prompts: Prompts, draws: Tensor, exists: Tensor, last: Tensor,
    temperature: Tensor | None = None, fixed: Tensor | None = None,
) -> Rollout:  # fmt: skip
    """Writes the texts word after word; `last` [F, N, T] has a 1 in the last column of a file, which writes nothing.

    A response runs up to and including the end word (id 0), or the last allowed one. After it, id 0 is read. `fixed`
    [F, N, T] has the ids of words that are written whatever is drawn, −1 where the draw decides.
    """
    folded, weights, memory = policy.folded(), policy.recurrent(), policy.start(draws.shape[1])
    written = prompts.ids[:, :, 0]
    mask = torch.zeros_like(draws[:, :, 0])
    ended, room = mask, prompts.room.expand_as(mask)
    steps = [(written, mask, ended, room, mask, written, mask)]
    for column in range(draws.shape[-1]):
        ended = torch.maximum(ended, mask * (written == 0))
        room = room - mask
        memory = torch.baddbmm(lookup(folded, written), memory, weights).tanh_()
        logits = torch.bmm(memory, policy.Y)
        drawn, margin = draw(logits if temperature is None else logits / temperature, draws[:, :, column])
        allowed = (room >= 1).to(draws.dtype) * (1 - last[:, :, column])
        mask = (1 - prompts.given[:, :, column + 1]) * (1 - ended) * allowed * exists[:, :, column]
        taken = drawn if fixed is None else fixed_or(drawn, fixed[:, :, column])
        written = prompts.ids[:, :, column + 1] + mask.long() * taken
        steps.append((written, mask, ended, room, allowed, drawn, margin))
    whole = [torch.stack(each, dim=-1) for each in zip(*steps, strict=True)]
    written, mask, ended, room, *inner = whole
    allowed, drawn, margin = (each[:, :, 1:] for each in inner)
    return Rollout(written, mask, ended, room, allowed, drawn, margin, fixed)


def fixed_or(drawn: Tensor, fixed: Tensor) -> Tensor:
    """Returns the ids that are typed, and where none is (−1) those that are drawn."""
    return torch.where(fixed >= 0, fixed, drawn)


def draw(logits: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the word on which each u [F, N] falls, and how far u is from the nearest boundary, for logits [F, N, V]."""
    cumulative = torch.softmax(logits, dim=-1).cumsum(dim=-1)
    boundaries, at = cumulative[..., :-1].contiguous(), u[..., None].contiguous()
    word = torch.searchsorted(boundaries, at, right=True).squeeze(-1)
    return word, (boundaries - at).abs().amin(dim=-1)


def rollout_rows(prompts: Prompts, rollout: Rollout) -> Named:
    """Returns the quantities of the texts by the names of their blocks; the mask also gets its end column."""
    dtype, is_end = prompts.given.dtype, (rollout.written == 0)
    mask, drawn, fixed = rollout.mask, rollout.drawn, rollout.fixed
    forced = {} if fixed is None else {"rollout.forced": fixed_or(drawn, fixed).to(dtype)}
    return {
        "is_given": prompts.given,
        "given_id": prompts.ids.to(dtype),
        "mask": torch.cat([mask, torch.zeros_like(mask[..., :1])], dim=-1),
        "rollout.read": rollout.read.to(dtype),
        "rollout.drawn": drawn.to(dtype),
        **forced,
        "rollout.room": rollout.room,
        "rollout.allowed": rollout.allowed,
        "rollout.ended": rollout.ended,
        "rollout.written": rollout.written.to(dtype),
        "rollout.is_end": is_end[..., 1:].to(dtype),
        "rollout.ends": mask * is_end,
    }


def ties(batch: Batch, rollout: Rollout) -> list[Tie]:
    """Lists the draws within 1e-9 of a boundary (2e-5 in float32)."""
    close = (rollout.margin <= TIE[batch.dtype]) & (batch.exists > 0)
    return [Tie(file, n + 1, t + 1, float(rollout.margin[file, n, t])) for file, n, t in close.nonzero().tolist()]


def words(batch: Batch, rollout: Rollout, prompts: Prompts) -> tuple[list[Array], list[Array], list[Array]]:
    """Returns the words read, the words written and the words of the response of each file; "" where none is."""
    shows = (rollout.mask + prompts.given > 0).cpu().numpy()
    shows[:, :, 0] = True  # the start column always writes: its cell is the first word of the prompt
    ids, mask = rollout.written.cpu().numpy(), rollout.mask.cpu().numpy() > 0
    written, response = [], []
    for number, (file, (episodes, decisions)) in enumerate(zip(batch.files, batch.sizes, strict=True)):
        cut = (number, slice(episodes), slice(decisions + 1))
        all_words = np.asarray(block(file, "vocabulary"), dtype=object)[ids[cut]]
        written.append(np.where(shows[cut], all_words, ""))
        response.append(np.where(mask[cut], all_words, "")[:, 1:])
    return [each[:, :-1] for each in written], written, response


def draws(batch: Batch) -> Tensor:
    """Reads the draws, [F, N, T]. Raises WitnessError for one below 0, where no word begins."""
    found = batch.typed("rollout.draw", fill=0.5)
    if bool((found < 0).any()):
        raise WitnessError(f"a draw is {float(found.min()):g}, where no word begins: write one from 0.01 to 0.99")
    return found
