"""A step of KTO computed again by the definitions, in float64, from the log-probs that its file has.

What may be done otherwise, in `ways`: known mistakes, and conventions that no setting names.

mask: of which tokens a response is: "no_last" without the last one, "one_less" without the first, "one_more" with the one behind,
"all" with prompt and pads. moved: by model, its log-probs stand so many columns later (1) or earlier (−1). sides: good and bad
exchanged. own: the KL of the responses themselves. factor: by quantity, what it is multiplied by. equations: by
row of the definitions, how its equation is changed.
"""

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying import (
    NO_RESULTS,
    PLAIN,
    Again,
    Axes,
    Definitions,
    Given,
    Quantity,
    Settings,
    Ways,
    changed,
    coarsest,
    factor_of,
)
from blueprint.workbooks.kto.build import KTO
from blueprint.workbooks.kto.definitions import GIVEN, LABELS, derived, n, t
from blueprint.workbooks.kto.dumps import SingleResponses

RESPONSES = Axes("response", "", "response")
EQUATIONS = Definitions(KTO, LABELS, GIVEN, derived, masks=("mask",))
MODELS = {"policy": ("logprobs", "logp"), "reference": ("logprobs_ref", "logp_ref")}
ELSEWHERE = {"policy": "elsewhere.logp", "reference": "elsewhere.logp_ref"}
ROWS = {
    "logp": "single.policy",
    "logp_ref": "single.reference",
    "reward": "single.reward",
    "loss.response": "single.loss",
}
NUMBERS = {
    "kl": "single.z", "logps.chosen": "single.logps.chosen", "logps.rejected": "single.logps.rejected",
    "rewards.chosen": "single.reward.chosen", "rewards.rejected": "single.reward.rejected", "rewards.margins": "single.margin",
    "total_loss": "total_loss",
}  # fmt: skip
"""By quantity the row of the definitions that it is."""
LOSSES = ("loss.response", "total_loss")
LOGPS = ("logp", "logp_ref")
OF_OTHERS = (*ELSEWHERE.values(),)
MADE_OF = (*LOGPS, "logprobs", "logprobs_ref")
ALL = {
    each.name: each
    for each in (
        Quantity("logp", (), ("logprobs",)),
        Quantity("logp_ref", (), ("logprobs_ref",)),
        Quantity("logps.chosen", ("logp",), MADE_OF),
        Quantity("logps.rejected", ("logp",), MADE_OF),
        Quantity("reward", LOGPS, MADE_OF),
        *(Quantity(name, (*LOGPS, "reward"), MADE_OF) for name in ("rewards.chosen", "rewards.rejected", "rewards.margins")),
        Quantity("kl", (), OF_OTHERS),
        Quantity("loss.response", LOGPS, (*MADE_OF, *OF_OTHERS)),
        Quantity("total_loss", (*LOGPS, "loss.response"), (*MADE_OF, *OF_OTHERS)),
        *(Quantity(name) for name in ("logits.chosen", "logits.rejected", "entropy")),
    )
}  # fmt: skip


def lacking(batch: SingleResponses, settings: Settings) -> dict[str, str]:
    """Returns by quantity what is missing for it."""
    found = dict.fromkeys(("logits.chosen", "logits.rejected", "entropy"), "logits")
    reads = settings["loss_type"] == "kto"
    if reads and (batch.of_all_ranks or OF_OTHERS[0] not in batch.tensors):
        found["kl"] = "the responses of all ranks" if batch.of_all_ranks else "log-probs of responses to other prompts"
        if "kl" not in batch.logged:  # the library's own z stands for what only others know
            found |= dict.fromkeys(LOSSES, found["kl"])
    good = batch.tensors["good"]
    for side, some in (("chosen", good), ("rejected", ~good)):
        if not some.any():
            which = f"a {'good' if side == 'chosen' else 'bad'} response"
            found |= dict.fromkeys((f"rewards.{side}", f"logps.{side}", "rewards.margins"), which)
    return found


