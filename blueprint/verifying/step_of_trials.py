"""The files of one step, each computed again as a trial; a cause is looked for once, where the step first deviates."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from blueprint.dumps import Dump, MinibatchError, in_order, key_of, missing_in, rows_twice
from blueprint.verifying.lines import DIFFERS, StepLine, first_line, following, step_lines
from blueprint.verifying.settings import Chosen, Settings, VerifyOptions, choose
from blueprint.verifying.tiled_passes import Watch
from blueprint.verifying.trials import Labelled, Trial, causes_of
from blueprint.verifying.verdict import Match, Part, StepVerdict, Verdict

ELSEWHERE = 3
"""So many other files that deviate a cause is tried on."""


class FileTrial(Trial, Protocol):
    """A trial of one file of a step. most: how many causes there is time for; None: all."""

    @property
    def batch(self) -> Any:
        """The file."""

    @property
    def most(self) -> int | None:
        """How many causes there is time for."""

    def tries(self, name: str) -> Iterable[Sequence[Labelled]]:
        """Returns what may have been done otherwise where a quantity deviates, in stages."""


class Way(NamedTuple):
    """How a kind verifies one file. quantities: all, by name, in the order of derivation.

    trial: makes one of a dump, its conventions, the options and all dumps of the step; raises MinibatchError where it cannot be
    computed. verdict: of a trial and the name of its preset; explain: whether to look for a cause.
    """

    quantities: Mapping[str, Any]
    trial: Callable[[Any, Settings, VerifyOptions, Sequence[Any]], Any]
    verdict: Callable[[Any, str, bool], Verdict]


def verify_parts(
    way: Way, batches: Sequence[Dump], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
) -> StepVerdict:
    """Verifies the files of one step: each with its own numbers, and what is of the whole step over all of them.

    A cause is looked for once, in the file that deviates first, and holds where it holds in others that deviate, too.
    """
    unread, trials = dict(not_read), list[tuple[Chosen, FileTrial]]()
    steps, notes = in_order(batches)
    progress = watch("recomputing", sum(each.size for each in steps))
    for each in steps:
        chosen = choose(each, options)
        try:
            trials.append((chosen, way.trial(each, chosen.values, options, steps)))
        except MinibatchError as error:
            unread[Path(each.path)] = str(error)
        progress(each.size)
    alone = len(trials) == 1
    parts = [Part(Path(of.batch.path), chosen, way.verdict(of, chosen.preset.name, alone)) for chosen, of in trials]
    lines = step_lines([part.verdict for part in parts], way.quantities)
    first = first_line(lines)
    causes = parts[0].verdict.causes if alone else causes_in([of for _, of in trials], first)
    if any(each.rest for each in causes) and first:
        lines = [
            replace(each, line=following(each.line)) if each.deviating and each != first else each for each in lines
        ]
    more = (*notes, *filter(None, [rows_twice(steps)]))
    return StepVerdict(steps[0].step, tuple(parts), unread, tuple(lines), first, causes, _lacking(steps), more)


def causes_in(trials: Sequence[FileTrial], first: StepLine | None) -> tuple[Match, ...]:
    """Returns what explains the first deviation of several files: in the first of them, and in the others if it does so there."""
    if first is None or first.early or first.first is None or first.line.says != DIFFERS:
        return ()
    name, where = first.name, [next(of for of in trials if of.batch is batch) for batch in first.deviating]
    here = next(of for of in where if of.batch is first.first[1])
    found = causes_of(here, here.tries(name), name, here.most).matches
    for other in [each for each in where if each is not here][:ELSEWHERE]:
        again = [list(_called(other.tries(name), {each.said for each in found}))]
        also = {each.said for each in causes_of(other, again, name).matches}
        found = tuple(each for each in found if each.said in also) or found
    return found


def _called(stages: Iterable[Sequence[Labelled]], labels: set[str]) -> Iterator[Labelled]:
    """Yields the tries of these labels; no further stage is made once all of them are there."""
    left = set(labels)
    for stage in stages:
        here = [each for each in stage if each.label in left]
        left -= {each.label for each in here}
        yield from here
        if not left:
            return


def _lacking(steps: Sequence[Dump]) -> tuple[str, ...]:
    """Returns what is not there of the step, as far as its files say it."""
    placed = [each for each in steps if each.place is not None]
    epochs = {key_of(each)[1] for each in placed}
    gaps = [
        part for epoch in epochs for part in missing_in([each for each in placed if key_of(each)[1] == epoch], True)
    ]
    return tuple(dict.fromkeys(gaps))
