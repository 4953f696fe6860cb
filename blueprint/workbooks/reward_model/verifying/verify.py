"""Which number of a step of a reward model went wrong first: all that its files logged, compared with them computed again."""

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
from blueprint.workbooks.reward_model.dumps import ScoredPairs
from blueprint.workbooks.reward_model.verifying.causes import tries
from blueprint.workbooks.reward_model.verifying.judge import ALL, LOSSES, PAIRS
from blueprint.workbooks.reward_model.verifying.recompute import recompute


def trial_of(
    batch: ScoredPairs, settings: Settings, options: VerifyOptions, steps: Sequence[ScoredPairs] = ()
) -> SmallTrial:
    """Computes a step again under settings, to be compared with what its file logged; steps: all files of the step."""
    again = partial(recompute, device=options.device)
    found = again(batch, settings, sized=True)
    judge, given = Judge(batch, found, ALL, options.tolerance, PAIRS), given_of(batch, ALL)
    return SmallTrial(batch, settings, found, judge, given, whole_of(batch, steps), again, tries, LOSSES, ALL)


@one_thread()
def verify_steps(
    batches: Sequence[ScoredPairs], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
) -> StepVerdict:
    """Verifies the files of one step, each with its own pairs."""
    return verify_parts(Way(ALL, trial_of, verdict_of), batches, options, watch, not_read)
