"""Which number of a step of DPO went wrong first: everything that its files logged, compared with them computed again."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from blueprint.dumps import whole_of
from blueprint.verifying import (
    Judge,
    Settings,
    SmallTrial,
    StepVerdict,
    VerifyOptions,
    Watch,
    Way,
    given_of,
    one_thread,
    verdict_of,
    verify_parts,
)
from blueprint.workbooks.dpo.dumps import PairStep
from blueprint.workbooks.dpo.verifying.causes import LOSSES, tries
from blueprint.workbooks.dpo.verifying.judge import ALL, LOGPS, PAIRS
from blueprint.workbooks.dpo.verifying.recompute import recompute


def trial_of(batch: PairStep, settings: Settings, options: VerifyOptions, steps: Sequence[PairStep] = ()) -> SmallTrial:
    """Computes a step again under settings, to be compared with what its file logged; steps: all files of the step."""
    again = partial(recompute, device=options.device)
    found = again(batch, settings, sized=True)
    judge, given = Judge(batch, found, ALL, options.tolerance, PAIRS), given_of(batch, ALL)
    if all(each.agrees for name, each in judge.compared(found).items() if name in LOGPS):
        given = {name: each for name, each in given.items() if name not in LOGPS}  # what was computed is as good
    return SmallTrial(batch, settings, found, judge, given, whole_of(batch, steps), again, tries, LOSSES, ALL)


@one_thread()
def verify_steps(
    batches: Sequence[PairStep], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
) -> StepVerdict:
    """Verifies the files of one step, each with its own pairs."""
    return verify_parts(Way(ALL, trial_of, verdict_of), batches, options, watch, not_read)
