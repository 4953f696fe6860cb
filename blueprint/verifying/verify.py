"""Which number went wrong first: everything that a file logged, compared with its minibatch computed again."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from blueprint.dumps import Minibatch
from blueprint.verifying.compare import Compared
from blueprint.verifying.deviation import Deviation, as_given
from blueprint.verifying.first import before_first_update
from blueprint.verifying.judge import Judge
from blueprint.verifying.lines import DIFFERS, NEEDS_OTHERS, Line, first_of, following, lines_of, settled
from blueprint.verifying.logged import ALL, CALLED, PARTS, TENSORS, before
from blueprint.verifying.measured import judged
from blueprint.verifying.parts import NO_LINES, Lines, beyond_it, from_there_on, shares_beyond
from blueprint.verifying.recompute import Replay, ending, replay
from blueprint.verifying.search import causes_of
from blueprint.verifying.settings import Settings, laid_over
from blueprint.verifying.tiled_passes import TILE_TOKENS, Watch, passes, quiet
from blueprint.verifying.verdict import NOTHING, Causes, Verdict


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
    early, matches = before_first_update(batch), causes.matches if causes else ()
    notes, logged = (*_notes(batch, found), *early.notes), (*judge.tensors, *(each for each, *_ in judge.numbers))
    uncompared = {each.name: found.missing[each.needs] for each in logged if each.needs in found.missing}
    every, first = (*early.lines, *lines), first_of(lines) or early.differs
    return Verdict(preset, found, every, uncompared, first, matches, notes, causes, open_, early)


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
    for name, value in batch.logged.items():
        if CALLED.get(name, name) not in ALL:
            yield f"{name} = {value:g} was logged, but is nothing that is compared"
    reads_ended = found.options["reward.missing_eos"] != "off" or found.options["loss.sample_filter"] == "ended"
    if reads_ended and "ended" not in batch.tensors:
        yield "the file does not say which responses ended: one with a position left over behind its last token did"
