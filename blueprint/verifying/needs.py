"""What every quantity needs of a dump, as data, and from that what can be computed of one."""

from collections.abc import Collection
from dataclasses import dataclass
from types import MappingProxyType

from blueprint.verifying.settings import Settings, number_of


@dataclass(frozen=True)
class If:
    """A setting that stands at a value, or, with `other`, at any other value."""

    setting: str
    value: float | str
    other: bool = False

    def holds(self, options: Settings) -> bool:
        """Tells whether it does under the options."""
        stands = number_of(self.setting, options[self.setting]) == number_of(self.setting, self.value)
        return stands != self.other


@dataclass(frozen=True)
class Need:
    """A tensor of the dump, or another quantity, that is needed where all of some conditions hold."""

    name: str
    when: tuple[If, ...] = ()


DISTRIBUTIONS = "distributions"
"""What an exact KL is made of, the probability of every word of the vocabulary, which no dump has."""

PADS = "entropy behind the last word"
"""What a mean over all slots reads; dumps may leave it out."""

_EXACT = Need(DISTRIBUTIONS, (If("kl_estimator", "full"),))
_EXACT_IN_LOSS = Need(DISTRIBUTIONS, (If("loss.kl_estimator", "full"),))
_SIGNAL = (Need("rewards"), Need("values_old"))
_PAID_IN_REWARD, _PAID_IN_LOSS = (
    tuple(Need(name, (If("reward.kl_in", word), If(coef, 0, other=True))) for word in (place, "both"))
    for name, place, coef in (("kl", "reward", "kl_coef"), ("kl_loss", "loss", "loss.kl_coef"))
)
_VAR_OLD = "metrics.explained", "var_old"

NEEDS = MappingProxyType(
    {
        "kl": (Need("logprobs_old"), Need("logprobs_ref"), _EXACT),
        "rewards": (Need("scores"), *_PAID_IN_REWARD),
        "advantages": _SIGNAL,
        "returns": _SIGNAL,
        "ratio": (Need("logprobs_old"), Need("logprobs_new")),
        "approx_kl": (Need("ratio"),),
        "clip_fraction": (Need("ratio"), Need("advantages", (If("metrics.clip_fraction", "loss"),))),
        "policy_loss": (Need("ratio"), Need("advantages")),
        "value_loss": (
            Need("values_new"),
            Need("returns"),
            Need("values_old", (If("value_clip_range", "off", other=True),)),
        ),
        "entropy": (Need("entropy"),),
        "kl_loss": (Need("logprobs_new"), Need("logprobs_ref"), _EXACT_IN_LOSS),
        "policy_kl": (Need(DISTRIBUTIONS),),
        "total_loss": (
            Need("policy_loss"),
            Need("value_loss", (If("loss.joint", "on"), If("vf_coef", 0, other=True))),
            Need("entropy", (If("ent_coef", 0, other=True),)),
            *_PAID_IN_LOSS,
            Need("policy_kl", (If("policy_kl_coef", 0, other=True),)),
        ),
        "entropy.watched": (Need("entropy"), Need(PADS, (If("metrics.over", "all"),))),
        "explained_variance": (
            Need("returns"),
            Need("values_old", (If(*_VAR_OLD),)),
            Need("values_new", (If(*_VAR_OLD, other=True),)),
        ),
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
        asked = [need.name for need in needs if all(each.holds(options) for each in need.when)]
        for each in asked:
            lacks = (None if each in tensors else each) if each == name else _lacks(each, tensors, found)
            if lacks is not None:
                found.setdefault(name, lacks)
    return found


def reads(name: str, known: Collection[str]) -> set[str]:
    """Returns the tensors that a quantity is made of under any settings, not counting what known quantities are made of."""
    found: set[str] = set()
    for need in NEEDS.get(name, ()):
        if need.name in NEEDS and need.name != name:
            found |= set() if need.name in known else reads(need.name, known)
        else:
            found.add(need.name)
    return found


def _lacks(name: str, tensors: Collection[str], found: dict[str, str]) -> str | None:
    if name in STARTS and name in tensors:
        return None
    if name in NEEDS:
        return found.get(name)
    return None if name in tensors else name


def starts(tensors: Collection[str], options: Settings) -> tuple[str, ...]:
    """Returns the quantities that are taken from the dump, because what is before them is not there."""
    return tuple(name for name in STARTS if name in tensors and name in missing(tensors, options))
