"""Over which rows libraries whiten, and which rows a loss is a mean of, where a step is cut into several files; as data."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from blueprint.dumps import Minibatch, Place, Share, key_of

BATCH, RANK, MINIBATCH, MICROBATCH = "batch", "rank", "minibatch", "microbatch"

TOLD = MappingProxyType(
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
"""By preset. Read in: trl 1.12.0, experimental/ppo/ppo_trainer.py:781 (the rows of a process; the loss of a microbatch is its
own mean, which accelerate divides); trl 0.11.4, trainer/ppo_trainer.py:1150; verl 0.9.1, trainer/ppo/core_algos.py:258 and
:1171, workers/utils/losses.py:65; OpenRLHF 0.11.2, trainer/ppo_utils/experience_maker.py:324 and utils/loss_utils.py:54."""


def scope_of(preset: str) -> Scope:
    """Returns how the library of a preset treats a step of several files; of those that are not listed the whole batch counts."""
    return SCOPES.get(preset, Scope(BATCH))


def group_of(batch: Minibatch, whitens: str) -> tuple[int, ...]:
    """Returns what is equal for files that are whitened together, over every epoch of the same rollout."""
    rank, epoch, minibatch, microbatch = key_of(batch)
    return {
        BATCH: (),
        RANK: (rank,),
        MINIBATCH: (rank, epoch, minibatch),
        MICROBATCH: (rank, epoch, minibatch, microbatch),
    }[whitens]


def share_among(batches: Sequence[Minibatch], scope: Scope) -> Share:
    """Returns what the losses of the files of one minibatch are divided by, of all ranks."""
    place = batches[0].place or Place()
    parts = float(place.microbatches or 1) if scope.per_microbatch else 1.0
    tokens = sum(int(each.mask.sum()) for each in batches)
    wrote = sum(int(each.mask.any(axis=1).sum()) if scope.per_microbatch else len(each.mask) for each in batches)
    return Share(tokens / parts, wrote / parts, float(place.world_size or 1))
