"""What every quantity needs of a dump, as data, and from that what can be computed of one."""

from collections.abc import Collection
from dataclasses import dataclass, field
from types import MappingProxyType

from blueprint.verifying.settings import Settings, number_of


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

PADS = "entropy behind the last word"
"""What a mean over all slots reads; dumps may leave it out."""

_SIGNAL = (Need("rewards"), Need("values_old"))
_KL_IN_REWARD, _KL_IN_TOTAL = (
    tuple(Need(name, {"reward.kl_in": word}, {coef: 0}) for word in (place, "both"))
    for name, place, coef in (("kl", "reward", "kl_coef"), ("kl_loss", "loss", "loss.kl_coef"))
)
_EV = {"metrics.explained": "var_old"}

NEEDS = MappingProxyType(
    {
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
)
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
    found: set[str] = set()
    for need in NEEDS.get(name, ()):
        if need.name not in NEEDS or need.name == name:
            found.add(need.name)
        elif need.name not in known:
            found |= reads(need.name, known)
    return found


def starts(tensors: Collection[str], options: Settings) -> tuple[str, ...]:
    """Returns the quantities that are taken from the dump, because what is before them is not there."""
    lacking = missing(tensors, options)
    return tuple(name for name in STARTS if name in tensors and name in lacking)
