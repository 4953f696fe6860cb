"""How a step is cut into files: over which rows libraries whiten and take means, and what a part of a step cannot tell alone.

A part does not know with which mean and deviation it was whitened. What it can tell is compared all the same: whitened numbers
must lie on a straight line of those before whitening, in all files of the step on the same one; what stands behind them must
follow from the file's own.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from blueprint.dumps import Array, Minibatch, Place, Share, key_of
from blueprint.verifying import Compared
from blueprint.verifying.logged import ALL, PARTS, before
from blueprint.workbooks.rlhf_ppo.verifying.judge import Judge
from blueprint.workbooks.rlhf_ppo.verifying.replay import Replay

BATCH, RANK, MINIBATCH, MICROBATCH = "batch", "rank", "minibatch", "microbatch"

WHITENED_ROWS = MappingProxyType(
    {
        BATCH: "all ranks' rows of the rollout",
        RANK: "each rank's rows of the rollout",
        MINIBATCH: "the rows of each minibatch",
        MICROBATCH: "the rows of each microbatch",
    }
)
"""What is whitened together, in words."""


@dataclass(frozen=True)
class Scope:
    """How a library treats a step of several files.

    whitens: what is whitened together. shares: whether the loss of a microbatch is its part of the mean over the whole
    minibatch, of all ranks, times their number. per_microbatch: whether it is multiplied by the microbatches, too, since
    the framework divides every loss by them before it adds up gradients.
    """

    whitens: str
    shares: bool = False
    per_microbatch: bool = False


SCOPES = MappingProxyType(
    {
        "openai": Scope(MINIBATCH),
        "trl_0.11.4": Scope(RANK),
        "trl_1.12": Scope(RANK),
        "openrlhf": Scope(BATCH, shares=True, per_microbatch=True),
        "verl": Scope(BATCH, shares=True),
        "trlx": Scope(MICROBATCH),
        "nemo_aligner": Scope(BATCH),
        "nemo_rl": Scope(BATCH),
        "torchtune": Scope(RANK),
    }
)
"""By preset; of those that are not listed the whole batch counts.

