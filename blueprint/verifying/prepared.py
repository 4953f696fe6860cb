"""The files of a step, each with what it takes from the others: what was whitened together, and what losses are shares of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from blueprint.dumps import Minibatch, Moments, Place, Share, joined, key_of, missing_in, unsaid
from blueprint.verifying.needs import missing, starts
from blueprint.verifying.parts import Lines
from blueprint.verifying.scopes import BATCH, RANK, Scope, group_of
from blueprint.verifying.settings import Setting
from blueprint.verifying.tiled_passes import Work, moments_in


@dataclass(frozen=True)
class Group:
    """Files that are whitened together, once: those of one epoch, with what the whole of them comes to.

    whole: whether all of them are there; None where they do not say how many there are. lacking: what is not there, or
    which keys are not, in sentences' parts. lines: of a part, the straight lines on which the whitened tensors of all files lie.
    """

    batches: tuple[Minibatch, ...]
    whole: bool | None
    lacking: tuple[str, ...]
    moments: Mapping[str, Moments]
    lines: Lines = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """A file of a step with the moments and the share that its files together say, and the files it was whitened with.

    shares: whether its losses are shares of means over words that nobody here knows the number of.
    """

    batch: Minibatch
    group: Group
    shares: bool = False


class Preparing:
    """Puts what belongs together in the files of one step together. `settings` are those of all of them."""

    def __init__(
        self, batches: Sequence[Minibatch], settings: Mapping[str, Setting], scope: Scope, device: str
    ) -> None:
        """Begins with files in their order."""
        self.settings, self.scope, self.device = settings, scope, device
        self.batches, self.placed = batches, [each for each in batches if each.place is not None]

    def prepared(self, whitens: str | None = None) -> list[Prepared]:
        """Returns every file, whitened with what its library whitens together, or with other rows if they are named."""
        scope, groups = whitens or self.scope.whitens, dict[tuple[int, ...], Group]()
        found = []
        for batch in self.batches:
            if batch.place is None:
                found.append(Prepared(batch, Group((batch,), None, (), {})))
                continue
            key = group_of(batch, scope)
            if key not in groups:
                groups[key] = self._group([each for each in self.placed if group_of(each, scope) == key], scope)
            share = batch.share or self._share(batch)
            shared = replace(batch, moments=groups[key].moments, share=share)
            found.append(Prepared(shared, groups[key], self.scope.shares and share is None))
        return found

    def _group(self, batches: Sequence[Minibatch], scope: str) -> Group:
        """Returns the first epoch that is complete, else the first."""
        epochs: dict[int, list[Minibatch]] = {}
        for each in batches:
            epochs.setdefault(key_of(each)[1], []).append(each)
        ranks = scope == BATCH
        gaps = {epoch: tuple(missing_in(each, ranks)) for epoch, each in epochs.items()}
        chosen = next((epoch for epoch, each in gaps.items() if not each), min(epochs))
        keys = unsaid(epochs[chosen], ranks)
        whole = True if scope not in (BATCH, RANK) else False if gaps[chosen] else None if keys else True
        moments = self._moments(epochs[chosen]) if whole is not False and len(batches) > 1 else {}
        return Group(tuple(epochs[chosen]), whole, gaps[chosen] or keys, moments)

    def _moments(self, batches: Sequence[Minibatch]) -> Mapping[str, Moments]:
        """Returns the moments of what files whiten together, none where advantages are not computed from anything."""
        whole = joined(batches, batches[0].path)
        begun = starts(whole.tensors, self.settings)
        if "advantages" in begun or "advantages" in missing(whole.tensors, self.settings):
            return {}
        work = Work(whole, self.settings, begun, device=self.device)
        work.count()
        return moments_in(work.sums)

    def _share(self, batch: Minibatch) -> Share | None:
        """Returns what the losses of a file were divided by, from all files of its minibatch, where they are shares of it."""
        epoch, minibatch = key_of(batch)[1:3]
        others = [each for each in self.placed if key_of(each)[1:3] == (epoch, minibatch)]
        if not self.scope.shares or any(missing_in(others, True, minibatch)):
            return None
        return share_among(others, self.scope)


def share_among(batches: Sequence[Minibatch], scope: Scope) -> Share:
    """Returns what the losses of the files of one minibatch are divided by, of all ranks."""
    place = batches[0].place or Place()
    parts = float(place.microbatches or 1) if scope.per_microbatch else 1.0
    words = sum(int(each.mask.sum()) for each in batches)
    wrote = sum(int(each.mask.any(axis=1).sum()) if scope.per_microbatch else len(each.mask) for each in batches)
    return Share(words / parts, wrote / parts, float(place.world_size or 1))
