"""Where a computation starts: weights and draws, from which texts are written and models run; or logits, values and scores."""

from typing import NamedTuple

import torch

from blueprint.witness import (
    TABLE,
    Array,
    Batch,
    Held,
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
)
from blueprint.witness import networks as models
from blueprint.witness.rollout import add_words, prompt_rows, replay, slot_rows
from blueprint.workbooks.rlhf_ppo.witness.metrics import response_rows

POLICY, SCORED = ("E", "W", "Y"), ("E", "W", "head.w", "head.b")


class Start(NamedTuple):
    """Response tokens, [F, N, T], as numbers and, for each file, as words, "" elsewhere; and the draws that are ties."""

    mask: torch.Tensor
    words: list[Array]
    ties: list[Tie]


def typed_weights(batch: Batch, model: str, parts: tuple[str, ...]) -> Named:
    """Returns the typed weights of a model, [F, …]."""
    return {part: batch.typed(f"{model}.{part}") for part in parts}


def updated(batch: Batch, rows: Rows, model: str, new: str, parts: tuple[str, ...]) -> Named:
    """Adds and returns the weights after the simulated update, θ_old + update_step·Δ, [F, …]; without Δ the old ones."""
    found = old = typed_weights(batch, model, parts)
    if f"{new}.delta.E" in batch.files[0]:
        step, deltas = batch.setting("update_step").flatten(), typed_weights(batch, f"{new}.delta", parts)
        found = {part: each + step.view(-1, *[1] * (each.dim() - 1)) * deltas[part] for part, each in old.items()}
    rows.add({f"{new}.{part}": each for part, each in found.items()}, whole=True)
    return found


def from_weights(batch: Batch, rows: Rows) -> Start:
    """Adds prompts, texts and what six models make of them in every slot."""
    old, prompts = typed_weights(batch, "old", POLICY), prompt_rows(batch)
    texts, ties = replay(batch, old, prompts, temperature_of(batch))
    mask = texts["mask"][..., 1:-1]
    rows.add({"decisions": batch.filled(float(size[1]) for size in batch.sizes)} | prompts | texts)
    response = add_words(batch, rows)
    rows.add(response_rows(mask))
    rows.add(slot_rows(batch, prompts["is_given"]) if TABLE in batch.files[0] else {"slots": with_end(mask)})
    add_policy(batch, rows, "old", old)
    p = rows["old.p"]
    rows.add({"old.cumulative": torch.cat([torch.zeros_like(p[..., :1]), p.cumsum(dim=-1)], dim=-1)})
    add_policy(batch, rows, "reference", typed_weights(batch, "reference", POLICY))
    add_kl(rows, "kl", "old", "reference")
    rows.add(score_rows(add_number(batch, rows, "reward_model", typed_weights(batch, "reward_model", SCORED)), mask))
    add_critic(batch, rows, "old_critic", typed_weights(batch, "old_critic", SCORED))
    add_policy(batch, rows, "policy", updated(batch, rows, "old", "policy", POLICY))
    add_update(rows)
    add_critic(batch, rows, "critic", updated(batch, rows, "old_critic", "critic", SCORED))
    return Start(mask, response, ties)


def from_logits(batch: Batch, rows: Rows) -> Start:
    """Adds what stands before the conventions where tokens and mask, logits and values are typed; nothing is drawn."""
    mask = batch.mask()
    ends, written = (
        batch.padded(
            [ids(block(file, name), block(file, "vocabulary"), "a position", blanks=False) for file in batch.files]
        )
        for name in ("end_word", "word_written")
    )
    is_end = (written == wide(ends)).to(batch.dtype)
    rows.add({"end_id": ends, "slots": with_end(torch.ones_like(mask)), "rollout.written": written})
    rows.add({"rollout.is_end": is_end, "rollout.ends": mask * is_end} | response_rows(mask))
    for name in ("old", "reference", "policy"):
        add_distribution(batch, rows, name, batch.typed(f"{name}.logits"), written.long())
    add_kl(rows, "kl", "old", "reference")
    add_update(rows)
    for name in ("old_critic", "critic"):
        rows.add({f"{name}.values": rows["slots"] * with_end(batch.typed(f"{name}.out"))})
    rows.add({"score.given": batch.typed("reward_model.score")})
    return Start(mask, shown_words(batch), [])


