"""What a library's own hyperparameters say of its conventions where a table of names cannot: words that stand for several settings.

TRL 1.16.0, trl/trainer/dpo_trainer.py, `_compute_loss`; 0.24.0, `dpo_loss`.
"""

from collections.abc import Mapping
from typing import Any

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
    said = metadata.get("hyperparameters")
    if not isinstance(said, dict) or str(metadata.get("library") or "").lower() != "trl":
        return said or {}
    old = is_old(metadata)
    kept = {key: value for key, value in said.items() if key not in OWN or (key == "label_smoothing" and old)}
    words = [said["loss_type"]] if isinstance(said.get("loss_type"), str) else list(said.get("loss_type") or ())
    found = kept | _divergence(said) | _loss(words, said)
    form = found.get("loss.form", "sigmoid")
    smooth = said.get("label_smoothing")
    if smooth is not None and form == "exo":
        found["loss.exo_eps"] = float(smooth) or EXO_LEAST
    if smooth is not None and (form in SMOOTHED or (old and form != "exo")):
        found["loss.label_smoothing"] = float(smooth)
    if not old or form == "exo":
        found.pop("label_smoothing", None)
    return found | _weights(said, old) | (_of_old(said, form) if old else {})


def _loss(words: list[str], said: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the form of the loss, and the weight of the NLL; `several` where no conventions are both losses."""
    shares = said.get("loss_weights") or [1.0] * len(words)
    pairs = [(word, float(share)) for word, share in zip(words, shares, strict=False) if word != "sft"]
    nll = sum(float(share) for word, share in zip(words, shares, strict=False) if word == "sft")
    found: dict[str, Any] = {"loss.nll_coef": nll} if nll else {}
    if len(pairs) > 1 or any(share != 1 for _, share in pairs):
        return {"several": "+".join(f"{share:g} {word}" for word, share in pairs)}
    if not pairs:
        return found | ({"loss.form": "none"} if words else {})
    return {**found, **FORMS.get(pairs[0][0], {"loss.form": pairs[0][0]})}


def _of_old(said: Mapping[str, Any], form: str) -> dict[str, Any]:
    """Returns what versions before 0.29 had besides: a loss without reference, an NLL, and a running mean as BCO's threshold."""
    found: dict[str, Any] = {"loss.nll_coef": float(said["rpo_alpha"])} if said.get("rpo_alpha") is not None else {}
    if said.get("reference_free"):
        found |= {"reference.used": "off", "watch.rewards": "with_reference"}
    return found | ({"loss.bco_threshold": "batch_mean"} if form == "bco" else {})


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
        found |= {"logp.ld": "policy" if old else "both", "logp.ld_alpha": float(said["ld_alpha"])}
        found |= {"logp.ld_from": "row"} if old else {}
    if said.get("use_weighting") not in (None, False):
        found["loss.weight"] = "wpo_shifted" if old else "wpo"
    return found
