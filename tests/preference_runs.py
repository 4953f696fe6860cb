"""What libraries computed of one small batch of preferences, `preference_runs.json`: of pairs, of texts and of reward models.

The file says every run's options in words of its own; `conventions` says them in ours. Recorded are first all chosen responses of
the four pairs, then the rejected ones; in a `Batch` the two of a pair stand in turn, and column t writes token t + 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Conventions = dict[str, float | str]
Options = dict[str, Any]
ORDER = [0, 4, 1, 5, 2, 6, 3, 7]
"""The two responses of a pair side by side."""


@cache
def recorded_file() -> Any:
    return json.loads((Path(__file__).parent / "data" / "preference_runs.json").read_text(encoding="utf-8"))


class Run(NamedTuple):
    """A recorded run: library, variant, its options, filled up with the defaults, and what came out."""

    library: str
    variant: str
    options: Options
    out: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.library}-{self.variant}"

    @property
    def conventions(self) -> Conventions:
        """Its options by our keys."""
        return CONVENTIONS[self.options["stage"]](self.options)


@cache
def runs(stage: str) -> tuple[Run, ...]:
    """Returns all runs of a stage: preference, sft or reward_model."""
    return tuple(_runs(stage))


def with_loss(stage: str) -> list[Run]:
    """Returns the runs of a stage that have a loss of the batch."""
    return [run for run in runs(stage) if "loss" in run.out]


def _runs(stage: str) -> Iterator[Run]:
    defaults = recorded_file()["option_defaults"][stage]
    for library, found in recorded_file()["runs"].items():
        for variant, run in found["runs"].items():
            options = {"stage": "preference"} | run.get("options", {})  # one run is of a function, with the defaults
            if options["stage"] == stage:
                every = _by_microbatches if stage == "sft" else _as_it_is
                yield from every(Run(library, variant, defaults | options, run["result"]))


def _as_it_is(run: Run) -> Iterator[Run]:
    yield run


PARTS = {"one_batch": 1, "two_microbatches": 2, "four_microbatches": 4}
MEANS = "_mean_of_means"


def _by_microbatches(run: Run) -> Iterator[Run]:
    """Yields fine-tuning on each number of microbatches by itself, where several were run."""
    for part, out in {"": run.out}.items() if "loss" in run.out else run.out.items():
        more: Options = {"packing": "bfd"} if "packing" in run.variant else {}
        if part:
            more["microbatches"] = PARTS[part.removesuffix(MEANS)]
        if part.endswith(MEANS):
            more["normaliser"] = "microbatch_mean"
        yield Run(run.library, f"{run.variant} {part}".strip(), run.options | more, out)


DPO_FORMS = {
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


def _of_pairs(o: Options) -> Conventions:
    nll = o["nll"] or {"coef": 0.0, "mean": "token", "region": "response"}
    ld = o["ld"] or {"alpha": 1.0, "on": None, "count_from": "response"}
    return {
        "loss.form": DPO_FORMS.get(o["form"], o["form"]), "beta": o["beta"], "loss.gamma": o["gamma"],
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


NORMALISERS = {
    "global": "tokens", "global_counting_first_tokens": "labels", "microbatch_mean": "microbatches",
    "sequence_sum_mean": "row_sums", "tokens_with_nonzero_logp": "nonzero",
}  # fmt: skip


def _of_texts(o: Options) -> Conventions:
    packed: Conventions = {"packing": o["packing"]} if "packing" in o else {}
    return {
        "region": REGIONS.get(o["region"], o["region"]), "loss.normaliser": NORMALISERS[o["normaliser"]],
        "loss.mean_eps": o["mean_eps"], "microbatches": o["microbatches"], "loss.dft": "on" if o["dft"] else "off", **packed,
    }  # fmt: skip


REWARD_FORMS = {
    "log1p_exp": {"loss.form": "log_exp"},
    "per_position": {"loss.form": "per_position"},
    "kwise_mean_per_ranking": {"loss.average": "rankings"},
    "kwise_pairs_pooled": {"loss.average": "pairs"},
    "softmax_best": {"loss.form": "softmax_best", "loss.average": "rankings"},
}
RANKED = ("kwise_mean_per_ranking", "kwise_pairs_pooled", "softmax_best")
"""Forms that were run on the two rankings; all others on the four pairs."""


def _of_scores(o: Options) -> Conventions:
    mean, std = o["normalise"] or (0.0, 1.0)
    return {
        "score.read": o["read"].replace("before_eos", "before_end"), "score.subtract": mean, "score.divide": std,
        "loss.margin": "typed" if o["margin"] else "off",
        "center": o["center"], "l2": o.get("l2", 0.0), "loss.mean_eps": o["mean_eps"], **REWARD_FORMS.get(o["form"], {}),
    }  # fmt: skip


CONVENTIONS: dict[str, Callable[[Options], Conventions]] = {
    "preference": _of_pairs, "sft": _of_texts, "reward_model": _of_scores,
}  # fmt: skip


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


class Compared(NamedTuple):
    """Responses: a score after every token, tokens, text, all [N, T]; of each pair both responses, margin, ranking."""

    head: Array
    ids: Array
    text: Array
    chosen: list[int]
    rejected: list[int]
    margin: Array
    ranking: list[int]


@cache
def pairs() -> Compared:
    """The four pairs, chosen and rejected responses in turn, as in the built-in numbers."""
    given = recorded_file()["batch"]
    head, ids, text = (np.array(given[name], float)[ORDER] for name in ("rm_head", "input_ids", "attention_mask"))
    return Compared(head, ids, text, [0, 2, 4, 6], [1, 3, 5, 7], np.array(given["rm_margin"]), [1, 2, 3, 4])


@cache
def rankings() -> Compared:
    """Two rankings, best first: a score and nothing else is recorded of each response, which here is one token."""
    given = recorded_file()["batch"]["rm_rankings"]
    scores = np.array([score for each in given for score in each])[:, None]
    first = np.cumsum([0, *map(len, given)])
    both = [
        (at + 1, i + first[at], j + first[at])
        for at, each in enumerate(given)
        for i, j in combinations(range(len(each)), 2)
    ]
    ranking, chosen, rejected = ([int(each[k]) for each in both] for k in range(3))
    one = np.ones_like(scores)
    return Compared(scores, 2 * one, one, chosen, rejected, np.zeros(len(both)), ranking)


def is_ranked(run: Run) -> bool:
    """Tells whether a reward model was run on the two rankings, and not on the four pairs."""
    return run.options["form"] in RANKED


def counts(run: Run) -> Array:
    """Returns which pairs the run of a reward model was on."""
    of, asked = rankings() if is_ranked(run) else pairs(), run.options
    if "ranking" in asked:
        return np.array([float(number == asked["ranking"] + 1) for number in of.ranking])
    kept = range(len(of.chosen)) if asked["pairs"] == "all" else asked["pairs"]
    return np.array([float(at in kept) for at in range(len(of.chosen))])
