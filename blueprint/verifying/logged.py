"""What libraries log of a training step, as data: which row each quantity is, what it is made of, and which conventions move it;
and what every quantity needs of a dump, so that it can be computed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from blueprint.verifying.settings import Settings, number_of

_WHITENING = ("advantage.ddof", "advantage.stats", "advantage.eps_form", "advantage.mean_eps", "advantage.ddof_eps")
_KL = ("kl_coef", "kl_estimator", "reward.kl_in", "reward.kl_clamp_in", "reward.kl_clamp_out", "reward.kl_clamp_of")
_KL_IN_LOSS = ("loss.kl_coef", "reward.kl_in")
_KL_LOSS = (*_KL_IN_LOSS, "loss.kl_estimator", "loss.kl_clamp_in", "loss.kl_clamp_out", "loss.kl_clamp_of")
_SCORE = (
    "reward.length_penalty",
    "reward.free_tokens",
    "reward.score_clip",
    "reward.missing_eos",
    "reward.missing_eos_test",
    "reward.missing_eos_value",
)
_GAE = ("gamma", "gae_lambda", "advantage.tail_slots", "advantage.gae_holes", "batch.response_mask")
_AGGREGATION = ("loss.aggregation", "loss.agg_eps", "loss.seq_eps", "batch.response_mask")
_CLIP = ("clip", "clip_range", "loss.clip_range_high", "loss.dual_clip", "loss.log_ratio_clamp")


@dataclass(frozen=True)
class Quantity:
    """A tensor or number that a library may log.

    rows: its row, then others that libraries log by the same name, with what the name then means.
    needs: its name in `NEEDS`.
    after: what it is made of, among what is logged.
    moves: the conventions that move it while what it is made of stays.
    spread, weights: the row that a number is a sum of, and the weights of that sum: rounding moves it by their rounding.
    whitened: it is divided by a deviation, so that rounding is, too.
    """

    name: str
    rows: tuple[tuple[str, str], ...]
    needs: str
    after: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    spread: str = ""
    weights: str = ""
    whitened: bool = False


TENSORS = (
    Quantity("scores", (("score.place", ""),), "scores", (), ("reward.score_slot",)),
    Quantity(
        "rewards", (("rewards", ""), ("rewards.raw", "before whitening")), "rewards", ("scores",),
        (*_KL, "reward.kl_at_first_pad", "reward.score_slot", *_SCORE, "reward.whiten", "reward.whiten_rezero",
         "whiten_eps", *_WHITENING, "batch.response_mask", "advantage.tail_slots"),
    ),
    Quantity(
        "advantages",
        (("advantages_used", ""), ("advantages", "before whitening")),
        "advantages",
        ("rewards",),
        ("whiten_advantages", *_WHITENING, "whiten_eps", *_GAE),
        whitened=True,
    ),
    Quantity("returns", (("returns", ""),), "returns", ("rewards",), _GAE),
)  # fmt: skip
"""Tensors, in the order of derivation."""

NUMBERS = (
    Quantity("kl.statistic", (("kl.statistic", ""),), "kl", (), (*_KL, "metrics.kl_stat", "advantage.mean_eps"),
             "kl.response_used"),
    Quantity("loss.mean_ratio", (("loss.mean_ratio", ""), ("ratio.mean", "pads counted")), "ratio", (),
             ("metrics.over", "loss.log_ratio_clamp", "batch.response_mask"), "ratio"),
    Quantity("ratio.mean", (("ratio.mean", ""), ("loss.mean_ratio", "over the tokens")), "ratio", (),
             ("metrics.over", "loss.log_ratio_clamp", "batch.response_mask"), "ratio"),
    Quantity("approx_kl.used", (("approx_kl.used", ""),), "approx_kl", (),
             ("metrics.kl", "metrics.log_ratio", "metrics.over", "loss.log_ratio_clamp", "batch.response_mask"), "policy_kl.used"),
    Quantity("policy_loss", (("policy_loss", ""),), "policy_loss", ("advantages",),
             (*_CLIP, "loss.ratio_threshold", "loss.sample_filter", *_AGGREGATION), "surrogate",
             "policy.weight.row", whitened=True),
    Quantity("clip_fraction.used", (("clip_fraction.used", ""),), "clip_fraction", ("advantages",),
             ("metrics.clip_fraction", *_CLIP, "batch.response_mask", "advantage.mean_eps")),
    Quantity("clip_fraction.dual", (("clip_fraction.dual", ""),), "clip_fraction", ("advantages",),
             (*_CLIP, "batch.response_mask", "advantage.mean_eps")),
    Quantity("value_loss", (("value_loss", ""), ("adds.value_loss", "times its coefficient")), "value_loss", ("returns",),
             ("value_clip_range", "value.factor", "value.tail", "value.combine", "value.aggregation", "loss.ratio_threshold",
              *_AGGREGATION), "value.word_loss", "value.weight.row"),
    Quantity("clip_fraction.value", (("clip_fraction.value", ""),), "value_loss", ("returns",),
             ("value_clip_range", "value.tail", "batch.response_mask", "advantage.mean_eps")),
    Quantity("ev.used", (("ev.used", ""),), "explained_variance", ("returns",),
             ("metrics.explained", "metrics.ev_eps", "advantage.ddof", "batch.response_mask"), "returns"),
    Quantity("entropy", (("entropy", ""), ("entropy.watched", "watched")), "entropy", (),
             ("loss.entropy_aggregation", "loss.sample_filter", "metrics.over", *_AGGREGATION), "", "entropy.weight.row"),
    Quantity("entropy.watched", (("entropy.watched", ""), ("entropy", "as in the loss")), "entropy.watched", (),
             ("metrics.over", "batch.response_mask")),
    Quantity("kl_loss", (("kl_loss", ""), ("adds.kl_loss", "times its coefficient")), "kl_loss", (),
             (*_KL_LOSS, *_AGGREGATION), "kl_new.used", "policy.weight.row"),
    Quantity("total_loss", (("total_loss", ""),), "total_loss", ("policy_loss", "value_loss", "entropy", "kl_loss"),
             ("vf_coef", "ent_coef", "policy_kl_coef", "loss.joint", *_KL_IN_LOSS), "surrogate",
             "policy.weight.row", whitened=True),
)  # fmt: skip
"""Numbers, in the order of derivation."""

CALLED: Mapping[str, str] = {
    "kl": "kl.statistic",
    "ratio": "ratio.mean",
    "mean_ratio": "loss.mean_ratio",
    "approx_kl": "approx_kl.used",
    "clip_fraction": "clip_fraction.used",
    "explained_variance": "ev.used",
}
"""Other names of logged numbers."""

PARTS = ("policy_loss", "value_loss", "entropy", "kl_loss")
"""Numbers that a total loss is the sum of."""

ALL = MappingProxyType({each.name: each for each in (*TENSORS, *NUMBERS)})


def before(name: str, quantities: Mapping[str, Any] = ALL, known: Collection[str] = ()) -> tuple[str, ...]:
    """Returns everything that a quantity is made of, directly (`after`) or through others, and not through what is known."""
    direct = [each for each in quantities[name].after if each not in known]
    return tuple(dict.fromkeys(far for each in direct for far in (each, *before(each, quantities, known))))


@dataclass(frozen=True)
class Need:
    """A tensor of the dump, or another quantity, that is needed where settings stand at some values, and at none of others."""

    name: str
    when: Settings = field(default_factory=dict)
    unless: Settings = field(default_factory=dict)

    def holds(self, options: Settings) -> bool:
        """Tells whether it is needed under the options."""
        stands = {key: number_of(key, options[key]) for key in (*self.when, *self.unless)}
        return all(stands[key] == number_of(key, value) for key, value in self.when.items()) and all(
            stands[key] != number_of(key, value) for key, value in self.unless.items()
        )


DISTRIBUTIONS = "distributions"
"""What an exact KL is made of, the probability of every token of the vocabulary, which no dump has."""

PADS = "entropy behind the last token"
"""What a mean over all slots reads; dumps may leave it out."""

_SIGNAL = (Need("rewards"), Need("values_old"))
_KL_IN_REWARD, _KL_IN_TOTAL = (
    tuple(Need(name, {"reward.kl_in": word}, {coef: 0}) for word in (place, "both"))
    for name, place, coef in (("kl", "reward", "kl_coef"), ("kl_loss", "loss", "loss.kl_coef"))
)
_EV = {"metrics.explained": "var_old"}

NEEDS: Mapping[str, tuple[Need, ...]] = {
    "kl": (Need("logprobs_old"), Need("logprobs_ref"), Need(DISTRIBUTIONS, {"kl_estimator": "full"})),
    "rewards": (Need("scores"), *_KL_IN_REWARD),
    "advantages": _SIGNAL,
    "returns": _SIGNAL,
    "ratio": (Need("logprobs_old"), Need("logprobs_new")),
    "approx_kl": (Need("ratio"),),
    "clip_fraction": (Need("ratio"), Need("advantages", {"metrics.clip_fraction": "loss"})),
    "policy_loss": (Need("ratio"), Need("advantages")),
    "value_loss": (Need("values_new"), Need("returns"), Need("values_old", unless={"value_clip_range": "off"})),
    "entropy": (Need("entropy"),),
    "kl_loss": (Need("logprobs_new"), Need("logprobs_ref"), Need(DISTRIBUTIONS, {"loss.kl_estimator": "full"})),
    "policy_kl": (Need(DISTRIBUTIONS),),
    "total_loss": (
        Need("policy_loss"),
        Need("value_loss", {"loss.joint": "on"}, {"vf_coef": 0}),
        Need("entropy", unless={"ent_coef": 0}),
        *_KL_IN_TOTAL,
        Need("policy_kl", unless={"policy_kl_coef": 0}),
    ),
    "entropy.watched": (Need("entropy"), Need(PADS, {"metrics.over": "all"})),
    "explained_variance": (Need("returns"), Need("values_old", _EV), Need("values_new", unless=_EV)),
}
"""By quantity what it needs, in the order of derivation: tensors of the dump by their neutral names, and quantities."""

STARTS = ("rewards", "advantages", "returns")
"""Quantities that a dump may have itself: the computation starts there where what is before them is missing."""


def missing(tensors: Collection[str], options: Settings) -> dict[str, str]:
    """Returns, by name of a quantity that cannot be computed from the tensors of a dump, the first thing that is missing.

    A quantity of STARTS that the dump has itself stops what is missing before it from spreading.
    """
    found: dict[str, str] = {}
    for name, needs in NEEDS.items():
        for each in (need.name for need in needs if need.holds(options)):
            computed = each in NEEDS and each != name
            lacks = found.get(each) if computed else each
            if lacks and (each not in tensors or (computed and each not in STARTS)):
                found.setdefault(name, lacks)
    return found


def reads(name: str, known: Collection[str]) -> set[str]:
    """Returns the tensors that a quantity is made of under any settings, not counting what known quantities are made of."""
    direct = {need.name for need in NEEDS.get(name, ())} - (NEEDS.keys() & set(known))
    return {far for each in direct for far in (reads(each, known) if each in NEEDS and each != name else {each})}


def starts(tensors: Collection[str], options: Settings) -> tuple[str, ...]:
    """Returns the quantities that are taken from the dump, because what is before them is not there."""
    return tuple(name for name in missing(tensors, options) if name in STARTS and name in tensors)