def recompute(
    batch: SingleResponses,
    settings: Settings,
    ways: Ways = PLAIN,
    given: Given = NO_RESULTS,
    sized: bool = False,
    device: str = "cpu",
) -> Again:
    """Computes a step again under the values of a preset.

    given: results of the file that stand in place of computed ones. sized: whether it is asked how far rounding may move what
    comes out.
    """
    found = Again(batch, settings, lacks=lacking(batch, settings))
    known = _known(batch, ways) | {ROWS[name]: np.asarray(row) for name, row in given.items()}
    if "kl" in found.lacks:
        known["elsewhere.kl"] = np.asarray(float(batch.logged.get("kl", 0.0)))
    if ways.get("own"):
        known["elsewhere.ratio"] = known["single.policy"] - known["single.reference"]
    sizes = {n: batch.responses, t: known["mask"].shape[1]}
    wanted = {name: row for name, row in {**ROWS, **NUMBERS}.items() if name not in LOGPS}
    made = EQUATIONS.values(settings, sizes, known, wanted.values(), **changed(ways), device=device)
    of = {name: made[row] * factor_of(ways, name) for name, row in wanted.items()}
    found.rows = {name: row for name, row in of.items() if name in ROWS}
    for model, (tokens, name) in MODELS.items():
        if tokens in batch.tensors:
            summed = (known[f"{model}.logprobs"] * known["mask"]).sum(axis=1)
            found.rows[name] = summed * factor_of(ways, name)
    found.numbers = {name: float(number) for name, number in of.items() if name in NUMBERS}
    found.sizes = {name: abs(number) for name, number in found.numbers.items()}
    if sized:
        _add_room(found, known)
    return found


def _known(batch: SingleResponses, ways: Ways) -> dict[str, Array]:
    """Returns what stands in the blocks; a log-prob of a whole response stands as that."""
    mask, tensors = _mask(batch.mask, str(ways.get("mask", ""))), batch.tensors
    good = tensors["good"] != bool(ways.get("sides"))
    found = {"mask": mask * 1.0, "response.good": good * 1.0}
    for model, (tokens, whole) in MODELS.items():
        found[f"elsewhere.{model}"] = np.asarray(tensors.get(ELSEWHERE[model], np.zeros(len(good))), np.float64)
        found[f"{model}.logprobs"] = np.zeros(mask.shape)
        if tokens in tensors:
            moved = np.roll(np.asarray(tensors[tokens], np.float64), ways.get("moved", {}).get(model, 0), axis=1)
            found[f"{model}.logprobs"] = np.where(mask & np.isfinite(moved), moved, 0.0)
            found[f"single.{model}"] = found[f"{model}.logprobs"].sum(axis=1)
        else:
            found[f"single.{model}"] = np.asarray(tensors[whole], np.float64)
    return found


def _mask(mask: Array, otherwise: str) -> Array:
    """Returns which tokens are a response, as they are or by mistake."""
    made = {
        "all": np.ones_like(mask),
        "one_more": mask | np.pad(mask, ((0, 0), (1, 0)))[:, :-1],
        "no_last": mask & (np.flip(np.cumsum(np.flip(mask, 1), axis=1), 1) > 1),
        "one_less": mask & (np.cumsum(mask, axis=1) > 1),
    }
    return np.asarray(made.get(otherwise, mask))


UNIT = {"float64": 1e-12, "float32": 1e-6, "float16": 2.0**-9, "bfloat16": 2.0**-6}
"""By dtype, what a log-prob of a response may be off, of 1 + its size: about 16 units in the last place."""


def _add_room(found: Again, known: dict[str, Array]) -> None:
    """Adds the room of every row and number: σ moves by a quarter of what its argument moves, and z by as much as a response."""
    batch, use = found.batch, found.settings
    unit = UNIT[coarsest(batch.dtypes, (*MADE_OF, *OF_OTHERS))]
    names = ("single.policy", "single.reference", "elsewhere.policy", "elsewhere.reference")
    off = unit * (1 + max(float(np.abs(known[name]).max(initial=0.0)) for name in names))
    beta, weight = float(use["beta"]), max(float(use["desirable_weight"]), float(use["undesirable_weight"]))
    found.room = dict.fromkeys((*LOGPS, "logps.chosen", "logps.rejected"), off)
    found.room |= dict.fromkeys(
        ("reward", "rewards.chosen", "rewards.rejected", "rewards.margins"), 2 * beta * off + unit
    )
    found.room |= {"kl": 2 * off, **dict.fromkeys(LOSSES, weight * (beta * off + unit))}