def temperature_of(batch: Batch) -> torch.Tensor:
    """Returns what logits are divided by, [F, 1, 1]."""
    return batch.options.number("batch.temperature") + batch.options.number("batch.temperature_eps")


def slots_of(rows: Held) -> torch.Tensor:
    """Returns 1 in every slot, [F, N, T]."""
    return rows["slots"][..., :-1]


def texts_read(rows: Held) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the ids that are read and written in each column, [F, N, T], where models are run."""
    return rows["rollout.read"].long(), rows["rollout.written"][..., 1:].long()


def add_policy(batch: Batch, rows: Rows, name: str, model: Named) -> None:
    """Adds everything that a policy computes on the texts."""
    read, written = texts_read(rows)
    logits = models.logits(model, add_memory(rows, name, model, read))
    rows.add({f"{name}.logits": logits})
    add_distribution(batch, rows, name, logits, written)


def add_distribution(batch: Batch, rows: Rows, name: str, logits: torch.Tensor, written: torch.Tensor) -> None:
    """Adds the distribution of tempered logits [F, N, T, V], and in every slot the log-prob of the token written."""
    tempered = logits / temperature_of(batch)[..., None]
    found = {"tempered": tempered} | distribution_rows(tempered)
    found |= {"logprobs": logprobs(found["log_p"], written, slots_of(rows))}
    rows.add({f"{name}.{row}": each for row, each in found.items()})


def add_memory(rows: Rows, name: str, model: Named, read: torch.Tensor) -> torch.Tensor:
    """Adds what a model reads and remembers, and returns its memory."""
    memory = models.memory(model, read)
    rows.add({f"{name}.inputs": models.inputs(model, read, memory), f"{name}.memory": memory})
    return memory


def add_number(batch: Batch, rows: Rows, name: str, model: Named) -> torch.Tensor:
    """Adds a model with one number on top and returns that number where the file has the column, [F, N, T]."""
    return batch.exists * models.score(model, add_memory(rows, name, model, texts_read(rows)[0]))


def score_rows(out: torch.Tensor, mask: torch.Tensor) -> Named:
    """Returns the reward model's score in the column that wrote the last token, [F, N, T], and for each response, [F, N].

    `out` [F, N, T] is the model's number after the token that a column reads, so the score stands one column further on;
    behind the last column it is 0, and so is the mask.
    """
    after = with_end(out)
    score = mask * (1 - with_end(mask)[..., 1:]) * after[..., 1:]
    return {"reward_model.out": after, "reward.score": score, "score.given": score.sum(dim=-1)}


def add_critic(batch: Batch, rows: Rows, name: str, model: Named) -> None:
    """Adds a critic: its number, and the value, which is 0 outside the slots."""
    out = with_end(add_number(batch, rows, name, model))
    rows.add({f"{name}.out": out, f"{name}.values": rows["slots"] * out})


def add_kl(rows: Rows, kl: str, name: str, other: str) -> None:
    """Adds the exact KL of one policy to another in every slot, and Σ p·log q that it is made of."""
    p = {part: rows[f"{name}.{part}"] for part in ("p", "p_log_p")}
    rows.add({f"{kl}.{row}": each for row, each in kl_rows(p, rows[f"{other}.log_p"], slots_of(rows)).items()})


def add_update(rows: Rows) -> None:
    """Adds what compares the new policy with the old one and the reference, and its entropy."""
    add_kl(rows, "policy_kl", "old", "policy")
    add_kl(rows, "kl_new", "policy", "reference")
    rows.add({"policy.entropy": -slots_of(rows) * rows["policy.p_log_p"]})


def texts_of(rows: Held, mask: torch.Tensor) -> Texts:
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
