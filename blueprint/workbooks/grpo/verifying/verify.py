"""Which number of a step of GRPO went wrong first, all being computed again; and what explains it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying import (
    NO_RESULTS,
    PLAIN,
    Again,
    Compared,
    Given,
    Seen,
    Settings,
    SmallTrial,
    StepVerdict,
    Try,
    Verdict,
    VerifyOptions,
    Watch,
    Way,
    Ways,
    before_first_update,
    beside_the_trainer,
    given_of,
    judged,
    totals_of,
    verdict_of,
    verify_parts,
)
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.causes import tries
from blueprint.workbooks.grpo.verifying.feeding import Wholes, whole_of, wide
from blueprint.workbooks.grpo.verifying.judge import ALL, StepJudge, Straight, left_open
from blueprint.workbooks.grpo.verifying.recompute import recompute, started
from blueprint.workbooks.grpo.verifying.top_entropy import said_of, with_least


class StepTrial(SmallTrial):
    """A step, and how it is computed again and compared: `whole` are the files of its pass together."""

    judge: StepJudge

    def compared(self, each: Try | None = None, given: Given | None = None, until: str = "") -> dict[str, Compared]:
        """Compares what the file logged with what comes out, as the settings say or with something done otherwise.

        Where rounding of rewards that are alike makes advantages of it, and these agree, a loss may be made of the file's own, too.
        """
        found = super().compared(each, given, until)
        first = found.get("advantages")
        if each or given or first is None or not first.agrees or not self.judge.rounding_rules:
            return found
        of_theirs = self.recompute(self.batch, self.settings, given=self.given, sized=True)
        judge = StepJudge(self.batch, of_theirs, self.judge.factor)  # of ours, which may be 0, the losses have no size
        own = judge.compared(of_theirs)
        return {name: line if line.agrees else own.get(name, line) for name, line in found.items()}

    def verdict(self, preset: str, explain: bool) -> Verdict:
        """Compares a step computed again with everything that its file logged; explain: whether to look for a cause."""
        batch, found, open_ = self.batch, self.straight, dict[str, Straight]()

        def left(straight: Mapping[str, Compared]) -> Mapping[str, Straight]:
            open_.update(left_open(self.judge, straight, self.settings, alone=self.whole is None))
            return open_

        lines, first, causes = judged(self, self.tries if explain else lambda name: iter(()), left, self.most)
        early, engine = before_first_update(batch), beside_the_trainer(batch)
        notes = (*batch.notes, *early.notes, *engine.notes, *_notes(found))
        every, first = (*early.lines, *engine.lines, *lines), first or early.differs or engine.differs
        uncompared = self.judge.uncompared()
        return Verdict(preset, found, every, uncompared, first, causes.matches, notes, causes, open_, early, engine)

    def _again(self, name: str, given: Given) -> Again:
        return self.recompute(self.batch, self.settings, {"kept": self.kept, "until": name}, given)

    def _totals(self, of: Array | float) -> Array:
        return totals_of(of if np.ndim(of) == 0 else wide(of, self.batch.mask), self.batch.mask)

    def _seen(self, name: str, found: Again) -> Seen:
        mask = self.batch.mask
        theirs = np.nan_to_num(wide(self.batch.tensors[name], mask))
        others = {self.called(each): row for each, row in found.rows.items() if each != name}
        if self.whole is not None and name not in self.of_step:
            whole = self.recompute(self.whole, self.settings, {"until": name})
            self.of_step[name] = whole.rows.get(name, np.empty((0, 0)))
        logged = None if self.whole is None else self.whole.tensors.get(name)
        return Seen(name, theirs, found.rows[name], mask, self.batch.groups, others, self.of_step.get(name), logged)


def trial_of(
    batch: GroupedStep,
    settings: Settings,
    options: VerifyOptions,
    steps: Sequence[GroupedStep] = (),
    wholes: Wholes | None = None,
) -> StepTrial:
    """Computes a step again under settings, to be compared with what its file logged.

    steps: all files, among them those that are a step with it; wholes: what of them was put together already.
    """
    whole = whole_of(batch, steps, {} if wholes is None else wholes)
    batch, settings = with_least(batch, told(batch, settings), steps or [batch])

    own = batch

    def again(
        batch: GroupedStep, settings: Settings, ways: Ways = PLAIN, given: Given = NO_RESULTS, sized: bool = False
    ) -> Again:
        return recompute(batch, settings, ways, given, sized, whole if batch is own else None, options.device)

    found = again(batch, settings, sized=True)
    judge, step = StepJudge(batch, found, options.tolerance), whole.step if whole else None
    causes = partial(tries, again)
    return StepTrial(batch, settings, found, judge, given_of(batch, ("advantages",)), step, again, causes, (), ALL)


def told(batch: GroupedStep, settings: Settings) -> Settings:
    """Returns settings with what the file itself says of them: without old log-probs, old is new."""
    found = dict(settings)
    if batch.called.get("logprobs_old") == batch.called.get("logprobs_new") and "logprobs_new" in batch.called:
        found["ratio.old"] = "new" if found["ratio.old"] == "old" else found["ratio.old"]
    return found


def _notes(found: Again) -> Iterator[str]:
    yield from filter(None, [said_of(found.batch, found.settings)])
    if started(found):
        yield f"advantages stand in the file and are taken from there: {found.lacks['advantages']} missing"
    for name, value in found.batch.logged.items():
        if name not in ALL:
            yield f"{name} = {value:g} was logged, but is nothing that is compared"


def verify_steps(
    batches: Sequence[GroupedStep], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
) -> StepVerdict:
    """Verifies the files of one step: each with its own losses, and advantages over the groups of all of them."""
    return verify_parts(Way(ALL, partial(trial_of, wholes={}), verdict_of), batches, options, watch, not_read)
