"""Dumps of steps of DPO and its relatives: their names, their pairs, and what a library's own words say of its conventions.

What a library's own hyperparameters say of its conventions where a table of names cannot: words that stand for several settings.
TRL 1.16.0, trl/trainer/dpo_trainer.py, `_compute_loss`; 0.24.0, `dpo_loss`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from blueprint.dumps import (
    SIDES,
    Array,
    Dump,
    DumpKind,
    MinibatchError,
    Names,
    Needs,
    Raw,
    algorithm_said,
    check_axes,
    check_even,
    halves,
    mentioned,
    naming,
    number_said,
    one_each,
    preset_of_library,
    preset_said,
    recognise,
    require,
    rounding,
    said_shape,
    single_responses,
    true_or_false,
    understood,
    whole_numbers,
)
from blueprint.inputs import counted
from blueprint.quoting import unquoted
from blueprint.workbooks.dpo.schema import DPO, dpo_presets


@dataclass(frozen=True)
class PairStep(Dump):
    """A dump of a step of DPO or a relative, or of a part of one: rows are pairs.

    tensors: as far as the file has them, of each of SIDES `chosen.mask`, `chosen.text` (bool), `chosen.logprobs`,
        `chosen.logprobs_ref`, `chosen.log_squares` ([P, T]), `chosen.tokens` (whole numbers, [P, S]), `chosen.logp`,
        `chosen.logp_ref`, `chosen.reward` ([P]); `margin`, `loss.pair` ([P]). Both sides of a name are there, or none; and
        log-probs of tokens, with their mask, or of whole responses. Outside the mask anything may stand.
    terms: where the loss is a sum of several, the weight of each and the conventions that are its own.
    """

    terms: tuple[tuple[float, Mapping[str, float | str]], ...] = ()
    kind: ClassVar[str] = "dpo"

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return len(self.tensors["chosen.logprobs" if "chosen.logprobs" in self.tensors else "chosen.logp"])

    @property
    def mask(self) -> Array:
        """1 on the tokens of the responses, chosen ones first, [2P, T]; one token each where only whole responses are known."""
        if "chosen.mask" not in self.tensors:
            return np.ones((2 * self.pairs, 1), np.bool_)
        return np.concatenate([self.tensors[f"{side}.mask"] for side in SIDES])

    @property
    def head(self) -> str:
        """Says how many pairs and tokens there are."""
        known = "" if "chosen.mask" in self.tensors else ", of which log-probs of whole responses alone are known"
        return f"A step of DPO: {self.pairs} pair{'s' * (self.pairs > 1)} of a chosen and a rejected response{known}."

    @property
    def losses(self) -> list[str]:
        """Names the losses of which the loss is the sum."""
        return [f"{own['loss.form']}{' of means' * (own.get('logp.of') == 'mean')}" for _, own in self.terms]

    @property
    def mixture(self) -> str:
        """Says the sum that the loss is: `0.8 · sigmoid + 0.2 · bco`."""
        return " + ".join(f"{share:g} · {name}" for (share, _), name in zip(self.terms, self.losses, strict=True))

    @property
    def facts(self) -> Mapping[str, Any]:
        """Says the same for programs."""
        return {"pairs": self.pairs}


STACKED = ("tokens", "mask", "text", "logprobs", "logprobs_ref", "log_squares")
OF_TOKENS = {"logp": "logprobs", "logp_ref": "logprobs_ref"}
"""What is one number of a response, or one of each token; and what it is then."""


def laid_apart(
    arrays: Mapping[str, Array], lengths: Mapping[str, Array], called: Mapping[str, str], above_zero: bool
) -> tuple[dict[str, Array], dict[str, str]]:
    """Returns tensors of each side, [P] and [P, T], and what the file calls them.

    lengths: [P], of arrays that were lists of different lengths. above_zero: whether log-probs above 0 are accepted.
    Raises MinibatchError where sides are uneven or shapes disagree, a mask is missing, or log-probs cannot be.
    """
    found, names = dict[str, Array](), dict[str, str]()
    _check_sides(arrays, called)
    for name, array in arrays.items():
        side, _, what = name.partition(".")
        if name in STACKED:
            whole = whole_numbers(array, called[name], name in lengths) if name == "tokens" else array
            made = halves(name, whole, called[name])
        elif what in ("mask", "text"):
            made = {name: array}
        elif what in OF_TOKENS and _is_wide(array):
            made = {f"{side}.{OF_TOKENS[what]}": array}
            if name in lengths:  # lists of different lengths bring their mask along
                found.setdefault(f"{side}.mask", np.arange(array.shape[1]) < lengths[name][:, None])
        else:
            more = ", or [P, T], a row of tokens for each" if what in OF_TOKENS else ""
            made = {name: one_each(array, called[name], f"[P], a number for each pair{more}")}
        found |= made
        names |= dict.fromkeys(made, called[name])
    check_axes(found, names, STACKED)
    check_even(found, names)
    require(
        "chosen.logp" in found or "chosen.logprobs" in found,
        "log-probs of chosen and rejected responses are missing: chosen_logps and rejected_logps, or per_token_logps.",
    )
    _widen(found)
    _masked(found, names, {called[name] for name in lengths})
    _check(found, names, above_zero)
    return found, names


def _is_wide(array: Array) -> bool:
    """Whether log-probs are those of tokens, [P, T]; one of each response may stand in a column."""
    return array.ndim == 2 and array.shape[1:] != (1,)


def _check_sides(arrays: Mapping[str, Array], called: Mapping[str, str]) -> None:
    """Refuses log-probs of tokens on one side, and of whole responses on the other."""
    for what in OF_TOKENS:
        one, other = (f"{side}.{what}" for side in SIDES)
        if one in arrays and other in arrays and _is_wide(arrays[one]) != _is_wide(arrays[other]):
            shapes = [f"{called[each]} {said_shape(arrays[each].shape)}" for each in (one, other)]
            require(
                False, f"{' and '.join(shapes)} disagree: both sides need the same shape, [P], a number for each pair."
            )


def _widen(found: dict[str, Array]) -> None:
    """Makes both sides as wide as the wider one; the columns that are added hold 0, which is nothing in a mask."""
    for chosen, rejected in [(name, name.replace(*SIDES)) for name in found if name.startswith(SIDES[0])]:
        width = max(found[chosen].shape[-1], found[rejected].shape[-1])
        for name in (chosen, rejected) if found[chosen].ndim == 2 else ():
            found[name] = np.pad(found[name], ((0, 0), (0, width - found[name].shape[1])))


def _masked(found: dict[str, Array], names: Mapping[str, str], ragged: Collection[str]) -> None:
    """Makes masks true and false, in the columns of the log-probs: of whole texts, the first token has none.

    ragged: what the file calls those that were lists of different lengths.
    """
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
                own = names.get(name, name)
                array = true_or_false(found[name], own, own in ragged, _first_row(name, found, names))
                array = array[:, 1:] if array.shape[1] == width + 1 else array
                require(
                    array.shape[1] == width,
                    f"{own} has {counted(array.shape[1], 'column')} and {names[f'{side}.logprobs']} {width}: "
                    "they need the same, or one more.",
                )
                found[name] = array
    for name in [f"{side}.{what}" for side in SIDES for what in ("logprobs_ref", "log_squares")]:
        own = f"{name.partition('.')[0]}.logprobs"
        width, columns = found[own].shape[1], found.get(name, found[own]).shape[1]
        says = f"{names.get(name, name)} has {counted(columns, 'column')} and {names[own]} {width}; they need the same."
        require(columns == width, says)


def _first_row(name: str, found: Mapping[str, Array], names: Mapping[str, str]) -> int:
    """Returns in which row of a tensor of the file a side begins: rejected responses stand below chosen ones, or alone."""
    side, _, what = name.partition(".")
    one, other = (names.get(f"{each}.{what}") for each in SIDES)
    return len(found[name]) if side == SIDES[1] and one == other else 0


def _check(found: Mapping[str, Array], names: Mapping[str, str], above_zero: bool) -> None:
    """Refuses, inside the mask, what is no finite number, and log-probs above 0 by more than rounding, unless they are accepted."""
    for name, array in found.items():
        side, _, what = name.partition(".")
        if not what.startswith("log"):
            continue
        inside = found[f"{side}.mask"] if array.ndim > 1 else np.ones(array.shape, np.bool_)
        most = np.inf if above_zero else rounding("float32") * max(1, array.shape[-1])
        bad = inside & ~(np.isfinite(array) & (array <= most))
        if bad.any():
            at = tuple(np.argwhere(bad)[0].tolist())
            first, most_said = _first_row(name, found, names), "" if above_zero else ", at most 0"
            where = f"row {first + at[0]}, column {at[1]}" if array.ndim > 1 else f"pair {at[0]}"
            meant = "the logarithm of a sum of squared probabilities" if what == "log_squares" else "a log-prob"
            finite = ", a finite number" if not np.isfinite(array[at]) else ""
            raise MinibatchError(
                f"{names.get(name, name)}, {where}: found {array[at]:.6g}, expected {meant}{finite}{most_said}."
            )


def _accepted(found: Mapping[str, Array], called: Mapping[str, str]) -> Iterator[str]:
    """Says how many log-probs above 0 were accepted; no probability is above 1, so that they are of no model."""
    for name, array in found.items():
        side, _, what = name.partition(".")
        if what.startswith("logp"):
            above = (array > 0) & (found[f"{side}.mask"] if array.ndim == 2 else True)
            if above.any():
                are = "log-prob above 0 is" if above.sum() == 1 else "log-probs above 0 are"
                yield f"{called.get(name, name)}: {int(above.sum())} {are} accepted as asked: no model gave them"


ALGORITHMS = ("dpo", "ipo", "kto", "orpo", "cpo", "simpo", "slic", "cdpo")
FORMS: Mapping[str, Mapping[str, str]] = {
    "sigmoid_norm": {"loss.form": "sigmoid", "logp.of": "mean"}, "ipo": {"loss.form": "ipo", "logp.of": "mean"},
    "exo_pair": {"loss.form": "exo"}, "nca_pair": {"loss.form": "nca"}, "bco_pair": {"loss.form": "bco"},
    "sppo_hard": {"loss.form": "sppo"}, "aot_pair": {"loss.form": "aot_unpaired"},
}  # fmt: skip
"""What a loss type is where it is not the form of the same name."""
LOSS_TYPES = (
    "sigmoid", "hinge", "ipo", "exo_pair", "nca_pair", "robust", "bco_pair", "sppo_hard", "aot", "aot_unpaired", "apo_zero",
    "apo_down", "discopop", "sft", "sigmoid_norm",
)  # fmt: skip
"""What TRL calls its losses."""
DIVERGENCES = {"js_divergence": "js"}
SMOOTHED = ("robust", "aot", "aot_unpaired")
"""Losses of TRL 1.16 that look at label_smoothing under our name; exo_pair does as ε_exo, the sigmoid not at all."""
OWN = (
    "loss_type", "loss_weights", "label_smoothing", "ld_alpha", "f_divergence_type", "use_weighting", "rpo_alpha", "reference_free",
)  # fmt: skip
EXO_LEAST = 0.001
LARGEST = 1e308
"""Whole numbers beyond it are no float."""
NLL = "sft"
"""TRL's word for the NLL among the losses that it adds up."""


