"""What a library's own hyperparameters say of its conventions where a table of names cannot: words that stand for several settings.

TRL 1.16.0, trl/trainer/dpo_trainer.py, `_compute_loss`; 0.24.0, `dpo_loss`.
"""

from collections.abc import Mapping
from typing import Any

from blueprint.dumps import number_said, require
from blueprint.quoting import unquoted

ALGORITHM = "algorithm"
ALGORITHMS = ("dpo", "ipo", "kto", "orpo", "cpo", "simpo", "slic", "cdpo")
FORMS: Mapping[str, Mapping[str, str]] = {
    "sigmoid_norm": {"loss.form": "sigmoid", "logp.of": "mean"}, "ipo": {"loss.form": "ipo", "logp.of": "mean"},
    "exo_pair": {"loss.form": "exo"}, "nca_pair": {"loss.form": "nca"}, "bco_pair": {"loss.form": "bco"},
    "sppo_hard": {"loss.form": "sppo"}, "aot_pair": {"loss.form": "aot_unpaired"},
}  # fmt: skip
"""What a loss type is where it is not the form of the same name."""
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
    plain = str(metadata.get(ALGORITHM) or "").lower().replace("-", "_")
    return plain if plain in ALGORITHMS else ""


def is_old(metadata: Mapping[str, Any]) -> bool:
    """Whether a file of TRL is of a version before 0.29, in which DPO was rewritten."""
    parts = str(metadata.get("version") or "").lstrip("v").split(".")[:2]
    numbers = [int(each) for each in parts if each.isdecimal() and len(each) < 5]
    return len(numbers) == 2 and numbers < [0, 29]


def settings_said(metadata: Mapping[str, Any]) -> Any:
    """Returns the hyperparameters, those of TRL that follow from several of them under our own keys."""
    said = _of_trl(metadata)
    if said is None:
        return metadata.get("hyperparameters") or {}
    old = is_old(metadata)
    kept = {key: value for key, value in said.items() if key not in OWN or (key == "label_smoothing" and old)}
    found = kept | _divergence(said) | _loss(said, old)
    if not old or found.get("loss.form") == "exo":
        found.pop("label_smoothing", None)
    return found | _weights(said, old) | (_of_old(said) if old else {})


def terms_said(metadata: Mapping[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    """Returns the losses that TRL adds up, each with its weight and with the conventions that are its own.

    There are none where a single loss has the weight 1, which the hyperparameters say; the NLL is never one of them.
    """
    said = _of_trl(metadata)
    pairs = _of_pairs(_losses(said)) if said is not None else {}
    return (
        [(share, _form(word, said or {}, is_old(metadata))) for word, share in pairs.items()] if _mixed(pairs) else []
    )


def _of_trl(metadata: Mapping[str, Any]) -> Mapping[str, Any] | None:
    said = metadata.get("hyperparameters")
    return said if isinstance(said, dict) and str(metadata.get("library") or "").lower() == "trl" else None


def _losses(said: Mapping[str, Any]) -> dict[str, float]:
    """Returns what each loss is multiplied by, by its name. Raises MinibatchError for names or weights that are none."""
    names, weights = said.get("loss_type"), said.get("loss_weights")
    words = [names] if isinstance(names, str) else names or []
    known = isinstance(words, list) and all(isinstance(word, str) for word in words)
    require(known, f"loss_type: found {unquoted(str(names))}, expected names of losses.")
    shares = weights if words and weights is not None else [1.0] * len(words)
    known = isinstance(shares, list) and len(shares) == len(words) and all(map(_is_number, shares))
    require(known, f"loss_weights: found {unquoted(str(weights))}, expected a number for each of {', '.join(words)}.")
    return {
        word: sum(float(share) for each, share in zip(words, shares, strict=True) if each == word) for word in words
    }


def _of_pairs(losses: Mapping[str, float]) -> dict[str, float]:
    return {word: share for word, share in losses.items() if word != NLL}


def _mixed(pairs: Mapping[str, float]) -> bool:
    return len(pairs) > 1 or any(share != 1 for share in pairs.values())


def _loss(said: Mapping[str, Any], old: bool) -> dict[str, Any]:
    """Returns the form of the loss, if it is one alone, and the weight of the NLL."""
    losses = _losses(said)
    pairs, found = _of_pairs(losses), {"loss.nll_coef": losses[NLL]} if losses.get(NLL) else {}
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
    smooth = number_in(said, "label_smoothing")
    return {"loss.exo_eps": smooth or EXO_LEAST} if form == "exo" else {"loss.label_smoothing": smooth}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def number_in(said: Mapping[str, Any], key: str) -> float:
    """Returns a hyperparameter that is a number. Raises MinibatchError if it is none."""
    return number_said(said[key], key)


def _of_old(said: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what versions before 0.29 had besides: a loss without reference, and an NLL."""
    found: dict[str, Any] = {"loss.nll_coef": number_in(said, "rpo_alpha")} if said.get("rpo_alpha") is not None else {}
    if said.get("reference_free"):
        found |= {"reference.used": "off", "watch.rewards": "with_reference"}
    return found


def _divergence(said: Mapping[str, Any]) -> dict[str, Any]:
    word = str(said.get("f_divergence_type") or "").rpartition(".")[2].lower()
    known = word in ("reverse_kl", "forward_kl", "js_divergence")
    if not word:
        return {}
    return {"margin.divergence": DIVERGENCES.get(word, word)} if known else {"f_divergence_type": word}


def _weights(said: Mapping[str, Any], old: bool) -> dict[str, Any]:
    """Returns weights of tokens and pairs."""
    found: dict[str, Any] = {}
    if said.get("ld_alpha") is not None:
        found |= {"logp.ld": "policy" if old else "both", "logp.ld_alpha": number_in(said, "ld_alpha")}
        found |= {"logp.ld_from": "row"} if old else {}
    if said.get("use_weighting") not in (None, False):
        found["loss.weight"] = "wpo_shifted" if old else "wpo"
    return found
