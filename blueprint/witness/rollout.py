"""The texts: prompts as typed, continued token after token by the old policy on the typed uniform draws.

Column t reads token t and writes token t + 1; the column before the first writes the first token of the prompt. A token is
drawn where u falls among the cumulative probabilities that exclude the token itself: the last v with Σ_{w<v} p_w ≤ u.
"""

import numpy as np
import torch

from blueprint.witness.batch import Batch, Rows
from blueprint.witness.device import TIE, Tie
from blueprint.witness.networks import at_start, lookup, step_weights
from blueprint.witness.settings import Array, File, WitnessError, block, ids
from blueprint.witness.tensors import Held, Named, with_end, with_start

FIXED = "rollout.response"
"""The block of a response's typed tokens, which not every file has."""


def prompt_rows(batch: Batch) -> Named:
    """Reads the prompts: ids and where a token is given, [F, N, 1 + T]. Raises WitnessError for one not in the vocabulary."""
    found = batch.padded([typed_ids(file, "given", "the prompt") for file in batch.files], fill=-1)
    return {"is_given": (found >= 0).to(batch.dtype), "given_id": found.clamp(min=0)}


def fixed(batch: Batch) -> torch.Tensor | None:
    """Reads the tokens that are typed for the responses, as ids [F, N, T], −1 where the draw decides.

    None if no file has a row for them. Raises WitnessError for a token that is not in its file's vocabulary.
    """
    if not any(FIXED in file for file in batch.files):
        return None
    found = [
        typed_ids(file, FIXED, "the response") if FIXED in file else np.full(size, -1.0)
        for file, size in zip(batch.files, batch.sizes, strict=True)
    ]
    return batch.padded(found, fill=-1).long()


def typed_ids(file: File, name: str, where: str) -> Array:
    """Returns the id of every typed token of a block, −1 where none is."""
    return ids(block(file, name), block(file, "vocabulary"), where)


def draws(batch: Batch) -> torch.Tensor:
    """Reads the draws, [F, N, T]. Raises WitnessError for one below 0, where no token begins."""
    found = batch.typed("rollout.draw", fill=0.5)
    if bool((found < 0).any()):
        raise WitnessError(f"a draw is {float(found.min()):g}, where no token begins: write one from 0.01 to 0.99")
    return found


def replay(batch: Batch, policy: Held, prompts: Held, temperature: torch.Tensor) -> tuple[Named, list[Tie]]:
    """Writes the texts token after token; returns the quantities of the texts, and the draws that are ties.

    Ids and flags have the axes [F, N, T], those with a start column [F, N, 1 + T]. A response runs up to and including the
    end token (id 0), or the last allowed one; the last column of a file writes nothing. After it, id 0 is read.
    """
    u, forced, exists = draws(batch), fixed(batch), batch.exists
    given, given_id = prompts["is_given"], prompts["given_id"].long()
    last = exists - torch.nn.functional.pad(exists[..., 1:], (0, 1))
    adds, weights = step_weights(policy)
    memory, written, mask = at_start(weights, u.shape[1]), given_id[..., 0], torch.zeros_like(u[..., 0])
    ended, room = mask, batch.typed("max_new_tokens")[:, None].expand_as(mask)
    steps = [(written, mask, ended, room, mask, written, mask)]
    for column in range(u.shape[-1]):
        ended = torch.maximum(ended, mask * (written == 0))
        room = room - mask
        memory = torch.baddbmm(lookup(adds, written), memory, weights).tanh_()
        drawn, margin = draw(torch.bmm(memory, policy["Y"]) / temperature, u[..., column])
        allowed = (room >= 1).to(u.dtype) * (1 - last[..., column])
        mask = (1 - given[..., column + 1]) * (1 - ended) * allowed * exists[..., column]
        token = drawn if forced is None else torch.where(forced[..., column] >= 0, forced[..., column], drawn)
        written = given_id[..., column + 1] + mask.long() * token
        steps.append((written, mask, ended, room, allowed, drawn, margin))
    written, mask, ended, room, *inner = (torch.stack(each, dim=-1) for each in zip(*steps, strict=True))
    allowed, drawn, margin = (each[..., 1:] for each in inner)
    rows = {"rollout.room": room, "rollout.allowed": allowed, "rollout.ended": ended, "rollout.written": written}
    return text_rows(mask, drawn, forced, rows), ties(batch, margin)


def text_rows(mask: torch.Tensor, drawn: torch.Tensor, forced: torch.Tensor | None, others: Held) -> Named:
    """Returns the quantities of the texts by the names of their blocks."""
    written, dtype = others["rollout.written"], mask.dtype
    is_end = (written == 0).to(dtype)
    rows = {"mask": with_end(mask), "rollout.read": written[..., :-1], "rollout.drawn": drawn}
    rows |= {} if forced is None else {"rollout.forced": torch.where(forced >= 0, forced, drawn)}
    rows |= {**others, "rollout.is_end": is_end[..., 1:], "rollout.ends": mask * is_end}
    return {name: each.to(dtype) for name, each in rows.items()}


def slot_rows(batch: Batch, given: torch.Tensor) -> Named:
    """Returns the slots of every response, as many as tokens are allowed, and their numbers, from 1.

    A column in which a token may be written has one, whether or not the response goes so far; the last column writes none.
    given: where the prompt is, [F, N, 1 + T].
    """
    free = 1 - given[..., 1:]
    number, writes = free.cumsum(dim=-1), torch.ones_like(free)
    writes[..., -1] = 0
    slots = free * writes * (number <= batch.typed("max_new_tokens")[:, None, None])
    return {"slots.number": with_start(number), "slots": with_end(slots)}


def draw(logits: torch.Tensor, u: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the token on which each u [F, N] falls, and how far u is from the nearest boundary, for logits [F, N, V]."""
    cumulative = torch.softmax(logits, dim=-1).cumsum(dim=-1)
    boundaries, at = cumulative[..., :-1].contiguous(), u[..., None].contiguous()
    token = torch.searchsorted(boundaries, at, right=True).squeeze(-1)
    return token, (boundaries - at).abs().amin(dim=-1)


def ties(batch: Batch, margin: torch.Tensor, *named: str) -> list[Tie]:
    """Lists the draws within 1e-9 of a boundary (2e-5 in float32). margin: how far each is from the nearest, [F, N, T]."""
    close = (margin <= TIE[batch.dtype]) & (batch.exists > 0)
    return [Tie(file, n + 1, t + 1, float(margin[file, n, t]), *named) for file, n, t in close.nonzero().tolist()]


def add_words(batch: Batch, rows: Rows) -> list[Array]:
    """Adds the tokens read and written as words, and returns those of the responses; "" where none is."""
    response = (rows["mask"][..., :-1] > 0).cpu().numpy()
    shows = response | (rows["is_given"] > 0).cpu().numpy()
    shows[:, :, 0] = True  # the start column always writes: its cell is the first token of the prompt
    ids = rows["rollout.written"].long().cpu().numpy()
    written, responses = [], []
    for number, (file, (episodes, positions)) in enumerate(zip(batch.files, batch.sizes, strict=True)):
        cut = (number, slice(episodes), slice(positions + 1))
        words = np.asarray(block(file, "vocabulary"), dtype=object)[ids[cut]]
        written.append(np.where(shows[cut], words, ""))
        responses.append(np.where(response[cut], words, "")[:, 1:])
    rows.add_words("word_read", [each[:, :-1] for each in written])
    rows.add_words("word_written", written)
    return responses
