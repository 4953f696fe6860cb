"""The files of a step of PPO, each with what it takes from the others: the moments of what was whitened together, and what its
losses were divided by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from blueprint.dumps import Minibatch, MinibatchError, Moments, Share, joined, key_of, missing_in, unsaid
from blueprint.verifying import Settings, StepLine, Verdict, VerifyOptions, Watch, step_lines
from blueprint.verifying.logged import ALL, missing
from blueprint.workbooks.rlhf_ppo.verifying.one_file import How, verdict_of
from blueprint.workbooks.rlhf_ppo.verifying.parts import (
    BATCH,
    NO_LINES,
    RANK,
    SCOPES,
    Lines,
    Scope,
    group_of,
    share_among,
)
from blueprint.workbooks.rlhf_ppo.verifying.replay import moments_in, replay


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
        return moments_in(replay(whole, self.settings, device=self.options.device))

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
                whole = joined(group.batches, group.batches[0].path)
                together = verdict_of(whole, self.settings, self._how(False), self.watch)
                found[key] = replace(group, lines=together.left_open)
        return [replace(each, group=found[id(each.group)]) for each in prepared]

    def verified(self, each: Prepared) -> Verdict:
        """Verifies a file as the part of the step that it is."""
        how = self._how(each.group.whole, each.group.lines, each.shares)
        return verdict_of(each.batch, self.settings, how, self.watch)

    def _how(self, whole: bool | None, known: Lines = NO_LINES, shares: bool = False) -> How:
        return How(self.preset, self.options.tolerance, self.options.device, whole, known, shares)


@dataclass(frozen=True)
class Verified:
    """A step that was verified: its case, its files, what each of them came to, and its lines."""

    case: Case
    prepared: Sequence[Prepared]
    verdicts: Sequence[Verdict]
    lines: Sequence[StepLine]


def verified(case: Case, prepared: Sequence[Prepared], unread: dict[Path, str]) -> Verified:
    """Verifies every file; one that cannot be computed again is added to `unread`, and stops none of the others."""
    kept, verdicts = list[Prepared](), list[Verdict]()
    for each in case.on_lines(prepared):
        try:
            verdicts.append(case.verified(each))
            kept.append(each)
        except MinibatchError as error:
            unread[Path(each.batch.path)] = str(error)
    return Verified(case, kept, verdicts, step_lines(verdicts, ALL))