def algorithm_of(metadata: Mapping[str, Any]) -> str:
    """Returns the algorithm of this family that a file says, "" where it says none."""
    plain = algorithm_said(metadata)
    return plain if plain in ALGORITHMS else ""


def is_old(metadata: Mapping[str, Any]) -> bool:
    """Whether a file of TRL is of a version before 0.29, in which DPO was rewritten."""
    parts = str(metadata.get("version") or "").lstrip("v").split(".")[:2]
    numbers = [int(each) for each in parts if each.isdecimal() and len(each) < 5]
    return len(numbers) == 2 and numbers < [0, 29]


def told(raw: Raw) -> Mapping[str, Any]:
    """Returns the metadata, with the library that the names show where they say none."""
    if raw.metadata.get("library"):
        return raw.metadata
    plain = replace(raw, metadata={key: each for key, each in raw.metadata.items() if key != "preset"})
    return raw.metadata | {"library": recognise(plain, NAMES, dpo_presets).library}


def settings_said(metadata: Mapping[str, Any]) -> Any:
    """Returns the hyperparameters, those of TRL that follow from several of them under our own keys."""
    said, old = _of_trl(metadata), is_old(metadata)
    if said is None:
        return metadata.get("hyperparameters") or {}
    kept = {key: value for key, value in said.items() if key not in OWN or (key == "label_smoothing" and old)}
    found = kept | _loss(said, old)
    if not old or found.get("loss.form") == "exo":
        found.pop("label_smoothing", None)
    return found | _besides(said, old)


