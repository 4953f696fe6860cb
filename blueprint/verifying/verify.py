"""Which number went wrong first: everything that a file logged, compared with its minibatch computed again."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from blueprint.dumps import Minibatch
from blueprint.verifying.causes import NOTHING, Causes
from blueprint.verifying.compare import Compared
from blueprint.verifying.deviation import Deviation, as_given
from blueprint.verifying.first import before_first_update
from blueprint.verifying.judge import Judge
from blueprint.verifying.lines import DIFFERS, Line, first_of, following, left_open, lines_of, settled
from blueprint.verifying.logged import ALL, CALLED, PARTS, TENSORS, before
from blueprint.verifying.measured import judged
from blueprint.verifying.parts import NO_LINES, Lines, beyond_it, from_there_on, shares_beyond
from blueprint.verifying.recompute import Replay, ending, replay
from blueprint.verifying.search import causes_of
from blueprint.verifying.settings import Settings, laid_over
from blueprint.verifying.tiled_passes import TILE_TOKENS, passes
from blueprint.verifying.verdict import Progress, Verdict, Watch, quiet


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
    are shares of means over more words than the file knows of. A cause is looked for where `explain` asks for one.
    Raises MinibatchError where the minibatch cannot be computed again.
    """
    settings = laid_over(options)
    found = replay(batch, settings, watch("recomputing", _work(batch, settings)), tile_tokens, device=device)
    judge, straight = judged(batch, found, factor)
    asked = _Asked(preset, watch, whole, known, explain, shares)
    if all(each.agrees for each in straight.values()):
        come_to = _ComeTo(lines_of(ALL, judge.called, straight, {}), None, NOTHING)
    else:
        come_to = _deviating(judge, _as_the_preset_has_it(judge, straight), factor, asked)
    lines, first, causes, open_ = come_to
    matches = causes.matches if causes else ()
    early = before_first_update(batch)
    notes, first = (*_notes(batch, found), *early.notes), first or early.differs
    return Verdict(
        preset, found, (*early.lines, *lines), _uncompared(judge), first, matches, notes, causes, open_, early
    )


class _Asked(NamedTuple):
    """What is asked of a verdict; see `verify`."""

    preset: str
    watch: Watch
    whole: bool | None
    known: Lines
    explain: bool
    shares: bool


class _ComeTo(NamedTuple):
    """What quantities come to; see `Verdict`."""

    lines: list[Line]
    first: Line | None
    causes: Causes | None
    left_open: Lines = NO_LINES


def _work(batch: Minibatch, settings: Settings) -> int:
    return passes(settings) * int(batch.mask.size)


def _deviating(judge: Judge, straight: Mapping[str, Compared], factor: float, asked: _Asked) -> _ComeTo:
    """Says what deviates by itself and what follows, and looks for the cause."""
    batch, options = judge.batch, judge.found.options
    local, given = _from_own_rows(judge, straight, asked.watch("from the file's own rows", _work(batch, options)))
    own = Judge(batch, local, factor, judge.measured).compared(meant=given)
    open_ = beyond_it(judge, local, straight, asked.known) if asked.whole is False else NO_LINES
    open_ = {**open_, **shares_beyond(own)} if asked.shares else open_
    lines, causes = _lines(judge, straight, own, open_), NOTHING if asked.explain else None
    first = first_of(lines)
    if first and first.says == DIFFERS and asked.explain:
        deviation = _deviation(judge, local, own, first.compared, given, asked.preset)
        causes = causes_of(deviation, asked.watch)
        if asked.whole is None and any(each.beyond for each in causes.matches):
            open_, causes = beyond_it(judge, local, straight), NOTHING
            lines = _lines(judge, straight, own, open_)
            first = first_of(lines)
        if any(each.rest for each in causes.matches):  # what explains the first deviation explains every other one
            lines = [line if settled(line) or line == first else following(line) for line in lines]
    return _ComeTo(lines, first, causes, open_)


def _lines(
    judge: Judge, straight: Mapping[str, Compared], own: Mapping[str, Compared], open_: Collection[str]
) -> list[Line]:
    """Says of each quantity what it comes to; with what some of them were whitened may be left open."""
    lines = lines_of(ALL, judge.called, from_there_on(straight, own, open_), own)
    return [left_open(line) if line.compared.name in open_ else line for line in lines]


def _deviation(
    judge: Judge, local: Replay, own: Mapping[str, Compared], wrong: Compared, given: Mapping[str, str], preset: str
) -> Deviation:
    """Returns all that is known when the cause of a deviation is looked for."""
    cells = judge.cells(wrong.name) if ALL[wrong.name] in TENSORS else None
    others = tuple(each for name, each in own.items() if name != wrong.name and not each.agrees)
    known = judge.batch, local.options, preset, wrong, given, local, judge, cells, others
    return Deviation(*known, local.work.tile_tokens, local.work.device)


def _as_the_preset_has_it(judge: Judge, straight: dict[str, Compared]) -> dict[str, Compared]:
    """Takes a tensor for the preset's row again if what deviates first was made of it.

    Advantages that agree as those before whitening may not have been whitened at all: then that is what went wrong.
    """
    wrong = next(name for name, each in straight.items() if not each.agrees)
    meant = {name: row for name, row in _meant(straight).items() if name not in before(wrong)}
    return (
        judge.compared(meant=meant)
        if any(straight[name].means for name in before(wrong) if name in straight)
        else straight
    )


def _from_own_rows(judge: Judge, straight: Mapping[str, Compared], progress: Progress) -> tuple[Replay, dict[str, str]]:
    """Computes every quantity from the file's own rows before it; and says which row each tensor of the file is."""
    meant = _meant(straight)
    parts = {name for name, each in straight.items() if name in PARTS and each.row == name}
    numbers = {each.name: value for each, value, _ in judge.logged.numbers if each.name in parts}
    found, work = judge.found, judge.found.work
    local = replay(judge.batch, found.options, progress, work.tile_tokens, as_given(meant), numbers, work.device)
    return local, meant


def _meant(straight: Mapping[str, Compared]) -> dict[str, str]:
    """Returns by tensor of the file the row that it is."""
    names = {each.name for each in TENSORS}
    return {name: each.row for name, each in straight.items() if name in names}


def _uncompared(judge: Judge) -> dict[str, str]:
    logged = [*judge.logged.tensors, *(each for each, _, _ in judge.logged.numbers)]
    lacks = judge.found.missing
    return {each.name: lacks[each.needs] for each in logged if each.needs in lacks}


def _notes(batch: Minibatch, found: Replay) -> tuple[str, ...]:
    """Returns what was assumed, and where numbers end, in sentences."""
    said = [*batch.notes, *filter(None, [ending(found)])]
    said += [
        f"{name} stands in the file and is taken from there: {found.missing[name]} is missing" for name in found.started
    ]
    said += [
        f"{name} = {value:g} was logged, but is nothing that is compared" for name, value in _unknown(batch).items()
    ]
    asks = found.options["reward.missing_eos"] != "off" or found.options["loss.sample_filter"] == "ended"
    if asks and "ended" not in batch.tensors:
        said.append("the file does not say which responses ended: one with a slot left over behind its last word did")
    return tuple(said)


def _unknown(batch: Minibatch) -> dict[str, float]:
    return {name: value for name, value in batch.logged.items() if CALLED.get(name, name) not in ALL}
