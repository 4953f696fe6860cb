"""Files with weights whose conventions are live: texts drawn from the tempered policy, and six models in every slot."""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness import diagnostics, signal
from blueprint.witness.batch import Batch, Rows
from blueprint.witness.from_weights import POLICY, SCORED, add_memory, add_scored, texts, updated, weights_of
from blueprint.witness.live.models import add_distribution, add_kl, add_update
from blueprint.witness.live.rows import Start, temperature_of
from blueprint.witness.models import Named, Policy
from blueprint.witness.rollout import Prompts, Rollout, rollout_rows, ties, words
from blueprint.witness.settings import Array


def compute(batch: Batch, rows: Rows, numbers_of_files: list[int]) -> Start:
    """Adds what stands before the conventions, and returns the response words and the draws that are ties."""
    temperature = temperature_of(batch)
    given, rollout = texts(batch, temperature)
    response = _add_texts(batch, rows, given, rollout)
    _add_policy(rows, "old", weights_of(batch, "old", POLICY), rollout, temperature)
    p = rows["old.p"]
    rows.add({"old.cumulative": torch.cat([torch.zeros_like(p[..., :1]), p.cumsum(dim=-1)], dim=-1)})
    _add_policy(rows, "reference", weights_of(batch, "reference", POLICY), rollout, temperature)
    add_kl(rows, "kl", "old", "reference")
    out = add_scored(batch, rows, "reward_model", weights_of(batch, "reward_model", SCORED), rollout.read)
    rows.add(signal.score_rows(out, rollout.mask[..., 1:]))
    rows.add({"score.given": rows["reward.score"].sum(dim=-1)})
    _add_critic(batch, rows, "old_critic", weights_of(batch, "old_critic", SCORED), rollout)
    policy = updated(batch, "old", "policy", POLICY)
    rows.add_whole({f"policy.{part}": each for part, each in policy.items()})
    _add_policy(rows, "policy", policy, rollout, temperature)
    add_update(rows)
    critic = updated(batch, "old_critic", "critic", SCORED)
    rows.add_whole({f"critic.{part}": each for part, each in critic.items()})
    _add_critic(batch, rows, "critic", critic, rollout)
    return Start(rollout.mask[..., 1:], response, ties(batch, rollout, numbers_of_files))


def _add_texts(batch: Batch, rows: Rows, given: Prompts, rollout: Rollout) -> list[Array]:
    """Adds what is written, and returns the words of the responses."""
    columns = batch.filled([float(size[1]) for size in batch.sizes])
    rows.add_whole({"decisions": columns})
    rows.add(rollout_rows(given, rollout))
    read, written, response = words(batch, rollout, given)
    rows.add_words("word_read", read)
    rows.add_words("word_written", written)
    rows.add(diagnostics.response_rows(rollout.mask[..., 1:]))
    rows.add(slot_rows(given))
    return response


def slot_rows(given: Prompts) -> Named:
    """Returns the slots of every response, as many as words are allowed, and their numbers, from 1.

    A column in which a word may be written has one, whether or not the response goes so far; the last column writes none.
    """
    free = 1 - given.given[..., 1:]
    number = free.cumsum(dim=-1)
    writes = torch.ones_like(free)
    writes[..., -1] = 0
    slots = free * writes * (number <= given.room[..., None])
    return {
        "slots.number": torch.cat([torch.zeros_like(number[..., :1]), number], dim=-1),
        "slots": signal.with_end(slots),
    }


def _add_policy(rows: Rows, name: str, weights: Named, rollout: Rollout, temperature: Tensor) -> None:
    """Adds everything that a policy computes on the texts."""
    model = Policy(weights)
    add_memory(rows, name, model, rollout.read)
    logits = model.logits(rows[f"{name}.memory"])
    rows.add({f"{name}.logits": logits})
    add_distribution(rows, name, logits, temperature, rollout.written[..., 1:])


def _add_critic(batch: Batch, rows: Rows, name: str, weights: Named, rollout: Rollout) -> None:
    """Adds a critic: its number, and the value, which is 0 outside the slots."""
    out = signal.with_end(add_scored(batch, rows, name, weights, rollout.read))
    rows.add({f"{name}.out": out, f"{name}.values": rows["slots"] * out})
