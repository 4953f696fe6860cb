"""From a step of GRPO that was computed again to the numbers of a workbook: some of its groups."""

from blueprint.dumps import MinibatchError
from blueprint.verifying import Chosen, Shown, Verdict, ViewOptions


def shown(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> Shown:
    """Shows whole groups of a step. Raises MinibatchError."""
    raise MinibatchError(
        f"{verdict.replayed.batch.path} is a step of GRPO, of which no workbook is made yet: verify says what it comes to"
    )