def terms_said(metadata: Mapping[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    """Returns the losses that TRL adds up, each with its weight and with the conventions that are its own.

    There are none where a single loss has the weight 1, which the hyperparameters say; the NLL is never one of them.
    """
    said = _of_trl(metadata) or {}
    pairs = {word: share for word, share in _losses(said).items() if word != NLL}
    return [(share, _form(word, said, is_old(metadata))) for word, share in pairs.items()] if _mixed(pairs) else []


def _of_trl(metadata: Mapping[str, Any]) -> Mapping[str, Any] | None:
    said = metadata.get("hyperparameters")
    return said if isinstance(said, dict) and str(metadata.get("library") or "").lower() == "trl" else None


def _losses(said: Mapping[str, Any]) -> dict[str, float]:
    """Returns what each loss is multiplied by, by its name. Raises MinibatchError for names or weights that are none."""
    names, weights = said.get("loss_type"), said.get("loss_weights")
    words = [names] if isinstance(names, str) else [] if names is None else names
    known = (
        isinstance(words, list) and (names is None or len(words) > 0) and all(isinstance(word, str) for word in words)
    )
    require(known, f"loss_type: found {unquoted(str(names))}, expected names of losses.")
    for word in words:
        known = word in (*LOSS_TYPES, *FORMS, *DPO["loss.form"].words)
        require(known, f"loss_type: found {unquoted(word)}, expected one of {', '.join(LOSS_TYPES)}.")
    shares = weights if words and weights is not None else [1.0] * len(words)
    known = isinstance(shares, list) and len(shares) == len(words) and all(map(_is_number, shares))
    require(known, f"loss_weights: found {unquoted(str(weights))}, expected a number for each of {', '.join(words)}.")
    return {
        word: sum(float(share) for each, share in zip(words, shares, strict=True) if each == word) for word in words
    }


def _mixed(pairs: Mapping[str, float]) -> bool:
    return [*pairs.values()] not in ([], [1.0])


def _loss(said: Mapping[str, Any], old: bool) -> dict[str, Any]:
    """Returns the form of the loss, if it is one alone, and the weight of the NLL."""
    losses = _losses(said)
    pairs = {word: share for word, share in losses.items() if word != NLL}
    found = {"loss.nll_coef": losses[NLL]} if losses.get(NLL) else {}
    if _mixed(pairs):
        return found | ({"logp.of": "mean"} if old and "ipo" in pairs else {})  # then all take means
    if not pairs:
        return found | ({"loss.form": "none"} if losses else _smoothing("sigmoid", said, old))
    return found | _form(next(iter(pairs)), said, old)


def _form(word: str, said: Mapping[str, Any], old: bool) -> dict[str, Any]:
    """Returns what a loss type is; BCO's threshold was a running mean before 0.29, of which a file has its own."""
    found: dict[str, Any] = dict(FORMS.get(word, {"loss.form": word}))
    found |= {"loss.bco_threshold": "batch_mean"} if old and found["loss.form"] == "bco" else {}
    return found | _smoothing(found["loss.form"], said, old)


def _smoothing(form: str, said: Mapping[str, Any], old: bool) -> dict[str, Any]:
    """Returns what label_smoothing is to a loss."""
    if said.get("label_smoothing") is None or not (old or form in (*SMOOTHED, "exo")):
        return {}
    of_exo = form == "exo" and said["label_smoothing"] not in (0, "0", "0.0")
    smooth = number_in(said, "label_smoothing", "loss.exo_eps" if of_exo else "loss.label_smoothing")
    return {"loss.exo_eps": smooth or EXO_LEAST} if form == "exo" else {"loss.label_smoothing": smooth}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def number_in(said: Mapping[str, Any], key: str, setting: str) -> float:
    """Returns a hyperparameter that is a number which may stand for a setting. Raises MinibatchError if it is none."""
    found, known = number_said(said[key], key), DPO[setting]
    expected = f"a number from {known.low:g} to {known.high:g}"
    require(known.holds(found), f"{key}: found {found:g}, expected {expected}.")
    return found


def _is_on(said: Mapping[str, Any], key: str) -> bool:
    """Returns a hyperparameter that is true or false, also as a text. Raises MinibatchError if it is neither."""
    found, words = said.get(key), {"true": True, "1": True, "false": False, "0": False, "none": False, "": False}
    word = str(found).lower()
    require(word in words, f"{key}: found {unquoted(str(found))}, expected true or false.")
    return words[word]


def _besides(said: Mapping[str, Any], old: bool) -> dict[str, Any]:
    """Returns the divergence, and weights of tokens and pairs; before 0.29 also a loss without reference, and an NLL."""
    found = dict[str, Any]()
    if word := str(said.get("f_divergence_type") or "").rpartition(".")[2].lower():
        known = word in ("reverse_kl", "forward_kl", "js_divergence")
        found |= {"margin.divergence": DIVERGENCES.get(word, word)} if known else {"f_divergence_type": word}
    if said.get("ld_alpha") is not None:
        found |= {"logp.ld": "policy" if old else "both", "logp.ld_alpha": number_in(said, "ld_alpha", "logp.ld_alpha")}
        found |= {"logp.ld_from": "row"} if old else {}
    if _is_on(said, "use_weighting"):
        found["loss.weight"] = "wpo_shifted" if old else "wpo"
    if old and said.get("rpo_alpha") is not None:
        found["loss.nll_coef"] = number_in(said, "rpo_alpha", "loss.nll_coef")
    if old and _is_on(said, "reference_free"):
        found |= {"reference.used": "off", "watch.rewards": "with_reference"}
    return found


NAMES = Names(Path(__file__).with_suffix(".csv"), DPO)
POLICY, REFERENCE = "log-probs of responses", "those of the reference"
NEEDS: Needs = {
    POLICY: (("chosen.logp", "rejected.logp"), ("logprobs", "mask")),
    REFERENCE: (("chosen.logp_ref", "rejected.logp_ref"), ("logprobs_ref", "mask")),
    "rewards, margins, accuracy": ((POLICY, REFERENCE),),
    "loss": ((POLICY, REFERENCE),),
}
"""What is computed of what; losses without a reference take the first alone."""


def is_pairs(raw: Raw) -> bool:
    """Whether a file is a step of DPO or a relative: it says so, or has log-probs of chosen and of rejected responses."""
    known = [name for name in raw.tensors if name in NAMES.spelled("tensor") and "logp" in name.replace("_", "")]
    sides = all(any(side in name for name in known) for side in SIDES)
    return not single_responses(raw) and (bool(algorithm_of(raw.metadata)) or sides)


def step_of(raw: Raw, path: Path) -> PairStep:
    """Makes a step of a file as it was read.

    Raises:
        MinibatchError: as `read_dump`; sides of different shapes, or log-probs of tokens without a mask.
    """
    with naming(path):
        metadata = told(raw)
        read = understood(raw, NAMES, dpo_presets, DPO, settings_said(metadata))
        names = read.found.called
        tensors, called = laid_apart(read.arrays, read.lengths, names, raw.above_zero)
        notes = [*_accepted(tensors, called)] if raw.above_zero else []
        preset = preset_said(raw.metadata, dpo_presets, _own_preset(metadata, read.library))
        terms = tuple(  # raises MinibatchError for one that is no loss
            (share, mentioned({"hyperparameters": own}, read.library, NAMES, DPO).settings)
            for share, own in terms_said(metadata)
        )
        made = read.made(PairStep, path, tensors, called, notes, preset=preset, terms=terms)
        return replace(made, notes=(*made.notes, f"the loss is a sum: {made.mixture}")) if made.terms else made


def _own_preset(metadata: Mapping[str, Any], library: str | None) -> str:
    """Returns the preset of library, version and algorithm."""
    algorithm = algorithm_of(metadata) or "dpo"
    if library == "trl":
        return f"trl_{'0.24' if is_old(metadata) else '1.16'}" + (f"_{algorithm}" if algorithm != "dpo" else "")
    return preset_of_library(NAMES, library, algorithm)


DUMPS = DumpKind("a step of DPO", dpo_presets, step_of, is_pairs, NAMES, NEEDS, ALGORITHMS)
