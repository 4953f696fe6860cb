"""Where a computation starts: responses with scores and logits, or prompts, draws and weights, from which texts are written."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from blueprint.witness import (
    Batch,
    Held,
    Named,
    Rows,
    Tie,
    block,
    distribution_rows,
    ids,
    kl_rows,
    logprobs,
    picked,
    with_end,
)
from blueprint.witness import networks as models
from blueprint.witness.rollout import add_words, prompt_rows, replay

MODELS = ("engine", "old", "reference", "policy")
POLICY, SCORED = ("E", "W", "Y"), ("E", "W", "head.w", "head.b")


class Start(NamedTuple):
    """What is known of responses, by name, [B] and [B, T], every row up to the log-probs, and draws that are ties.

    logits, written: the policy's logits [B, T, V], and the tokens [B, T], where they are known. policy: its weights, where it
    is run.
    """

    given: Named
    rows: Named
    logits: Tensor | None
    written: Tensor | None
    ties: Sequence[Tie] = ()
    policy: Held | None = None


def placed(batch: Batch) -> Named:
    """Returns what is typed at every level."""
    return {name: batch.typed(name)[0] for name in ("greedy", "group.response", "response.number")}


def from_logits(batch: Batch) -> Start:
    """Reads responses, scores and logits. Raises WitnessError for an unknown token."""
    given = placed(batch) | {name: batch.typed(name)[0] for name in ("score", "truncated")}
    mask = given["mask"] = batch.mask()[0]
    file = batch.files[0]
    written = torch.as_tensor(ids(block(file, "word_written"), block(file, "vocabulary"), "word_written", blanks=False))
    found = counted(given) | {"rollout.written": written.to(mask), "response.tokens": with_end(mask)}
    for name in MODELS:
        found |= policy_rows(name, batch.typed(f"{name}.logits")[0], written.long(), mask)
    return Start(
        given,
        found | {"policy.entropy": -mask * found["policy.p_log_p"]},
        batch.typed("policy.logits")[0],
        written.long(),
    )


def counted(given: Named) -> Named:
    """Returns how many prompts and responses there are, and the tokens of each response."""
    prompts, size = given["group.response"].shape
    one, mask = given["score"].new_ones(()), given["mask"]
    counts = {"count.prompts": one * prompts, "count.group": one * size, "count.responses": one * len(given["score"])}
    return counts | {"response.length": mask.sum(1)}


def policy_rows(name: str, logits: Tensor, written: Tensor, mask: Tensor) -> Named:
    """Returns what a policy says of every next token, and of the one that was written."""
    made = distribution_rows(logits)
    return {f"{name}.{row}": each for row, each in made.items()} | {
        f"{name}.logprobs": logprobs(made["log_p"], written, mask)
    }


def from_prompts(batch: Batch, rows: Rows) -> Start:
    """Writes the responses, runs every model on them, and scores them by the rules."""
    old = weights(batch, "old", POLICY)
    prompts = prompt_rows(batch)
    texts, ties = replay(batch, old, prompts, batch.exists.new_ones(1, 1, 1))
    rows.add({"decisions": batch.filled(float(size[1]) for size in batch.sizes)} | prompts | texts)
    add_words(batch, rows)
    mask, read, written = rows["mask"][..., 1:-1], rows["rollout.read"].long(), rows["rollout.written"][..., 1:].long()
    found = run(batch, {"old": old, "reference": weights(batch, "reference", POLICY)}, read, written, mask)
    moved = updated(batch, old)
    found |= {f"policy.{part}": each[0] for part, each in moved.items()} | run(
        batch, {"policy": moved}, read, written, mask
    )
    found |= distances_between(found, mask[0])
    p = found["old.p"]
    found["old.cumulative"] = torch.cat([torch.zeros_like(p[..., :1]), p.cumsum(-1)], -1)
    found["engine.logprobs"] = mask[0] * (found["old.logprobs"] + batch.typed("engine.off")[0])
    found |= {"policy.entropy": -mask[0] * found["policy.p_log_p"], "response.words": mask.sum()}
    given = placed(batch) | {"mask": mask[0], "truncated": 1 - rows["rollout.ends"][0, :, 1:].sum(-1)}
    found |= judged(batch, found, given, rows, read)
    given["score"] = found["score"]
    found |= counted(given) | {"truncated": given["truncated"]} | codes(prompts, given)
    return Start(given, found, found["policy.logits"], written[0], ties, moved)


def weights(batch: Batch, model: str, parts: tuple[str, ...]) -> Named:
    """Returns the typed weights of a model, [1, …]."""
    return {part: batch.typed(f"{model}.{part}") for part in parts}


def updated(batch: Batch, old: Held) -> Named:
    """Returns the weights of the policy in training: the old ones, and so much of what is typed as the setting says."""
    step, by = batch.setting("update_step").flatten()[0], weights(batch, "policy.delta", POLICY)
    return {part: each + step * by[part] for part, each in old.items()}


def run(batch: Batch, policies: dict[str, Named], read: Tensor, written: Tensor, mask: Tensor) -> Named:
    """Returns everything that policies compute on the texts."""
    found: Named = {}
    for name, model in policies.items():
        memory = models.memory(model, read)
        logits = models.logits(model, memory)
        found |= {f"{name}.inputs": models.inputs(model, read, memory)[0], f"{name}.memory": memory[0]}
        found |= {f"{name}.logits": logits[0]} | policy_rows(name, logits[0], written[0], mask[0])
    return found


def distances_between(found: Named, mask: Tensor) -> Named:
    """Returns how far the old policy is from the reference and from the policy in training, exactly, token by token."""
    p = {part: found[f"old.{part}"] for part in ("p", "p_log_p")}
    pairs = {"kl": "reference", "policy_kl": "policy"}
    return {
        f"{kl}.{row}": each
        for kl, other in pairs.items()
        for row, each in kl_rows(p, found[f"{other}.log_p"], mask).items()
    }


def judged(batch: Batch, found: Named, given: Named, rows: Held, read: Tensor) -> Named:
    """Returns the scores: by the rules, as typed, by the reward model; and the one in use."""
    model = weights(batch, "reward_model", SCORED)
    memory = models.memory(model, read)
    out = with_end(batch.exists * models.score(model, memory))[0]
    mask = given["mask"]
    score = mask * (1 - with_end(mask)[:, 1:]) * out[:, 1:]
    made = {"reward_model.out": out, "judge.score": score, "score.model": score.sum(-1)}
    made |= {"reward_model.inputs": models.inputs(model, read, memory)[0], "reward_model.memory": memory[0]}
    made |= ruled(batch, given, rows)
    words = ("rules", "typed", "model")
    stacked = [made["score.rules"], batch.typed("score.typed")[0], made["score.model"]]
    return made | {"score": picked(batch.option("reward.from", words)[0, 0], stacked)}


def ruled(batch: Batch, given: Named, rows: Held) -> Named:
    """Returns what the rules find: the right answer, and where; an end; the length, and what it costs."""
    file, mask = batch.files[0], given["mask"]
    answer = torch.as_tensor(ids(block(file, "answer"), block(file, "vocabulary"), "answer", blanks=False)).to(mask)
    prompts, size = given["group.response"].shape
    of = mask.new_zeros(len(mask))
    of[given["response.number"].long().argsort()[given["group.response"].long().flatten() - 1]] = (
        answer.repeat_interleave(size)
    )
    hit = mask * (rows["rollout.written"][0, :, 1:] == of[:, None])
    last = torch.nn.functional.pad(hit, (1, 0))[:, :-1] * rows["rollout.ends"][0, :, 1:]
    found = [hit.amax(-1), last.amax(-1)]
    right = picked(batch.option("reward.answer", ("anywhere", "at_end"))[0, 0], found)
    number = {key: batch.setting(f"reward.{key}")[0, 0, 0] for key in ("right", "form", "free_tokens", "token_cost")}
    form = 1 - given["truncated"]
    beyond = (mask.sum(-1) - number["free_tokens"]).clamp(min=0)
    earned = number["right"] * right + number["form"] * form
    return {
        "answer.id": answer, "answer.placed": answer[:, None].expand(prompts, size), "answer.of": of,
        "rule.hit": torch.nn.functional.pad(hit, (1, 0)), "rule.last": last, "rule.right.anywhere": found[0],
        "rule.right.at_end": found[1], "rule.right": right, "rule.form": form, "rule.beyond": beyond,
        "rule.cost": number["token_cost"] * beyond, "rule.earned": earned,
        "score.rules": earned - number["token_cost"] * beyond,
    }  # fmt: skip


def codes(prompts: Held, given: Named) -> Named:
    """Returns one number for each prompt, made of its tokens and their places; and the same by group."""
    ids, there = prompts["given_id"][0].to(given["mask"]), prompts["is_given"][0]
    places = torch.arange(ids.shape[1]).to(ids)[1:]
    each = places**2 * (ids + there)[:, 1:]
    total = ids[:, 0] + each.sum(1)
    by_number = total[given["response.number"].argsort()]
    groups = by_number[given["group.response"].long() - 1]
    return {
        "prompt.place": each, "prompt.total": total, "prompt.column": by_number, "prompt.group": groups,
        "prompt.largest": groups.amax(1), "prompt.apart": groups.amax(1, keepdim=True) - groups,
    }  # fmt: skip
