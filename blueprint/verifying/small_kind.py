"""A kind whose dumps are small enough to be computed again for every cause, told by its tables: how its verifier works on them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from blueprint.dumps import Dump, together, whole_of
from blueprint.verifying.compare import Axes
from blueprint.verifying.in_memory import Causes, Judge, Quantity, Recompute, SmallTrial, given_of, verdict_of
from blueprint.verifying.progress import Watch, one_thread
from blueprint.verifying.settings import Chosen, Settings, VerifyOptions, known_device
from blueprint.verifying.trials import Way, verify_parts
from blueprint.verifying.verdict import Shown, StepVerdict, Verdict, Verifier, ViewOptions

UNITS = {"float64": 1e-12, "float32": 1e-6, "float16": 2.0**-9, "bfloat16": 2.0**-6}
"""By dtype, what a log-prob or a score may be off, of 1 + its size: 16 units in the last place, for two forwards of one text."""


class SmallKind(NamedTuple):
    """What a kind brings.

    quantities: by name, in the order of derivation, what a file may have logged. recompute: of a device, what computes a dump again
    there; one for each dump, so that it may keep what it read. tries: what may have been done otherwise where a quantity deviates.
    losses: quantities of which something may be done otherwise alone. axes: what rows are called.
    as_good: quantities that are not taken from the file where all of them agree with what was computed.
    """

    quantities: Mapping[str, Quantity]
    recompute: Callable[[str], Recompute]
    tries: Causes
    losses: Sequence[str]
    axes: Axes
    as_good: Sequence[str] = ()

    def trial(self, batch: Dump, settings: Settings, options: VerifyOptions, steps: Sequence[Dump] = ()) -> SmallTrial:
        """Computes a dump again under settings, to be compared with what its file logged; steps: all files of the step."""
        again = self.recompute(options.device)
        found = again(batch, settings, sized=True)
        judge = Judge(batch, found, self.quantities, options.tolerance, self.axes)
        given = given_of(batch, self.quantities)
        if all(each.agrees for name, each in judge.compared(found).items() if name in self.as_good):
            given = {name: each for name, each in given.items() if name not in self.as_good}
        whole, losses = whole_of(batch, steps), tuple(self.losses)
        return SmallTrial(batch, settings, found, judge, given, whole, again, self.tries, losses, self.quantities)

    def verifier(self, shown: Callable[[Verdict, Chosen, ViewOptions], Shown]) -> Verifier:
        """Returns how the files of one step are verified, each with its own rows; shown: what of a dump becomes a workbook."""

        @one_thread()
        def verify_steps(
            batches: Sequence[Dump], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
        ) -> StepVerdict:
            return verify_parts(Way(self.quantities, self.trial, verdict_of), batches, options, watch, not_read)

        return Verifier(known_device, verify_steps, shown, lambda verdict: verdict.replayed.batch, together)