Read in: trl 1.12.0, experimental/ppo/ppo_trainer.py:781 (the rows of a process; the loss of a microbatch is its
own mean, which accelerate divides); trl 0.11.4, trainer/ppo_trainer.py:1150; verl 0.9.1, trainer/ppo/core_algos.py:258 and
:1171, workers/utils/losses.py:65; OpenRLHF 0.11.2, trainer/ppo_utils/experience_maker.py:324 and utils/loss_utils.py:54."""


def group_of(batch: Minibatch, whitens: str) -> tuple[int, ...]:
    """Returns what is equal for files that are whitened together, over every epoch of the same rollout."""
    return key_of(batch)[
        : {BATCH: 0, RANK: 1, MINIBATCH: 3, MICROBATCH: 4}[whitens]
    ]  # rank, epoch, minibatch, microbatch


def share_among(batches: Sequence[Minibatch], scope: Scope) -> Share:
    """Returns what the losses of the files of one minibatch are divided by, of all ranks."""
    place = batches[0].place or Place()
    parts = float(place.microbatches or 1) if scope.per_microbatch else 1.0
    tokens = sum(int(each.mask.sum()) for each in batches)
    wrote = sum(int(each.mask.any(axis=1).sum()) if scope.per_microbatch else len(each.mask) for each in batches)
    return Share(tokens / parts, wrote / parts, float(place.world_size or 1))


FEWEST = 8
"""Numbers below which a straight line through them proves nothing."""


@dataclass(frozen=True)
class Straight:
    """Â = slope·A + constant. keeps_mean: the mean is added back afterwards."""

    slope: float
    constant: float
    keeps_mean: bool = False

    def apart(self, raw: Array, logged: Array) -> float:
        """Returns how far off the farthest of some numbers is."""
        return float(np.abs(self.slope * raw + self.constant - logged).max(initial=0.0))

    @property
    def mean(self) -> float:
        """The mean μ that was taken off: (A − μ)/σ, or (A − μ)/σ + μ."""
        at_zero = 1 - self.slope if self.keeps_mean else -self.slope
        return self.constant / at_zero if at_zero else 0.0

    def __str__(self) -> str:
        """Names mean and deviation."""
        return f"a mean of {self.mean:.6g} and a deviation of {1 / self.slope:.6g}"


def straight(raw: Array, logged: Array, keeps_mean: bool = False, fewest: int = FEWEST) -> Straight | None:
    """Returns the line of logged numbers over raw ones, by least squares; None where there are too few, or it does not rise."""
    if len(raw) < fewest or np.ptp(raw) == 0:
        return None
    if not (np.abs([raw, logged]) < MOST_FITTED).all():
        return None
    slope, constant = np.linalg.lstsq(np.stack([raw, np.ones_like(raw)], axis=1), logged, rcond=None)[0]
    return Straight(float(slope), float(constant), keeps_mean) if slope > 0 else None


BEFORE_WHITENING = MappingProxyType(
    {"rewards": ("rewards.raw", "reward.whiten"), "advantages": ("advantages", "whiten_advantages")}
)
"""By tensor, the row that is whitened to it, and the convention that says so."""

MOST_FITTED = 1e100
"""Squares of larger numbers are none, and no line is fitted to them."""
TWO = 2
"""Numbers through which some straight line always goes."""

Lines = Mapping[str, Straight | None]
"""By tensor the line that it lies on; None where there are too few tokens to tell."""

NO_LINES: Lines = MappingProxyType({})


def beyond_it(judge: Judge, local: Replay, compared: Mapping[str, Compared], known: Lines = NO_LINES) -> Lines:
    """Returns the whitened tensors that deviate and of which all is explained by another batch's mean and deviation; the policy
    loss, where the file has no advantages.

    local: the replay from the file's own rows. compared: each quantity beside what the inputs lead to. known: the lines that
    more files of the step lie on.
    """
    found: dict[str, Straight | None] = {}
    if "advantages" not in judge.batch.tensors and local.options[BEFORE_WHITENING["advantages"][1]] != "off":
        # nobody knows with which mean and deviation they went into the loss
        found |= {name: None for name in ("policy_loss",) if name in compared and not compared[name].agrees}
    for name, (row, switch) in BEFORE_WHITENING.items():
        if name in compared and not compared[name].agrees and local.options[switch] != "off":
            cells = judge.cells(name)
            raw, theirs = local.row(row)[cells], np.asarray(judge.batch.tensors[name], dtype=np.float64)[cells]
            keeps_mean = name == "rewards" or local.options[switch] == "keep_mean"
            line = known.get(name) or straight(raw, theirs, keeps_mean, TWO + 1)
            # rounding was divided by the deviation, too
            size = (1 + float(np.abs(theirs).max(initial=0.0))) * max(1.0, line.slope if line else 0.0)
            fits = line.apart(raw, theirs) <= judge.tolerance(ALL[name]) * size if line else len(raw) <= TWO
            if fits:
                found[name] = line
    return found


def shares_beyond(own: Mapping[str, Compared]) -> Lines:
    """Returns the losses that deviate and may all be one and the same share of means that the file does not know; else none.

    own: each quantity beside what the file's own rows before it lead to.
    """
    wrong = [each for name, each in own.items() if name in PARTS and not each.agrees]
    sure = max(wrong, key=lambda each: abs(each.recomputed or 0.0) / (each.allowed or np.inf), default=None)
    if sure is None or not sure.recomputed or not sure.logged or not sure.logged / sure.recomputed > 0:
        return NO_LINES
    share = sure.logged / sure.recomputed
    same = all(
        abs((each.logged or 0.0) - share * (each.recomputed or 0.0)) <= max(1.0, share) * each.allowed for each in wrong
    )
    return {each.name: None for each in wrong} if same else NO_LINES


def from_there_on(
    compared: Mapping[str, Compared], own: Mapping[str, Compared], open_: Collection[str]
) -> dict[str, Compared]:
    """Returns what was compared; what is made of a tensor that is left open, with what the file's own rows lead to."""
    return {
        name: each if name not in own or set(open_).isdisjoint(before(name)) else replace(own[name], means=each.means)
        for name, each in compared.items()
    }
