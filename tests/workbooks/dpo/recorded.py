"""What 18 libraries computed of four pairs, and the conventions that each recorded run had.

`preference_runs.json` says every run's options in words of its own; `conventions_of` says them in ours.
"""

import json
from collections.abc import Iterator
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.workbooks.front_door import FrontDoor, shipped

Array = npt.NDArray[np.float64]
FRONT = FrontDoor(shipped("dpo", "dpo-batch"), {"beta": "dpo.beta"})
"""The pairs on which the libraries ran, as they ship, through the front door."""
DATA = Path(__file__).parents[2] / "data" / "preference_runs.json"
FORMS = {
    "rpo_sq": "rpo_squared",
    "rpo_bwd_kl": "rpo_backward",
    "rpo_fwd_kl": "rpo_forward",
    "orpo_tokenwise": "orpo_tokens",
}
WEIGHTS = {None: "off", "plain": "wpo", "clamped_off_by_one": "wpo_shifted"}
LD = {"policy_and_reference": "both", "policy_only": "policy"}
REGIONS = {
    "prompt_and_response": "text",
    "everything_pads_too": "everything",
    "prompt_last_and_response_without_last": "response",
}
"""The last one says at which inputs the tokens are predicted: they are those of the response."""


class Run(NamedTuple):
    """A recorded run: library, variant, conventions by key, and what came out."""

    library: str
    variant: str
    conventions: dict[str, float | str]
    out: dict[str, Any]


@cache
def recorded_file() -> Any:
    return json.loads(DATA.read_text(encoding="utf-8"))


def log_softmax(z: Array) -> Array:
    """Returns log-probabilities over the last axis."""
    away = z - z.max(-1, keepdims=True)
    return np.asarray(away - np.log(np.exp(away).sum(-1, keepdims=True)))


class Batch(NamedTuple):
    """Eight responses, chosen and rejected ones in turn, [8, 8]: column t writes token t + 1; logits have the vocabulary last."""

    ids: npt.NDArray[np.int64]
    tokens: Array
    text: Array
    logits: dict[str, Array]
    true_rewards: Array

    def logprobs(self, model: str) -> Array:
        """The log-prob of each token that is written, pads too."""
        return np.take_along_axis(log_softmax(self.logits[model]), self.ids[..., None], -1)[..., 0]


ORDER = [0, 4, 1, 5, 2, 6, 3, 7]
"""Chosen and rejected responses of a pair side by side; recorded are first all chosen, then all rejected ones."""


@cache
def batch(of: str = "") -> Batch:
    """Returns the pairs on which all of them ran, or, of "kto_mismatched", each prompt with another response."""
    given = recorded_file()["batch"]
    here = given[of] if of else given
    ids, labels = np.array(here["input_ids"])[ORDER], np.array(here["labels"])[ORDER]
    logits = {name: np.array(here[f"logits_{name}"], float)[ORDER, :-1] for name in ("policy", "reference")}
    tokens = (labels[:, 1:] != -100).astype(float)
    text = np.array(given["attention_mask"], float)[ORDER, 1:] if not of else (ids[:, 1:] != 0).astype(float)
    rewards = np.array(given["rpo_ground_truth_rewards"], float)[ORDER]
    return Batch(ids[:, 1:], tokens, text, logits, rewards)


def runs() -> Iterator[Run]:
    """Yields every run on pairs that has a loss."""
    given = recorded_file()
    for library, found in given["runs"].items():
        for variant, run in found["runs"].items():
            options = run.get("options", {})
            if options.get("stage") == "preference" and "loss" in run["result"]:
                asked = {**given["option_defaults"]["preference"], **options}
                yield Run(library, variant, conventions_of(asked), run["result"])


def conventions_of(o: dict[str, Any]) -> dict[str, float | str]:
    """Returns the conventions of a run by our keys."""
    nll = o["nll"] or {"coef": 0.0, "mean": "token", "region": "response"}
    ld = o["ld"] or {"alpha": 1.0, "on": None, "count_from": "response"}
    return {
        "loss.form": FORMS.get(o["form"], o["form"]), "beta": o["beta"], "loss.gamma": o["gamma"],
        "loss.label_smoothing": o["eps"], "loss.exo_eps": o["eps"] if o["form"] == "exo" else 0.001,
        "loss.bco_threshold": "batch_mean" if o["bco_mix"] else o["bco_delta"].replace("none", "off"), "loss.bco_mix": o["bco_mix"],
        "loss.desirable": o["desirable"], "loss.undesirable": o["undesirable"], "loss.weight": WEIGHTS[o["wpo"]],
        "loss.mean_eps": o["mean_eps"], "loss.nll_coef": nll["coef"], "loss.nll_mean": nll["mean"],
        "loss.nll_region": REGIONS.get(nll["region"], nll["region"]),
        "logp.of": o["logp"].replace("mean_with_next_pad", "mean_with_pad"), "logp.alpha": o["alphapo"] or inf,
        "logp.ld": LD.get(ld["on"], "off"), "logp.ld_from": "row" if "row" in ld["count_from"] else "response",
        "logp.ld_alpha": ld["alpha"], "reference.used": "on" if o["ref"] else "off",
        "margin.divergence": o["f_divergence"], "watch.rewards": o["logged_reward"],
    }  # fmt: skip
