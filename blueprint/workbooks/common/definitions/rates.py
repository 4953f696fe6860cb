"""The typed numbers of an optimiser, which weights share them (all, or policy and critic have an optimiser each), and the marks
of its steps.

Sources: torch 2.13, torch.optim; for two optimisers verl 0.9.1, OpenRLHF 0.11.2, NeMo-Aligner 0.7, NeMo-RL 7ea279a and
DeepSpeed-Chat 83757d9, each of which has a rate, a norm and a limit for the policy, and others for the critic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from blueprint.language import Arithmetic, Block, block, typed, where


class Rates(NamedTuple):
    """What is typed of an optimiser.

    norm_eps: what torch adds to the norm of the gradient before it divides by it.
    """

    lr: Block
    beta1: Block
    beta2: Block
    eps: Block
    weight_decay: Block
    max_norm: Block
    norm_eps: Block


class Group(NamedTuple):
    """Weights that share a rate and a norm. name: which they are, or nothing where they are all.

    joint: 1 where the norm is that of all weights, 0 where it is their own. own: typed numbers that are used only then.
    """

    name: str
    keys: Sequence[str]
    by: Rates
    joint: Arithmetic | int = 1
    own: tuple[Block, ...] = ()

    @property
    def rows(self) -> tuple[Block, ...]:
        """Every number of it, those of its own first."""
        return (*self.own, *self.by)


def rates(name: str = "optimiser") -> Rates:
    """Makes the typed numbers of an optimiser."""
    return Rates(
        typed(f"{name}.lr", (), "lr", "learning rate", decimals=5),
        typed(f"{name}.beta1", (), "β1", "how much of the mean gradient is kept from step to step", unit="0 … 1"),
        typed(f"{name}.beta2", (), "β2", "how much of the mean squared gradient is kept", unit="0 … 1"),
        typed(f"{name}.eps", (), "ε_a", "keeps the step from dividing by 0", decimals=10),
        typed(f"{name}.weight_decay", (), "wd", "weight decay", unit="≥ 0"),
        typed(f"{name}.max_norm", (), "g_max", "largest norm of the whole gradient", unit="> 0, or off", limit=True),
        typed(f"{name}.norm_eps", (), "ε_g", "added to the norm before dividing by it", decimals=10),
    )


def apart(keys: Sequence[str], others: Sequence[str], by: Rates, joint: Arithmetic, name: str) -> tuple[Group, Group]:
    """Makes two groups, of which the second has rates of its own where `joint` is 0. name: of its rates, `optimiser.critic`."""
    whose = name.rpartition(".")[2]
    lr = typed(f"{name}_lr", (), f"lr_{whose}", f"learning rate of the {whose}, where it is trained apart", decimals=5)
    most = typed(f"{name}_max_norm", (), f"g_max_{whose}", f"largest norm of the {whose}'s gradient, where it is trained apart",
                 unit="> 0, or off", limit=True)  # fmt: skip
    used = [
        block(f"{each.name}.used", (), f"{each.symbol}′", f"the one that is used: {each.symbol} where it is trained apart",
              decimals=each.about.decimals)
        for each in (lr, most)
    ]  # fmt: skip
    for made, own, shared in zip(used, (lr, most), (by.lr, by.max_norm), strict=True):
        made[()] = where(joint, shared, own)
    first = next(iter(keys)).partition(".")[0]
    return Group(first, keys, by, joint), Group(
        whose, others, by._replace(lr=used[0], max_norm=used[1]), joint, (lr, most)
    )


def of_step(symbol: str, number: object = "") -> str:
    """Writes the number of a step behind a symbol, in place of one that is there: E⁽²⁾; without a number, the bare symbol."""
    bare = symbol.partition("⁽")[0]
    return f"{bare}⁽{raised(number)}⁾" if number else bare


def raised(number: object) -> str:
    """Writes a number as an exponent."""
    return str(number).translate(str.maketrans("0123456789.", "⁰¹²³⁴⁵⁶⁷⁸⁹˙"))
