"""Which number went wrong first: everything that a file logged, compared with its minibatch computed again; and the files of a
step that is verified, each with what it takes from the others, and what they come to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from blueprint.dumps import Minibatch, Moments, Share, joined, key_of, missing_in, unsaid
from blueprint.verifying.compare import (
    DIFFERS,
    NEEDS_OTHERS,
    Compared,
    Line,
    StepLine,
    first_of,
    following,
    lines_of,
    settled,
)
from blueprint.verifying.deviation import Deviation, as_given
from blueprint.verifying.engine import beside_the_trainer
from blueprint.verifying.first_update import before_first_update
from blueprint.verifying.judge import Judge, judged
from blueprint.verifying.logged import ALL, CALLED, PARTS, TENSORS, before, missing, starts
from blueprint.verifying.parts import (
    BATCH,
    NO_LINES,
    RANK,
    SCOPES,
    Lines,
    Scope,
    beyond_it,
    from_there_on,
    group_of,
    share_among,
    shares_beyond,
)
from blueprint.verifying.recompute import Replay, ending, replay
from blueprint.verifying.search import causes_of
from blueprint.verifying.settings import Settings, VerifyOptions, laid_over
from blueprint.verifying.tiled_passes import TILE_TOKENS, Watch, Work, moments_in, passes, quiet
from blueprint.verifying.verdict import NOTHING, Causes, Match, Verdict


def verify(
    batch: Minibatch,
    options: Settings,
    preset: str = "",
    watch: Watch = quiet,
    factor: float = 1.0,
    tile_tokens: int = TILE_TOKENS,
    device: str = "cpu",
    whole: bool | None = None,
    known: Lines = NO_LINES,
    explain: bool = True,
    shares: bool = False,
) -> Verdict:
    """Computes a minibatch again under the values of a preset and compares it with everything that the file logged.

    `factor` multiplies every tolerance. `whole` says whether it is all that was whitened together, or brings the moments of
    that along; None: nobody knows. Of a part, `known` are the lines on which more of its files lie. `shares` says that losses
    are shares of means over more tokens than the file knows of. A cause is looked for where `explain` asks for one.
    Raises MinibatchError where the minibatch cannot be computed again.
    """
    settings = laid_over(options)
    found = replay(batch, settings, watch("recomputing", _tokens(batch, settings)), tile_tokens, device=device)
    judge, straight = judged(batch, found, factor)
    lines, open_, causes = lines_of(ALL, judge.called, straight, {}), NO_LINES, NOTHING if explain else None
    if all(each.agrees for each in straight.values()):
        causes = NOTHING
    else:
        both = _from_own_rows(judge, _as_the_preset_has_it(judge, straight), watch)
        open_ = both.left_open(known) if whole is False else NO_LINES
        open_ = {**open_, **shares_beyond(both.own)} if shares else open_
        lines = both.lines(open_)
        if explain and (first := first_of(lines)) and first.says == DIFFERS:
            lines, open_, causes = _explained(both, lines, open_, (first, preset, watch, whole))
    early, engine, matches = before_first_update(batch), beside_the_trainer(batch), causes.matches if causes else ()
    notes, logged = (
        (*_notes(batch, found), *early.notes, *engine.notes),
        (*judge.tensors, *(each for each, *_ in judge.numbers)),
    )
    uncompared = {each.name: found.missing[each.needs] for each in logged if each.needs in found.missing}
    every, first = (*early.lines, *engine.lines, *lines), first_of(lines) or early.differs or engine.differs
    return Verdict(preset, found, every, uncompared, first, matches, notes, causes, open_, early, engine)


def _tokens(batch: Minibatch, settings: Settings) -> int:
    return passes(settings) * int(batch.mask.size)


class _Both(NamedTuple):
    """Quantities from the inputs alone, and from the file's own rows before each; given: by tensor of the file, the row it is."""

    judge: Judge
    straight: Mapping[str, Compared]
    local: Replay
    given: dict[str, str]
    own: Mapping[str, Compared]

    def left_open(self, known: Lines = NO_LINES) -> Lines:
        """Returns what only the mean and deviation of another batch could explain."""
        return beyond_it(self.judge, self.local, self.straight, known)

    def lines(self, open_: Collection[str]) -> list[Line]:
        """Says of each quantity what it comes to; with what some of them were whitened may be left open."""
        lines = lines_of(ALL, self.judge.called, from_there_on(self.straight, self.own, open_), self.own)
        left: dict[str, Any] = {"says": NEEDS_OTHERS, "within": {}}
        return [replace(line, **left) if line.compared.name in open_ else line for line in lines]


