"""Which number of a step of GRPO went wrong first: everything that its files logged, compared with them computed again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from blueprint.dumps import MinibatchError, in_order, key_of, missing_in, rows_twice
from blueprint.verifying import (
    DIFFERS,
    Chosen,
    Compared,
    Match,
    Part,
    Settings,
    StepLine,
    StepVerdict,
    Verdict,
    VerifyOptions,
    Watch,
    before_first_update,
    causes_of,
    choose,
    first_line,
    following,
    judged,
    step_lines,
)
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.beyond import Straight, left_open
from blueprint.workbooks.grpo.verifying.causes import Try, tries
from blueprint.workbooks.grpo.verifying.joining import whole_of
from blueprint.workbooks.grpo.verifying.judge import ALL, Judge, Quantity, given_of
from blueprint.workbooks.grpo.verifying.recompute import recompute
from blueprint.workbooks.grpo.verifying.replayed import PLAIN, Given, Replayed, Whole

TOKENS = 1 << 22
"""So many tokens are gone through for causes at most: all of them on a small step, the likeliest on a large one."""
OVERHEAD, FEWEST = 1 << 12, 32
ELSEWHERE = 3
"""So many other files that deviate a cause is tried on."""


class StepTrial(NamedTuple):
    """A step, and how it is computed again and compared."""

    batch: GroupedStep
    settings: Settings
    judge: Judge
    given: Given
    whole: Whole | None = None
    device: str = "cpu"
    quantities: Mapping[str, Quantity] = ALL

    @property
    def most(self) -> int:
        """How many causes there is time for."""
        return max(FEWEST, TOKENS // max(OVERHEAD, self.batch.mask.size))

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        return self.judge.called(name)

    def compared(self, each: Try | None = None, given: Given | None = None, until: str = "") -> dict[str, Compared]:
        """Compares what the file logged with what comes out, as the settings say or with something done otherwise."""
        if each is None and given is None:
            return self._straight()
        settings, ways = (each.settings, each.ways) if each else (self.settings, PLAIN)
        return self.judge.compared(
            recompute(self.batch, settings, ways, given or {}, until, self.whole, self.device, sized=False), until
        )

    def tries(self, name: str) -> Iterator[list[Try]]:
        """Yields what may have been done otherwise where a quantity deviates."""
        before = {key: value for key, value in self.given.items() if key in ALL[name].after}
        return tries(self.batch, self.settings, name, before, self.whole)

    def _straight(self) -> dict[str, Compared]:
        """Compares with what was computed from the inputs alone; where rounding of rewards that are alike makes advantages of it,
        and these agree, the losses are made of the file's own."""
        found = self.judge.compared(self.judge.straight)
        first = found.get("advantages")
        if first is None or not first.agrees or not self.judge.rounding_rules:
            return found
        return {**self.compared(given=self.given), "advantages": first}


def trial_of(batch: GroupedStep, settings: Settings, options: VerifyOptions, whole: Whole | None) -> StepTrial:
    """Computes a step again under settings, to be compared with what its file logged.

    whole: the step of which it is a part, where its other files are there.
    """
    settings = told(batch, settings)
    found = recompute(batch, settings, whole=whole, device=options.device)
    judge = Judge(batch, found, options.tolerance)
    return StepTrial(batch, settings, judge, given_of(batch), whole, options.device)


def verdict_of(trial: StepTrial, preset: str, explain: bool) -> Verdict:
    """Compares a step computed again with everything that its file logged; explain: whether to look for a cause."""
    batch, found, open_ = trial.batch, trial.judge.straight, dict[str, Straight]()

    def left(straight: Mapping[str, Compared]) -> Mapping[str, Straight]:
        open_.update(left_open(trial.judge, found, straight, trial.settings, trial.whole))
        return open_

    def likely(name: str) -> Iterator[list[Try]]:
        return trial.tries(name) if explain else iter(())

    lines, first, causes = judged(trial, likely, left, trial.most)
    early = before_first_update(batch)
    notes = (*batch.notes, *early.notes, *_notes(batch, found))
    every = (*early.lines, *lines)
    return Verdict(
        preset,
        found,
        every,
        trial.judge.uncompared(),
        first or early.differs,
        causes.matches,
        notes,
        causes,
        open_,
        early,
    )


def told(batch: GroupedStep, settings: Settings) -> Settings:
    """Returns settings with what the file itself says of them: without old log-probs, old is new."""
    found = dict(settings)
    if batch.called.get("logprobs_old") == batch.called.get("logprobs_new") and "logprobs_new" in batch.called:
        found["ratio.old"] = "new" if found["ratio.old"] == "old" else found["ratio.old"]
    return found


def _notes(batch: GroupedStep, found: Replayed) -> Iterator[str]:
    for name in found.started:
        yield f"{name} stand in the file and are taken from there: {found.lacks[name]} missing"
    for name, value in batch.logged.items():
        if name not in ALL:
            yield f"{name} = {value:g} was logged, but is nothing that is compared"


def verify_steps(
    batches: Sequence[GroupedStep], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
) -> StepVerdict:
    """Verifies the files of one step: each with its own losses, and advantages over the groups of all of them.

    A cause is looked for once, in the file that deviates first, and holds where it holds in others that deviate, too.
    """
    unread, trials = dict(not_read), list[tuple[Chosen, StepTrial]]()
    ordered, notes = in_order(batches)
    steps = [each for each in ordered if isinstance(each, GroupedStep)]
    progress = watch("recomputing", sum(each.size for each in steps))
    for each in steps:
        chosen = choose(each, options)
        try:
            trials.append((chosen, trial_of(each, chosen.values, options, whole_of(each, steps))))
        except MinibatchError as error:
            unread[Path(each.path)] = str(error)
        progress(each.size)
    alone = len(trials) == 1
    parts = [Part(Path(of.batch.path), chosen, verdict_of(of, chosen.preset.name, alone)) for chosen, of in trials]
    lines = step_lines([part.verdict for part in parts], ALL)
    first = first_line(lines)
    causes = parts[0].verdict.causes if alone else causes_in([of for _, of in trials], first)
    if any(each.rest for each in causes) and first:
        lines = [
            replace(each, line=following(each.line)) if each.deviating and each != first else each for each in lines
        ]
    more = (*notes, *filter(None, [rows_twice(steps)]))
    return StepVerdict(steps[0].step, tuple(parts), unread, tuple(lines), first, causes, _lacking(steps), more)


def causes_in(trials: Sequence[StepTrial], first: StepLine | None) -> tuple[Match, ...]:
    """Returns what explains the first deviation of several files: in the first of them, and in the others if it does so there."""
    if first is None or first.early or first.first is None or first.line.says != DIFFERS:
        return ()
    name, where = first.name, [next(of for of in trials if of.batch is batch) for batch in first.deviating]
    here = next(of for of in where if of.batch is first.first[1])
    found = causes_of(here, here.tries(name), name, here.most).matches
    for other in [each for each in where if each is not here][:ELSEWHERE]:
        said = {each.said for each in found}
        again = [[each for stage in other.tries(name) for each in stage if each.label in said]]
        also = {each.said for each in causes_of(other, again, name).matches}
        found = tuple(each for each in found if each.said in also) or found
    return found


def _lacking(steps: Sequence[GroupedStep]) -> tuple[str, ...]:
    """Returns what is not there of the step, as far as its files say it."""
    placed = [each for each in steps if each.place is not None]
    epochs = {key_of(each)[1] for each in placed}
    gaps = [
        part for epoch in epochs for part in missing_in([each for each in placed if key_of(each)[1] == epoch], True)
    ]
    return tuple(dict.fromkeys(gaps))
