"""From a step of a reward model that was computed again to the numbers of a workbook: some of its pairs, as they are."""

from blueprint.dumps import MinibatchError
from blueprint.verifying import Chosen, Shown, Verdict, ViewOptions


def shown(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> Shown:
    """Shows pairs of a step. Raises MinibatchError for rows that are not there."""
    raise MinibatchError(f"{verdict.replayed.batch.path} cannot be made into a workbook yet")
