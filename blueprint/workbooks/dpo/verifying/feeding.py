"""What a dump of DPO feeds to the formulas: log-probs of tokens, or of whole responses as if each were one token."""

import numpy as np
import torch
from torch import Tensor

from blueprint.dumps import SIDES, Array
from blueprint.verifying import Given, Ways
from blueprint.workbooks.dpo.dumps import PairStep

Fed = dict[str, Tensor]
MODELS = {"policy": "logprobs", "reference": "logprobs_ref"}
WHOLE = {"policy": "logp", "reference": "logp_ref"}


def fed(batch: PairStep, ways: Ways, device: str = "cpu") -> Fed:
    """Returns what `derived` takes, chosen responses first, [2P, T]; no reference stands there as 0.

    Log-probs of whole responses stand on the first token of each, so that their sums are these.
    """
    mask = _mask(batch, ways)
    count = batch.pairs
    found = {f"{model}.logprobs": _model(batch, model, mask, ways) for model in MODELS}
    found["response.tokens"] = mask
    found["text.tokens"] = np.concatenate([np.ones((2 * count, 1)), np.maximum(_text(batch, mask), mask)], axis=1)
    found["response.chosen"] = np.repeat([1.0, 0.0], count)
    found["true.reward"] = np.zeros(2 * count)
    found["mismatched.ratio"] = np.zeros(2 * count)  # APO without pairs reads no other responses; KTO is lacking them
    if "chosen.log_squares" in batch.tensors:
        found["policy.square"] = np.exp(np.where(mask > 0, _both(batch, "log_squares"), 0.0))
    return {name: torch.from_numpy(np.ascontiguousarray(each, np.float64)).to(device) for name, each in found.items()}


def exchanged(of: Fed, ways: Ways) -> Fed:
    """Returns what is fed, with models or sides in the place of others."""
    made = {model: of[f"{model}.logprobs"] for model in MODELS}
    sides = ways.get("sides", ())
    if len(sides) == len(MODELS):
        return {**of, "response.chosen": 1 - of["response.chosen"]}
    for model in sides:
        made[model] = made[model].roll(len(made[model]) // 2, 0)
    stands = {"none": torch.zeros_like(made["policy"]), "policy": made["policy"]}
    made["reference"] = stands.get(str(ways.get("reference")), made["reference"])
    if ways.get("inverted"):
        made = dict(zip(made, reversed(made.values()), strict=True))
    return {**of, **{f"{model}.logprobs": each for model, each in made.items()}}


def put(of: Fed, model: str, sums: Tensor, wanted: Tensor) -> None:
    """Moves the first token of each response so that its log-prob, [2P], is the one that is wanted; an empty one stays."""
    mask = of["response.tokens"]
    first = torch.zeros_like(mask).scatter_(1, mask.argmax(1, keepdim=True), 1.0) * mask
    of[f"{model}.logprobs"] = of[f"{model}.logprobs"] + first * (wanted - sums)[:, None]


def given_sums(given: Given, model: str) -> Array | None:
    """Returns the log-probs of responses that stand in place of computed ones, [2P]; None where they do not."""
    names = [f"{side}.{WHOLE[model]}" for side in SIDES]
    return np.concatenate([given[name] for name in names]) if all(name in given for name in names) else None


def _both(batch: PairStep, name: str) -> Array:
    return np.concatenate([np.asarray(batch.tensors[f"{side}.{name}"], np.float64) for side in SIDES])


def _mask(batch: PairStep, ways: Ways) -> Array:
    """Returns which tokens count, [2P, T]."""
    mask, way = batch.mask.astype(bool), ways.get("mask")
    behind = np.flip(np.cumsum(np.flip(mask, 1), axis=1), 1)
    made = {
        "no_last": mask & (behind > 1),
        "one_less": mask & (np.cumsum(mask, axis=1) > 1),
        "one_more": mask | np.pad(mask, ((0, 0), (1, 0)))[:, :-1],
        "text": _text(batch, mask) > 0,
        "all": np.ones_like(mask),
    }
    return np.asarray(made.get(str(way), mask), np.float64)


def _text(batch: PairStep, mask: Array) -> Array:
    """Returns 1 on prompt and response, [2P, T]; where nothing tells, on all that stands in front of the response, too."""
    if "chosen.text" in batch.tensors:
        return _both(batch, "text")
    return np.asarray(np.flip(np.cumsum(np.flip(mask, 1), axis=1), 1) > 0, np.float64)


def _model(batch: PairStep, model: str, mask: Array, ways: Ways) -> Array:
    """Returns log-probs of tokens under a model, [2P, T], 0 where nothing counts."""
    name, whole = MODELS[model], WHOLE[model]
    if f"chosen.{name}" in batch.tensors:
        made = np.roll(np.nan_to_num(_both(batch, name), neginf=-np.inf), ways.get("moved", {}).get(model, 0), axis=1)
        made = np.where(mask > 0, made, 0.0)
    elif f"chosen.{whole}" in batch.tensors:
        made = np.zeros_like(mask)
        made[np.arange(len(mask)), mask.argmax(axis=1)] = _both(batch, whole)
        made *= mask
    else:
        made = np.zeros_like(mask)
    return made
