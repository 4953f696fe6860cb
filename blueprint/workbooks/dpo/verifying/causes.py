"""Causes: what is done otherwise somewhere in this family, or known to go wrong, tried one after the other."""

from collections.abc import Iterator, Mapping

from blueprint.inputs.setting import OFF
from blueprint.verifying import Given, Settings, Try, Ways, shown
from blueprint.workbooks.dpo.dumps import PairStep
from blueprint.workbooks.dpo.schema import DPO, dpo_presets
from blueprint.workbooks.dpo.verifying.fitted import fitted
from blueprint.workbooks.dpo.verifying.needs import TRUE

NUMBERS: Mapping[str, tuple[float, ...]] = {
    "beta": (0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 2.5, 5.0, 10.0), "loss.gamma": (0.0, 0.5, 1.0, 1.5, 3.0),
    "loss.label_smoothing": (0.0, 0.01, 0.05, 0.1, 0.2, 0.25, 0.3), "loss.exo_eps": (0.001, 0.01, 0.1),
    "loss.nll_coef": (0.0, 0.05, 0.1, 0.2, 0.5, 1.0), "logp.alpha": (OFF, 0.25, 0.5), "logp.ld_alpha": (0.0, 0.3, 0.5, 1.0),
    "loss.bco_mix": (0.0, 1.0), "loss.mean_eps": (0.0, 1e-8), "loss.discopop_tau": (0.05, 0.1, 1.0), 
}  # fmt: skip
"""Numbers that libraries and papers use, by setting."""
OF_REWARDS = ("beta", "watch.rewards", "logp.of", "logp.ld", "reference.used")
"""Settings that move rewards."""
UNKNOWN = {"loss.form": ("kto", "apo_zero_unpaired", *TRUE), "loss.weight": ("wpo", "wpo_shifted")}
"""Words that take what few files have: responses to other prompts, true rewards, probabilities of all tokens."""
TOGETHER: tuple[Mapping[str, float | str], ...] = (
    {"logp.of": "mean", "loss.form": "ipo"}, {"logp.of": "sum", "loss.form": "ipo"}, {"logp.of": "mean", "reference.used": "off"},
    {"logp.ld": "both", "logp.ld_alpha": 0.5}, {"loss.nll_coef": 1.0, "loss.nll_mean": "sequence_mean"},
    {"loss.nll_coef": 1.0, "loss.nll_mean": "sequence_sum"},
)  # fmt: skip
"""Settings that mean something together alone."""
LOSSES = ("loss.pair", "preference_loss", "total_loss")
MOST_PARTS = 8


SLIPS: Mapping[str, tuple[tuple[str, Ways], ...]] = {
    "logp": (
        ("the last token of each response left out, as where the pad is the end of a text and is masked", {"mask": "no_last"}),
        ("the first token of each response left out", {"mask": "one_less"}),
        ("the token behind each response counted, too", {"mask": "one_more"}),
        ("the prompt counted, too", {"mask": "text"}),
        ("prompt and pads counted, too", {"mask": "all"}),
        ("the policy's log-probs one position late", {"moved": {"policy": 1}}),
        ("the policy's log-probs one position early", {"moved": {"policy": -1}}),
        ("chosen and rejected exchanged in the policy's log-probs", {"sides": ("policy",)}),
    ),
    "logp_ref": (
        ("the reference's log-probs one position late", {"moved": {"reference": 1}}),
        ("the reference's log-probs one position early", {"moved": {"reference": -1}}),
        ("chosen and rejected exchanged in the reference's log-probs", {"sides": ("reference",)}),
        ("the policy's log-probs in the place of the reference's", {"reference": "policy"}),
    ),
    "reward": (
        ("the reference left out", {"reference": "none"}),
        ("the log-ratio the other way round, reference over policy", {"inverted": True}),
        ("chosen and rejected exchanged", {"sides": ("policy", "reference")}),
        ("the policy's log-probs in the place of the reference's", {"reference": "policy"}),
        ("chosen and rejected exchanged in the reference's log-probs", {"sides": ("reference",)}),
    ),
    "accuracy": (
        ("two equal rewards counted as a success", {"ties": 1.0}),
        ("two equal rewards counted as half a success", {"ties": 0.5}),
        ("a success by the margin in the loss, not by the rewards that are logged", {"accuracy_of": "margin"}),
        ("chosen and rejected exchanged", {"sides": ("policy", "reference")}),
    ),
    "loss": (
        ("1 − σ of the margin in the place of −log σ", {"likely": True}),
        ("a sum over the pairs, not their mean", {"summed": True}),
    ),
}  # fmt: skip
"""Mistakes, by what they concern."""
OF_LOSS = ("loss", "reward", "logp", "logp_ref")
OF: Mapping[str, tuple[str, ...]] = {
    "chosen.logp": ("logp",), "rejected.logp": ("logp",), "logps.chosen": ("logp",), "logps.rejected": ("logp",), "nll": ("logp",),
    "chosen.logp_ref": ("logp", "logp_ref"), "rejected.logp_ref": ("logp", "logp_ref"),
    "rewards.accuracies": ("accuracy", "reward", "logp"), "total_loss": OF_LOSS, "preference_loss": OF_LOSS, "loss.pair": OF_LOSS,
}  # fmt: skip
"""By quantity the mistakes that may show in it; in all others those of rewards."""


