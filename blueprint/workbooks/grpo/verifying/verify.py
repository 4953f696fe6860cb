"""Which number of a step of GRPO went wrong first: everything that its files logged, compared with them computed again."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from blueprint.dumps import MinibatchError, in_order, key_of, missing_in, rows_twice
from blueprint.verifying import (
    Compared,
    Part,
    Settings,
    StepVerdict,
    Verdict,
    VerifyOptions,
    Watch,
    before_first_update,
    choose,
    first_line,
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
OVERHEAD, FEWEST = 1 << 12, 24


class StepTrial(NamedTuple):
    """A step, and how it is computed again and compared."""

    batch: GroupedStep
    settings: Settings
    judge: Judge
    given: Given
    whole: Whole | None = None
    device: str = "cpu"
    quantities: Mapping[str, Quantity] = ALL

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        return self.judge.called(name)

    def compared(self, each: Try | None = None, given: Given | None = None, until: str = "") -> dict[str, Compared]:
        """Compares what the file logged with what comes out, as the settings say or with something done otherwise."""
        settings, ways = (each.settings, each.ways) if each else (self.settings, PLAIN)
        return self.judge.compared(
            recompute(self.batch, settings, ways, given or {}, until, self.whole, self.device, sized=False), until
        )


def verify(
    batch: GroupedStep,
    settings: Settings,
    preset: str = "",
    factor: float = 1.0,
    whole: Whole | None = None,
    device: str = "cpu",
) -> Verdict:
    """Computes a step again under the values of a preset and compares it with everything that the file logged.

    factor: multiplies every tolerance. whole: the step of which it is a part, where its other files are there.
    """
    settings = told(batch, settings)
    found = recompute(batch, settings, whole=whole, device=device)
    trial = StepTrial(batch, settings, Judge(batch, found, factor), given_of(batch), whole, device)
    open_: dict[str, Straight] = {}

    def left(straight: Mapping[str, Compared]) -> Mapping[str, Straight]:
        open_.update(left_open(trial.judge, found, straight, settings, whole))
        return open_

    count = max(FEWEST, TOKENS // max(OVERHEAD, batch.mask.size))
    lines, first, causes = judged(trial, lambda name: tries(batch, settings, name), left, count)
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
    """Verifies the files of one step: each with its own losses, and advantages over the groups of all of them."""
    unread, parts = dict(not_read), list[Part]()
    ordered, notes = in_order(batches)
    steps = [each for each in ordered if isinstance(each, GroupedStep)]
    progress = watch("recomputing", sum(each.size for each in steps))
    for each in steps:
        chosen = choose(each, options)
        try:
            whole = whole_of(each, steps)
            verdict = verify(each, chosen.values, chosen.preset.name, options.tolerance, whole, options.device)
            parts.append(Part(Path(each.path), chosen, verdict))
        except MinibatchError as error:
            unread[Path(each.path)] = str(error)
        progress(each.size)
    lines = step_lines([part.verdict for part in parts], ALL)
    first = first_line(lines)
    where = first.first[1] if first and first.first else None
    causes = next((part.verdict.causes for part in parts if part.verdict.replayed.batch is where), ())
    twice = rows_twice(steps)
    return StepVerdict(
        steps[0].step,
        tuple(parts),
        unread,
        tuple(lines),
        first,
        causes,
        _lacking(steps),
        (*notes, *filter(None, [twice])),
    )


def _lacking(steps: Sequence[GroupedStep]) -> tuple[str, ...]:
    """Returns what is not there of the step, as far as its files say it."""
    placed = [each for each in steps if each.place is not None]
    epochs = {key_of(each)[1] for each in placed}
    gaps = [
        part for epoch in epochs for part in missing_in([each for each in placed if key_of(each)[1] == epoch], True)
    ]
    return tuple(dict.fromkeys(gaps))
