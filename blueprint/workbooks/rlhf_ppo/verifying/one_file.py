"""Which number of a file went wrong first: everything that it logged, compared with its minibatch computed again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from blueprint.dumps import Minibatch
from blueprint.verifying import (
    NEEDS_OTHERS,
    Compared,
    Line,
    Settings,
    Verdict,
    Watch,
    before_first_update,
    beside_the_trainer,
    first_of,
    lines_of,
)
from blueprint.verifying.logged import ALL, CALLED, PARTS, TENSORS, before
from blueprint.verifying.progress import quiet
from blueprint.workbooks.rlhf_ppo.verifying.judge import Judge, as_given, judged
from blueprint.workbooks.rlhf_ppo.verifying.parts import NO_LINES, Lines, beyond_it, from_there_on, shares_beyond
from blueprint.workbooks.rlhf_ppo.verifying.replay import Replay, ending, replay


class How(NamedTuple):
    """How a file is compared. factor: multiplies every tolerance.

    whole: whether it is all that was whitened together, or brings the moments of that along; None: nobody knows. known: of a part,
    the lines on which more of its files lie. shares: whether losses are shares of means over more tokens than the file knows of.
    """

    preset: str = ""
    factor: float = 1.0
    device: str = "cpu"
    whole: bool | None = None
    known: Lines = NO_LINES
    shares: bool = False


def verdict_of(batch: Minibatch, settings: Settings, how: How, watch: Watch = quiet) -> Verdict:
    """Computes a minibatch again under settings and compares it with everything that the file logged; looks for no cause.

    Raises MinibatchError where the minibatch cannot be computed again.
    """
    found = replay(batch, settings, watch("recomputing", int(batch.mask.size)), device=how.device)
    judge, straight = judged(batch, found, how.factor)
    lines, open_ = lines_of(ALL, judge.called, straight, {}), NO_LINES
    if not all(each.agrees for each in straight.values()):
        both = _from_own_rows(judge, _as_the_preset_has_it(judge, straight))
        open_ = both.left_open(how.known) if how.whole is False else NO_LINES
        open_ = {**open_, **shares_beyond(both.own)} if how.shares else open_
        lines = both.lines(open_)
    early, engine = before_first_update(batch), beside_the_trainer(batch)
    logged = (*judge.tensors, *(each for each, *_ in judge.numbers))
    return Verdict(
        how.preset,
        found,
        (*early.lines, *engine.lines, *lines),
        {each.name: found.missing[each.needs] for each in logged if each.needs in found.missing},
        first_of(lines) or early.differs or engine.differs,
        (),
        (*_notes(batch, found), *early.notes, *engine.notes),
        left_open=open_,
        before_update=early,
        engine=engine,
    )


class _Both(NamedTuple):
    """Quantities from the inputs alone, and from the file's own rows before each."""

    judge: Judge
    straight: Mapping[str, Compared]
    local: Replay
    own: Mapping[str, Compared]

    def left_open(self, known: Lines = NO_LINES) -> Lines:
        """Returns what only the mean and deviation of another batch could explain."""
        return beyond_it(self.judge, self.local, self.straight, known)

    def lines(self, open_: Collection[str]) -> list[Line]:
        """Says of each quantity what it comes to; with what some of them were whitened may be left open."""
        lines = lines_of(ALL, self.judge.called, from_there_on(self.straight, self.own, open_), self.own)
        left: dict[str, Any] = {"says": NEEDS_OTHERS, "within": {}}
        return [replace(line, **left) if line.compared.name in open_ else line for line in lines]


def _as_the_preset_has_it(judge: Judge, straight: dict[str, Compared]) -> dict[str, Compared]:
    """Takes a tensor for the preset's row again if what deviates first was made of it.

    Advantages that agree as those before whitening may not have been whitened at all: then that is what went wrong.
    """
    earlier = before(next(name for name, each in straight.items() if not each.agrees))
    if not any(straight[name].means for name in earlier if name in straight):
        return straight
    return judge.compared(meant={name: row for name, row in _meant(straight).items() if name not in earlier})


def _from_own_rows(judge: Judge, straight: Mapping[str, Compared]) -> _Both:
    """Computes every quantity from the file's own rows before it, and compares it."""
    meant, found = _meant(straight), judge.found
    parts = {name for name, each in straight.items() if name in PARTS and each.row == name}
    numbers = {each.name: value for each, value, _ in judge.numbers if each.name in parts}
    local = replay(
        judge.batch, found.options, given=as_given(meant), numbers=numbers, device=found.device, laid=found.laid
    )
    own = Judge(judge.batch, local, judge.factor, judge.measured).compared(meant=meant)
    return _Both(judge, straight, local, own)


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
