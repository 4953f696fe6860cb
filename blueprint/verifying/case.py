"""A step that is verified: its files, each with what it takes from the others, and what they come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from blueprint.dumps import Minibatch, Moments, Share, joined, key_of, missing_in, unsaid
from blueprint.verifying.lines import StepLine, settled
from blueprint.verifying.logged import missing, starts
from blueprint.verifying.parts import BATCH, NO_LINES, RANK, SCOPES, Lines, Scope, group_of, share_among
from blueprint.verifying.settings import Settings, VerifyOptions, laid_over
from blueprint.verifying.tiled_passes import Watch, Work, moments_in
from blueprint.verifying.verdict import Match, Verdict
from blueprint.verifying.verify import verify


@dataclass(frozen=True)
class Group:
    """Files that are whitened together, once: those of one epoch, with what the whole of them comes to.

    whole: whether all of them are there; None where they do not say how many there are. lacking: what is not there, or
    which keys are not, in sentences' parts. lines: of a part, the straight lines on which the whitened tensors of all files lie.
    """

    batches: tuple[Minibatch, ...]
    whole: bool | None = None
    lacking: tuple[str, ...] = ()
    moments: Mapping[str, Moments] = field(default_factory=dict)
    lines: Lines = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """A file of a step with the moments and the share that its files together say, and the files it was whitened with.

    shares: whether its losses are shares of means over tokens that nobody here knows the number of.
    """

    batch: Minibatch
    group: Group
    shares: bool = False


@dataclass(frozen=True)
class Case:
    """The files of a step in their order, the conventions of all of them, and how they are verified."""

    batches: Sequence[Minibatch]
    settings: Settings
    preset: str
    options: VerifyOptions
    watch: Watch

    @property
    def scope(self) -> Scope:
        """How their library treats a step of several files."""
        return SCOPES.get(self.preset, Scope(BATCH))

    @property
    def placed(self) -> list[Minibatch]:
        """The files that say where in the step they belong."""
        return [each for each in self.batches if each.place is not None]

    def prepared(self, whitens: str | None = None) -> list[Prepared]:
        """Returns every file, whitened with what its library whitens together, or with other rows if they are named."""
        scope, groups = whitens or self.scope.whitens, dict[tuple[int, ...], Group]()
        found = []
        for batch in self.batches:
            if batch.place is None:
                found.append(Prepared(batch, Group((batch,))))
                continue
            key = group_of(batch, scope)
            if key not in groups:
                groups[key] = self._group([each for each in self.placed if group_of(each, scope) == key], scope)
            shared = replace(
                batch, moments=batch.moments or groups[key].moments, share=batch.share or self._share(batch)
            )
            found.append(Prepared(shared, groups[key], self.scope.shares and shared.share is None))
        return found

    def _group(self, batches: Sequence[Minibatch], scope: str) -> Group:
        """Returns the first epoch that is complete, else the first."""
        epochs: dict[int, list[Minibatch]] = {}
        for each in batches:
            epochs.setdefault(key_of(each)[1], []).append(each)
        gaps = {epoch: tuple(missing_in(each, scope == BATCH)) for epoch, each in epochs.items()}
        chosen = next((epoch for epoch, each in gaps.items() if not each), min(epochs))
        keys = unsaid(epochs[chosen], scope == BATCH)
        whole = True if scope not in (BATCH, RANK) else False if gaps[chosen] else None if keys else True
        moments = self._moments(epochs[chosen]) if whole is not False and len(batches) > 1 else {}
        return Group(tuple(epochs[chosen]), whole, gaps[chosen] or keys, moments)

    def _moments(self, batches: Sequence[Minibatch]) -> Mapping[str, Moments]:
        """Returns the moments of what files whiten together, none where advantages are not computed from anything."""
        whole = joined(batches, batches[0].path)
        if "advantages" in missing(whole.tensors, self.settings):
            return {}
        work = Work(whole, self.settings, starts(whole.tensors, self.settings), device=self.options.device)
        work.count()
        return moments_in(work.sums)

    def _share(self, batch: Minibatch) -> Share | None:
        """Returns what the losses of a file were divided by, from all files of its minibatch, where they are shares of it."""
        _, *key = key_of(batch)[:3]
        others = [each for each in self.placed if list(key_of(each)[1:3]) == key]
        alone = not self.scope.shares or any(missing_in(others, True, key[1]))
        return None if alone else share_among(others, self.scope)

    def on_lines(self, prepared: Sequence[Prepared]) -> list[Prepared]:
        """Returns the files, those of a part of a step with the lines on which all of that part lies."""
        found = {id(each.group): each.group for each in prepared}
        for key, group in found.items():
            if group.whole is False and len(group.batches) > 1:
                together = self.verdict(joined(group.batches, group.batches[0].path), False, explain=False)
                found[key] = replace(group, lines=together.left_open)
        return [replace(each, group=found[id(each.group)]) for each in prepared]

    def verified(self, each: Prepared, explain: bool = False) -> Verdict:
        """Verifies a file as the part of the step that it is."""
        return self.verdict(each.batch, each.group.whole, explain, each.group.lines, each.shares)

    def under(self, changes: Settings) -> Case:
        """Returns the same files under other settings."""
        return replace(self, settings=laid_over(self.settings, changes))

    def verdict(
        self, batch: Minibatch, whole: bool | None, explain: bool = True, known: Lines = NO_LINES, shares: bool = False
    ) -> Verdict:
        """Verifies a minibatch under the conventions of all files; see `verify`."""
        return verify(
            batch, self.settings, self.preset, self.watch, self.options.tolerance,
            device=self.options.device, whole=whole, known=known, explain=explain, shares=shares,
        )  # fmt: skip


@dataclass(frozen=True)
class Verified:
    """A step that was verified: its case, its files, what each of them came to, and its lines."""

    case: Case
    prepared: Sequence[Prepared]
    verdicts: Sequence[Verdict]
    lines: Sequence[StepLine]


def match_of(said: str, verdicts: Iterable[Verdict], name: str) -> Match:
    """Returns a cause with which a quantity agrees in all files, and what else deviates in some of them then."""
    lines, still = [line for each in verdicts for line in each.lines], dict[str, float]()
    for found in (line.compared for line in lines if not settled(line)):
        still[found.name] = max(still.get(found.name, 0.0), found.largest)
    largest = max((line.compared.largest for line in lines if line.compared.name == name), default=0.0)
    return Match(said, largest, tuple(still.items()))