def _explained(
    both: _Both, lines: list[Line], open_: Lines, of: tuple[Line, str, Watch, bool | None]
) -> tuple[list[Line], Lines, Causes]:
    """Looks for the cause of the first deviation; what it explains follows from it, and another batch's mean is left open."""
    first, preset, watch, whole = of
    others = tuple(each for each in both.own.values() if each.name != first.compared.name and not each.agrees)
    causes = causes_of(Deviation(both.judge, both.local, preset, first.compared, both.given, others), watch)
    if whole is None and any(each.beyond for each in causes.matches):
        open_, causes = both.left_open(), NOTHING
        lines = both.lines(open_)
    if any(each.rest for each in causes.matches):  # what explains the first deviation explains every other one
        lines = [line if settled(line) or line == first else following(line) for line in lines]
    return lines, open_, causes


def _as_the_preset_has_it(judge: Judge, straight: dict[str, Compared]) -> dict[str, Compared]:
    """Takes a tensor for the preset's row again if what deviates first was made of it.

    Advantages that agree as those before whitening may not have been whitened at all: then that is what went wrong.
    """
    earlier = before(next(name for name, each in straight.items() if not each.agrees))
    if not any(straight[name].means for name in earlier if name in straight):
        return straight
    return judge.compared(meant={name: row for name, row in _meant(straight).items() if name not in earlier})


def _from_own_rows(judge: Judge, straight: Mapping[str, Compared], watch: Watch) -> _Both:
    """Computes every quantity from the file's own rows before it, and compares it."""
    meant, found = _meant(straight), judge.found
    parts = {name for name, each in straight.items() if name in PARTS and each.row == name}
    numbers = {each.name: value for each, value, _ in judge.numbers if each.name in parts}
    progress = watch("from the file's own rows", _tokens(judge.batch, found.options))
    work = found.work
    local = replay(judge.batch, found.options, progress, work.tile_tokens, as_given(meant), numbers, work.device)
    own = Judge(judge.batch, local, judge.factor, judge.measured).compared(meant=meant)
    return _Both(judge, straight, local, meant, own)


def _meant(straight: Mapping[str, Compared]) -> dict[str, str]:
    """Returns by tensor of the file the row that it is."""
    return {each.name: straight[each.name].row for each in TENSORS if each.name in straight}


def _notes(batch: Minibatch, found: Replay) -> Iterator[str]:
    """Yields what was assumed, and where numbers end, in sentences."""
    yield from batch.notes
    yield from ending(found)
    for name in found.started:
        yield f"{name} stands in the file and is taken from there: {found.missing[name]} is missing"
    if "rollout_weights" in batch.tensors:
        called = batch.called.get("rollout_weights", "rollout_weights")
        yield f"{called}, the weights for the gap to the generating engine, are not judged: verify makes none for PPO with a critic"
    for name, value in batch.logged.items():
        if CALLED.get(name, name) not in ALL:
            yield f"{name} = {value:g} was logged, but is nothing that is compared"
    reads_ended = found.options["reward.missing_eos"] != "off" or found.options["loss.sample_filter"] == "ended"
    if reads_ended and "ended" not in batch.tensors:
        yield "the file does not say which responses ended: one with a position left over behind its last token did"


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
