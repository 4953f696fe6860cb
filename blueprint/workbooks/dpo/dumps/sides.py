"""The tensors of a file of pairs, side by side: those that hold all chosen responses and then all rejected ones are laid apart."""

from collections.abc import Mapping

import numpy as np

from blueprint.dumps import (
    SIDES,
    Array,
    MinibatchError,
    check_axes,
    check_even,
    halves,
    require,
    rounding,
    true_or_false,
)

STACKED = ("tokens", "mask", "text", "logprobs", "logprobs_ref", "log_squares")
OF_TOKENS = {"logp": "logprobs", "logp_ref": "logprobs_ref"}
"""What is one number of a response, or one of each token; and what it is then."""
BOTH = ("margin", "loss.pair", "row_index")


def laid_apart(
    arrays: Mapping[str, Array], lengths: Mapping[str, Array], called: Mapping[str, str]
) -> tuple[dict[str, Array], dict[str, str]]:
    """Returns tensors of each side, [P] and [P, T], and what the file calls them.

    lengths: [P], of arrays that were lists of different lengths.
    Raises MinibatchError where sides are uneven or shapes disagree, a mask is missing, or log-probs cannot be.
    """
    found, names = dict[str, Array](), dict[str, str]()
    for name, array in arrays.items():
        if name in STACKED:
            both = halves(name, array, called[name])
            found |= both
            names |= dict.fromkeys(both, called[name])
        elif name in BOTH:
            found[name], names[name] = array.reshape(-1), called[name]
        else:
            _one_side(name, array, lengths, called, found, names)
    check_even(found, names)
    _enough(found)
    check_axes(found, names, STACKED)
    _widen(found)
    _masked(found, names)
    _check(found, names)
    return found, names


def _one_side(
    name: str,
    array: Array,
    lengths: Mapping[str, Array],
    called: Mapping[str, str],
    found: dict[str, Array],
    names: dict[str, str],
) -> None:
    """Takes what is of one side; log-probs of each token bring their mask along where they are lists of different lengths."""
    side, _, what = name.partition(".")
    if what in OF_TOKENS and array.ndim == 2 and array.shape[1:] != (1,):
        if name in lengths:
            found.setdefault(f"{side}.mask", np.arange(array.shape[1]) < lengths[name][:, None])
        found[f"{side}.{OF_TOKENS[what]}"], names[f"{side}.{OF_TOKENS[what]}"] = np.nan_to_num(array), called[name]
        return
    found[name] = array if what in ("mask", "text") else array.reshape(-1)
    names[name] = called[name]


def _widen(found: dict[str, Array]) -> None:
    """Makes both sides as wide as the wider one; the columns that are added hold 0, which is nothing in a mask."""
    for name in [name.partition(".")[2] for name in found if name.startswith(SIDES[0]) and found[name].ndim == 2]:
        both = [found[f"{side}.{name}"] for side in SIDES]
        width = max(each.shape[1] for each in both)
        for side, each in zip(SIDES, both, strict=True):
            found[f"{side}.{name}"] = np.pad(each, ((0, 0), (0, width - each.shape[1])))


def _enough(found: Mapping[str, Array]) -> None:
    """Refuses a file without log-probs."""
    require(
        "chosen.logp" in found or "chosen.logprobs" in found,
        "log-probs of chosen and rejected responses are missing: chosen_logps and rejected_logps, or per_token_logps.",
    )


def _masked(found: dict[str, Array], names: Mapping[str, str]) -> None:
    """Makes masks true and false, in the columns of the log-probs: of whole texts, the first token has none."""
    if "chosen.logprobs" not in found:
        for name in [f"{side}.{what}" for side in SIDES for what in ("mask", "text")]:
            found.pop(name, None)
        require(
            "chosen.logprobs_ref" not in found,
            "log-probs of tokens are there of the reference alone: write those of the policy, too, or sums of both.",
        )
        return
    require(
        "chosen.mask" in found,
        "log-probs of tokens are there, and no mask: write completion_mask, 1 on the tokens of the responses.",
    )
    for side in SIDES:
        width = found[f"{side}.logprobs"].shape[1]
        for what in ("mask", "text"):
            name = f"{side}.{what}"
            if name in found:
                array = found[name][:, 1:] if found[name].shape[1] == width + 1 else found[name]
                require(
                    array.shape[1] == width,
                    f"{names.get(name, name)} has {array.shape[1]} columns and {names[f'{side}.logprobs']} {width}: "
                    "they need the same, or one more.",
                )
                found[name] = true_or_false(array, names.get(name, name))
    for name in [f"{side}.{what}" for side in SIDES for what in ("logprobs_ref", "log_squares")]:
        own = f"{name.partition('.')[0]}.logprobs"
        require(
            name not in found or found[name].shape == found[own].shape,
            f"{names.get(name, name)} and {names[own]} disagree; they need the same rows and columns.",
        )


def _check(found: Mapping[str, Array], names: Mapping[str, str]) -> None:
    """Refuses log-probs above 0 by more than rounding, and what is no number, inside the mask."""
    for name, array in found.items():
        side, _, what = name.partition(".")
        if not what.startswith("logp"):
            continue
        inside = found[f"{side}.mask"] if array.ndim == 2 else np.ones(array.shape, np.bool_)
        bad = inside & ~(np.nan_to_num(array, nan=1.0, posinf=1.0) <= rounding("float32") * max(1, array.shape[-1]))
        if bad.any():
            at = tuple(np.argwhere(bad)[0].tolist())
            raise MinibatchError(
                f"{names.get(name, name)}, pair {at[0]}: found {array[at]:.6g}, expected a log-prob, at most 0."
            )
