"""Where a computation starts from weights: typed texts, which the policy and the reference read token after token."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from blueprint.witness import Array, Batch, Held, Named, Rows, block
from blueprint.witness import networks as models
from blueprint.witness.rollout import prompt_rows, typed_ids
from blueprint.workbooks.dpo.witness.start import TEXTS, Start, model_rows

RESPONSE = "text.response"
"""What only files of texts and weights have typed."""
PARTS = ("E", "W", "Y")


def from_texts(batch: Batch, rows: Rows) -> Start:
    """Reads texts and weights, and runs both models. Raises WitnessError for an unknown token."""
    given = {name: batch.typed(name)[0] for name in ("pair.number", "response.chosen", "pair.column", "true.reward")}
    prompts = {name: each[0] for name, each in prompt_rows(batch).items()}
    found = dict(prompts)
    texts = {
        "rollout": answered(batch, prompts, RESPONSE),
        "mismatched": answered(batch, prompts, "mismatched.response"),
    }
    for name, text in texts.items():
        found |= {f"{name}.{row}": text[row] for row in ("read", "written")}
    mask, others = (each["tokens"] for each in texts.values())
    found |= {"response.tokens": mask, "text.response_id": texts["rollout"]["ids"]}
    found |= {"mismatched.tokens": others, "mismatched.response_id": texts["mismatched"]["ids"]}
    found["text.tokens"] = pad(prompts["is_given"][:, 1:] + mask, (1, 0), value=1)
    weights = weights_of(batch)
    add_words(batch, rows, found)
    read_by = {name: weights[name.rpartition(".")[2]] for name in TEXTS}
    return started({**given, "mask": mask}, found | run(read_by, found), weights["policy"])


def started(given: Named, found: Named, policy: Held) -> Start:
    """Returns a start from the rows that the models made of the texts. policy: the weights in training, [1, …]."""
    read, written = (found[f"rollout.{name}"].long() for name in ("read", "written"))
    made = found | {f"policy.{part}": each[0] for part, each in policy.items()}
    return Start(given, made, found["policy.logits"], written[:, 1:], policy, read[None])


def with_policy(start: Start, policy: Held) -> Start:
    """Returns a start with other weights of the policy, [1, …]: it reads all texts once more."""
    again = {name: policy for name in TEXTS if name.endswith("policy")}
    return started(start.given, start.rows | run(again, start.rows), policy)


def answered(batch: Batch, prompts: Held, name: str) -> Named:
    """Returns the typed response behind each prompt: where it is, its ids or 0, and the ids read and written, [B, T]."""
    found = torch.as_tensor(typed_ids(batch.files[0], name, "the response")).to(prompts["given_id"])
    there, ids = (found >= 0).to(found), found.clamp(min=0)
    written = torch.where(prompts["is_given"] > 0, prompts["given_id"], pad(ids, (1, 0)))
    return {"tokens": there, "ids": ids, "read": written[:, :-1], "written": written}


def weights_of(batch: Batch) -> dict[str, Named]:
    """Returns the weights of the reference, [1, …], and those of the policy: with so much of what is typed as the step says, or,
    where an optimiser moves them, as those of the reference."""
    reference = {part: batch.typed(f"reference.{part}") for part in PARTS}
    if "update_step" not in batch.files[0]:
        return {"reference": reference, "policy": dict(reference)}
    step = batch.typed("update_step").flatten()[0]
    policy = {part: each + step * batch.typed(f"policy.delta.{part}") for part, each in reference.items()}
    return {"reference": reference, "policy": policy}


def run(models_by_name: Mapping[str, Held], texts: Held) -> Named:
    """Returns everything that models compute on the texts that each of them reads."""
    found: Named = {}
    for name, model in models_by_name.items():
        which = TEXTS[name].partition(".")[0]
        read, written = (texts[f"{which}.{row}"].long() for row in ("read", "written"))
        found |= model_run(name, model, read[None], written[:, 1:])
    return found | {"policy.square": found["policy.p"].square().sum(-1)}


def model_run(name: str, model: Held, read: Tensor, written: Tensor) -> Named:
    """Returns what a model computes on texts: inputs, memory, logits, and what it says of every next token."""
    memory = models.memory(model, read)
    logits = models.logits(model, memory)[0]
    inputs = pad(models.inputs(model, read, memory), (0, 0, 0, 1))[0, :, : read.shape[-1]]
    return {f"{name}.inputs": inputs, f"{name}.memory": memory[0], f"{name}.logits": logits} | model_rows(
        name, logits, written
    )


def add_words(batch: Batch, rows: Rows, found: Named) -> None:
    """Adds the tokens read and written as words; "" where none is."""
    words = np.asarray(block(batch.files[0], "vocabulary"), dtype=object)
    written: Array = np.where(found["text.tokens"].numpy() > 0, words[found["rollout.written"].long().numpy()], "")
    rows.add_words("word_written", [written])
    rows.add_words("word_read", [written[:, :-1]])


def typed_distances(found: Held) -> Named:
    """Returns how far typed texts are from what they may be: gaps, cells with two tokens, texts without prompt or response."""
    given, text, mask = found["is_given"], found["text.tokens"], found["response.tokens"]
    return {
        "check.prompt": given[..., 1:] * (1 - given[..., :-1]),
        "check.empty": 1 - given[..., 0],
        "check.gap": (text[..., 1:] > text[..., :-1]).to(text),
        "check.twice": given[..., 1:] * mask,
        "check.no_response": (mask.sum(-1) < 1).to(mask),
    }
