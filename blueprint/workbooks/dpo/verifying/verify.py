"""Which number of a step of DPO went wrong first: everything that its files logged, compared with them computed again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from blueprint.verifying import (
    Compared,
    Judge,
    Quantity,
    Settings,
    StepVerdict,
    Verdict,
    VerifyOptions,
    Watch,
    Way,
    given_of,
    judged,
    one_thread,
    verify_parts,
)
from blueprint.workbooks.dpo.dumps import PairStep
from blueprint.workbooks.dpo.verifying.causes import Try, tries
from blueprint.workbooks.dpo.verifying.joining import whole_of
from blueprint.workbooks.dpo.verifying.judge import ALL, LOGPS, PAIRS
from blueprint.workbooks.dpo.verifying.recompute import LOSSES, recompute
from blueprint.workbooks.dpo.verifying.replayed import PLAIN, Given, Replayed

CELLS = 1 << 24
"""So many log-probs are gone through for causes at most: all causes on a small step, the likeliest on a large one."""
FEWEST = 32


class PairTrial(NamedTuple):
    """A step, and how it is computed again and compared. whole: all files of the step, where there are several."""

    batch: PairStep
    settings: Settings
    straight: Replayed
    judge: Judge
    given: Given
    whole: PairStep | None = None
    device: str = "cpu"
    quantities: Mapping[str, Quantity] = ALL

    @property
    def most(self) -> int:
        """How many causes there is time for."""
        return max(FEWEST, CELLS // max(1 << 12, self.batch.mask.size))

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        return self.judge.called(name)

    def compared(self, each: Try | None = None, given: Given | None = None, until: str = "") -> dict[str, Compared]:
        """Compares what the file logged with what comes out, as the settings say or with something done otherwise."""
        if each is None and given is None:
            return self.judge.compared(self.straight, until)
        settings, ways = (each.settings, each.ways) if each else (self.settings, PLAIN)
        if ways.get("whole") and self.whole is not None:
            return self.judge.compared(_of_step(self.batch, recompute(self.whole, settings, device=self.device)), until)
        found = recompute(self.batch, settings, ways, given or {}, device=self.device)
        return self.judge.compared(_in_loss(self.straight, found) if each and each.in_loss else found, until)

    def tries(self, name: str) -> Iterator[list[Try]]:
        """Yields what may have been done otherwise where a quantity deviates."""
        before = {key: value for key, value in self.given.items() if key in ALL[name].after}
        return tries(self.batch, self.settings, name, before, self.whole)


def _in_loss(straight: Replayed, found: Replayed) -> Replayed:
    """Returns a step of which the losses alone were made otherwise."""
    losses = {name: found.numbers[name] for name in LOSSES}
    rows = {**straight.rows, "loss.pair": found.rows["loss.pair"]}
    return replace(straight, rows=rows, numbers={**straight.numbers, **losses}, lacks={**straight.lacks, **found.lacks})


def _of_step(batch: PairStep, found: Replayed) -> Replayed:
    """Returns the numbers of a whole step, without its rows, which are not those of one file."""
    return Replayed(batch, found.settings, {}, found.numbers, found.sizes, lacks=found.lacks)


def trial_of(batch: PairStep, settings: Settings, options: VerifyOptions, steps: Sequence[PairStep] = ()) -> PairTrial:
    """Computes a step again under settings, to be compared with what its file logged; steps: all files of the step."""
    found = recompute(batch, settings, sized=True, device=options.device)
    judge = Judge(batch, found, ALL, options.tolerance, PAIRS)
    given = given_of(batch, ALL)
    if all(each.agrees for name, each in judge.compared(found).items() if name in LOGPS):
        given = {name: each for name, each in given.items() if name not in LOGPS}  # what was computed is as good
    return PairTrial(batch, settings, found, judge, given, whole_of(batch, steps), options.device)


def verdict_of(trial: PairTrial, preset: str, explain: bool) -> Verdict:
    """Compares a step computed again with everything that its file logged; explain: whether to look for a cause."""
    lines, first, causes = judged(trial, trial.tries if explain else lambda name: iter(()), most=trial.most)
    uncompared, notes = trial.judge.uncompared(), trial.batch.notes
    return Verdict(preset, trial.straight, tuple(lines), uncompared, first, causes.matches, notes, causes)


@one_thread()
def verify_steps(
    batches: Sequence[PairStep], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
) -> StepVerdict:
    """Verifies the files of one step, each with its own pairs."""
    return verify_parts(Way(ALL, trial_of, verdict_of), batches, options, watch, not_read)
