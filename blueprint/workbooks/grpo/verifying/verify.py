"""Which number of a step of GRPO went wrong first: everything that its files logged, compared with them computed again."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from blueprint.verifying import (
    Compared,
    Quantity,
    Settings,
    StepVerdict,
    Verdict,
    VerifyOptions,
    Watch,
    Way,
    before_first_update,
    judged,
    verify_parts,
)
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.beyond import Straight, left_open
from blueprint.workbooks.grpo.verifying.causes import Try, tries
from blueprint.workbooks.grpo.verifying.joining import whole_of
from blueprint.workbooks.grpo.verifying.judge import ALL, Judge, given_of
from blueprint.workbooks.grpo.verifying.recompute import recompute
from blueprint.workbooks.grpo.verifying.replayed import PLAIN, Given, Replayed, Whole
from blueprint.workbooks.grpo.verifying.unsure import said_of, with_least

TOKENS = 1 << 22
"""So many tokens are gone through for causes at most: all of them on a small step, the likeliest on a large one."""
OVERHEAD, FEWEST = 1 << 12, 32


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


def trial_of(
    batch: GroupedStep,
    settings: Settings,
    options: VerifyOptions,
    whole: Whole | None,
    steps: Sequence[GroupedStep] = (),
) -> StepTrial:
    """Computes a step again under settings, to be compared with what its file logged.

    whole: the step of which it is a part, where its other files are there; steps: all files.
    """
    batch, settings = with_least(batch, told(batch, settings), steps or [batch])
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
    yield from filter(None, [said_of(batch, found.settings)])
    for name in found.started:
        yield f"{name} stand in the file and are taken from there: {found.lacks[name]} missing"
    for name, value in batch.logged.items():
        if name not in ALL:
            yield f"{name} = {value:g} was logged, but is nothing that is compared"


def verify_steps(
    batches: Sequence[GroupedStep], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
) -> StepVerdict:
    """Verifies the files of one step: each with its own losses, and advantages over the groups of all of them."""
    return verify_parts(Way(ALL, _trial_in, verdict_of), batches, options, watch, not_read)


def _trial_in(
    batch: GroupedStep, settings: Settings, options: VerifyOptions, steps: Sequence[GroupedStep]
) -> StepTrial:
    return trial_of(batch, settings, options, whole_of(batch, steps), steps)
