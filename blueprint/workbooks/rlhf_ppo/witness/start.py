"""Where a computation starts: weights and draws, from which texts are written and models run; or logits, values and scores."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from blueprint.witness import (
    TABLE,
    Array,
    Batch,
    Named,
    Rows,
    Texts,
    Tie,
    block,
    distribution_rows,
    ids,
    kl_rows,
    logprobs,
    shown_words,
    wide,
    with_end,
    with_start,
)
from blueprint.workbooks.rlhf_ppo.witness.metrics import response_rows
from blueprint.workbooks.rlhf_ppo.witness.models import Policy, Recurrent, Scored
from blueprint.workbooks.rlhf_ppo.witness.rollout import (
    Prompts,
    Rollout,
    draws,
    fixed,
    prompts,
    replay,
    rollout_rows,
    ties,
    words,
)

POLICY, SCORED = ("E", "W", "Y"), ("E", "W", "head.w", "head.b")


class Start(NamedTuple):
    """Response words, [F, N, T], as numbers and, for each file, as words, "" elsewhere; and the draws that are ties."""

    mask: Tensor
    words: list[Array]
    ties: list[Tie]


def weights_of(batch: Batch, model: str, parts: tuple[str, ...]) -> Named:
    """Returns the typed weights of a model, [F, …]."""
    return {part: batch.typed(f"{model}.{part}") for part in parts}


def updated(batch: Batch, rows: Rows, model: str, new: str, parts: tuple[str, ...]) -> Named:
    """Adds and returns the weights after the simulated update, θ_old + update_step·Δ, [F, …]."""
    step, old, deltas = (
        batch.setting("update_step").flatten(),
        weights_of(batch, model, parts),
        weights_of(batch, f"{new}.delta", parts),
    )
    found = {part: old[part] + step.view(-1, *[1] * (old[part].dim() - 1)) * deltas[part] for part in parts}
    rows.add({f"{new}.{part}": each for part, each in found.items()}, whole=True)
    return found


def from_weights(batch: Batch, rows: Rows) -> Start:
    """Adds prompts, texts and what six models make of them in every slot."""
    temperature, given = temperature_of(batch), prompts(batch)
    last = batch.exists - torch.nn.functional.pad(batch.exists[..., 1:], (0, 1))
    old = weights_of(batch, "old", POLICY)
    rollout = replay(Policy(old), given, draws(batch), batch.exists, last, temperature, fixed(batch))
    mask, read, written = rollout.mask[..., 1:], rollout.read, rollout.written[..., 1:]
    response = add_texts(batch, rows, given, rollout)
    add_policy(rows, "old", old, temperature, read, written)
    p = rows["old.p"]
    rows.add({"old.cumulative": torch.cat([torch.zeros_like(p[..., :1]), p.cumsum(dim=-1)], dim=-1)})
    add_policy(rows, "reference", weights_of(batch, "reference", POLICY), temperature, read, written)
    add_kl(rows, "kl", "old", "reference")
    out = add_scored(batch, rows, "reward_model", weights_of(batch, "reward_model", SCORED), read)
    rows.add(score_rows(out, mask))
    add_critic(batch, rows, "old_critic", weights_of(batch, "old_critic", SCORED), read)
    add_policy(rows, "policy", updated(batch, rows, "old", "policy", POLICY), temperature, read, written)
    add_update(rows)
    add_critic(batch, rows, "critic", updated(batch, rows, "old_critic", "critic", SCORED), read)
    return Start(mask, response, ties(batch, rollout))


def from_logits(batch: Batch, rows: Rows) -> Start:
    """Adds what stands before the conventions where words and mask, logits and values are typed; nothing is drawn."""
    mask = batch.mask()
    ends, written = (
        batch.padded(
            [ids(block(file, name), block(file, "vocabulary"), "a slot", blanks=False) for file in batch.files]
        )
        for name in ("end_word", "word_written")
    )
    is_end = (written == wide(ends)).to(batch.dtype)
    rows.add({"end_id": ends, "slots": with_end(torch.ones_like(mask)), "rollout.written": written})
    rows.add({"rollout.is_end": is_end, "rollout.ends": mask * is_end} | response_rows(mask))
    for name in ("old", "reference", "policy"):
        add_distribution(rows, name, batch.typed(f"{name}.logits"), temperature_of(batch), written.long())
    add_kl(rows, "kl", "old", "reference")
    add_update(rows)
    for name in ("old_critic", "critic"):
        rows.add({f"{name}.values": rows["slots"] * with_end(batch.typed(f"{name}.out"))})
    rows.add({"score.given": batch.typed("reward_model.score")})
    return Start(mask, shown_words(batch), [])


def temperature_of(batch: Batch) -> Tensor:
    """Returns what logits are divided by, [F, 1, 1]."""
    options = batch.options
    return options.number("batch.temperature") + options.number("batch.temperature_eps")


def add_texts(batch: Batch, rows: Rows, given: Prompts, rollout: Rollout) -> list[Array]:
    """Adds what is read and written and the slots of each response, and returns the words of the responses."""
    mask = rollout.mask[..., 1:]
    rows.add({"decisions": batch.filled(float(size[1]) for size in batch.sizes)} | rollout_rows(given, rollout))
    read, written, response = words(batch, rollout, given)
    rows.add_words("word_read", read)
    rows.add_words("word_written", written)
    rows.add(response_rows(mask))
    rows.add(slot_rows(given) if TABLE in batch.files[0] else {"slots": with_end(mask)})
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
    return {"slots.number": with_start(number), "slots": with_end(slots)}


def slots_of(rows: Rows) -> Tensor:
    """Returns 1 in every slot, [F, N, T]."""
    return rows["slots"][..., :-1]


def add_policy(rows: Rows, name: str, weights: Named, temperature: Tensor, read: Tensor, written: Tensor) -> None:
    """Adds everything that a policy computes on the texts."""
    model = Policy(weights)
    add_memory(rows, name, model, read)
    logits = model.logits(rows[f"{name}.memory"])
    rows.add({f"{name}.logits": logits})
    add_distribution(rows, name, logits, temperature, written)


def add_distribution(rows: Rows, name: str, logits: Tensor, temperature: Tensor, written: Tensor) -> None:
    """Adds the distribution of tempered logits [F, N, T, V], and in every slot the log-prob of the word written."""
    tempered = logits / temperature[..., None]
    found = {"tempered": tempered} | distribution_rows(tempered)
    found |= {"logprobs": logprobs(found["log_p"], written, slots_of(rows))}
    rows.add({f"{name}.{row}": each for row, each in found.items()})


def add_memory(rows: Rows, name: str, model: Recurrent, read: Tensor) -> None:
    """Adds what a model reads and remembers."""
    memory = model.memory(read)
    rows.add({f"{name}.inputs": model.inputs(read, memory), f"{name}.memory": memory})


def add_scored(batch: Batch, rows: Rows, name: str, weights: Named, read: Tensor) -> Tensor:
    """Adds a model with one number on top and returns that number where the file has the column, [F, N, T]."""
    model = Scored(weights)
    add_memory(rows, name, model, read)
    return batch.exists * model.score(rows[f"{name}.memory"])


def score_rows(out: Tensor, mask: Tensor) -> Named:
    """Returns the reward model's score in the column that wrote the last word, [F, N, T], and for each response, [F, N].

    `out` [F, N, T] is the model's number after the word that a column reads, so the score stands one column further on;
    behind the last column it is 0, and so is the mask.
    """
    after = with_end(out)
    score = mask * (1 - with_end(mask)[..., 1:]) * after[..., 1:]
    return {"reward_model.out": after, "reward.score": score, "score.given": score.sum(dim=-1)}


def add_critic(batch: Batch, rows: Rows, name: str, weights: Named, read: Tensor) -> None:
    """Adds a critic: its number, and the value, which is 0 outside the slots."""
    out = with_end(add_scored(batch, rows, name, weights, read))
    rows.add({f"{name}.out": out, f"{name}.values": rows["slots"] * out})


def add_kl(rows: Rows, kl: str, name: str, other: str) -> None:
    """Adds the exact KL of one policy to another in every slot, and Σ p·log q that it is made of."""
    p = {part: rows[f"{name}.{part}"] for part in ("p", "p_log_p")}
    found = kl_rows(p, rows[f"{other}.log_p"], slots_of(rows))
    rows.add({f"{kl}.{row}": each for row, each in found.items()})


def add_update(rows: Rows) -> None:
    """Adds what compares the new policy with the old one and the reference, and its entropy."""
    add_kl(rows, "policy_kl", "old", "policy")
    add_kl(rows, "kl_new", "policy", "reference")
    rows.add({"policy.entropy": -slots_of(rows) * rows["policy.p_log_p"]})


def texts_of(rows: Rows, mask: Tensor) -> Texts:
    """Returns what the conventions start from: the rows of the models in every slot."""
    return Texts(
        slots=slots_of(rows),
        mask=mask,
        old_logprobs=rows["old.logprobs"],
        reference_logprobs=rows["reference.logprobs"],
        logprobs=rows["policy.logprobs"],
        kl_old_reference=rows["kl.exact"],
        kl_new_reference=rows["kl_new.exact"],
        kl_old_new=rows["policy_kl.exact"],
        entropy=rows["policy.entropy"],
        old_values=rows["old_critic.values"][..., :-1],
        values=rows["critic.values"][..., :-1],
        score=rows["score.given"],
        ended=rows["rollout.ends"].amax(dim=-1),
    )