def tries(batch: PairStep, settings: Settings, name: str, given: Given, whole: PairStep | None) -> Iterator[list[Try]]:
    """Yields what may have been done otherwise where a quantity deviates, in stages, the likelier first.

    given: results of the file before it, for numbers that the file itself gives away. whole: all files of the step.
    """
    yield [*_slips(batch, settings, name, whole), *_conventions(settings, name)]
    if "logp" not in name:
        own = fitted(batch, settings, name, given)
        yield [Try(_said(key, value), {**settings, key: value}, fitted=True) for key, value in own]
    if name in LOSSES:
        yield list(_presets(settings))
        yield list(_pairs(settings))


def _said(key: str, value: float | str) -> str:
    """Says a setting as numbers files have it."""
    return f"{key if '.' in key else f'dpo.{key}'} = {shown(value)}"


def _slips(batch: PairStep, settings: Settings, name: str, whole: PairStep | None) -> Iterator[Try]:
    """Yields mistakes, and numbers that were averaged in parts, multiplied or divided."""
    for each in OF.get(name, ("reward", "logp", "logp_ref")):
        yield from (Try(label, settings, ways) for label, ways in SLIPS[each])
    if name in LOSSES:
        yield from _shares(batch, settings)
    yield Try(f"the opposite sign of {name}", settings, {"factor": {name: -1.0}})
    if whole is not None:
        yield Try("a number of all files of the step together, not of this one", settings, {"whole": True})
    beta = float(settings["beta"])
    if "reward" in name or name == "margin":
        yield Try("β missing", settings, {"factor": {name: 1 / beta}})
        yield Try("β multiplied twice", settings, {"factor": {name: beta}})
    if "." in name and not name.startswith(("rewards.", "logps.")) and name != "loss.pair":
        return
    for count in (each for each in range(2, min(batch.pairs, 64) + 1) if batch.pairs % each == 0 or each <= MOST_PARTS):
        if count < batch.pairs:
            yield Try(f"a mean over {count} microbatches, each averaged by itself", settings, {"parts": count})
        yield Try(f"everything multiplied by {count}", settings, {"factor": {name: float(count)}})
        yield Try(f"everything divided by {count}", settings, {"factor": {name: 1.0 / count}})


def _shares(batch: PairStep, settings: Settings) -> Iterator[Try]:
    """Yields other weights of the losses that are added up: none of them, in another order, or one loss left out."""
    shares = [share for share, _ in batch.terms]
    if not shares:
        return
    yield Try("the weights of the losses left out", settings, {"shares": [1.0] * len(shares)})
    yield Try("the weights of the losses the other way round", settings, {"shares": shares[::-1]})
    for at, name in enumerate(batch.losses):
        yield Try(f"the loss {name} left out", settings, {"shares": [*shares[:at], 0.0, *shares[at + 1 :]]})
        yield Try(
            f"the loss {name} alone", settings, {"shares": [float(other == at) for other, _ in enumerate(shares)]}
        )


def _conventions(settings: Settings, name: str) -> Iterator[Try]:
    """Yields every setting with its other values, and some together."""
    rewards = "reward" in name or name == "margin"
    for key, record in DPO.items():
        if (rewards and key not in OF_REWARDS) or ("logp" in name and not key.startswith("logp")):
            continue
        values: tuple[float | str, ...] = tuple(record.words) or NUMBERS.get(key, ())
        for value in values:
            if value != settings[key] and value not in UNKNOWN.get(key, ()):
                yield Try(_said(key, value), {**settings, key: value})
    if not rewards and "logp" not in name:
        for more in TOGETHER:
            if any(settings[key] != value for key, value in more.items()):
                label = ", ".join(_said(key, value) for key, value in more.items() if settings[key] != value)
                yield Try(label, {**settings, **more})


def _presets(settings: Settings) -> Iterator[Try]:
    """Yields what other presets do."""
    for preset in dpo_presets().presets:
        values = dict(dpo_presets().preset(preset).values)
        words = all(values[key] not in unknown for key, unknown in UNKNOWN.items())
        if words and any(values[key] != settings[key] for key in values):
            yield Try(f"the conventions of {preset}", {**settings, **values})


def _pairs(settings: Settings) -> Iterator[Try]:
    """Yields two at a time, of the conventions in which libraries differ most."""
    keys = ("loss.form", "logp.of", "reference.used")
    singles = [
        (key, value)
        for key in keys
        for value in (DPO[key].words or NUMBERS.get(key, ()))
        if value != settings[key] and value not in UNKNOWN.get(key, ())
    ]
    for at, (key, value) in enumerate(singles):
        for other, second in singles[at + 1 :]:
            if other != key:
                label = f"{_said(key, value)}, and {_said(other, second)}"
                yield Try(label, {**settings, key: value, other: second})
