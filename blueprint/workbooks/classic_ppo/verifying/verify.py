"""Which number of a rollout went wrong first: everything that a file logged, compared with it computed again."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from blueprint.dumps import require
from blueprint.verifying import (
    Compared,
    Part,
    Settings,
    StepVerdict,
    Verdict,
    Verifier,
    VerifyOptions,
    Watch,
    choose,
    first_line,
    judged,
    step_lines,
)
from blueprint.workbooks.classic_ppo.dumps.rollout import Rollout
from blueprint.workbooks.classic_ppo.verifying.causes import Try, tries
from blueprint.workbooks.classic_ppo.verifying.export import shown
from blueprint.workbooks.classic_ppo.verifying.judge import ALL, FIRST, Judge, Quantity, given_of
from blueprint.workbooks.classic_ppo.verifying.recompute import recompute
from blueprint.workbooks.classic_ppo.verifying.replayed import PLAIN, Given

SIGNAL = ("rewards", "advantages", "returns")
UNSAID = (
    'the file does not say how many updates came before it: with "optimizer_step": "0" in the metadata of the first '
    "minibatch it is checked that the new log-probs are the old ones"
)


def check_device(device: str) -> None:
    """Raises MinibatchError for another device than the processor."""
    require(
        device == "cpu",
        f"--device {device}: a rollout of classic PPO is computed on the processor, in float64; leave it out",
    )


def verify_rollouts(
    rollouts: Sequence[Rollout], options: VerifyOptions, watch: Watch, unread: Mapping[Path, str]
) -> StepVerdict:
    """Verifies rollouts, each by itself."""
    asked = ((each, choose(each, options)) for each in rollouts)
    parts = [
        Part(Path(each.path), chosen, verify(each, chosen.values, chosen.preset.name, options.tolerance))
        for each, chosen in asked
    ]
    lines = step_lines([part.verdict for part in parts], ALL)
    first = first_line(lines)
    where = first.first[1] if first and first.first else None
    causes = next((part.verdict.causes for part in parts if part.verdict.replayed.batch is where), ())
    return StepVerdict(rollouts[0].step, tuple(parts), unread, tuple(lines), first, causes)


class RolloutTrial(NamedTuple):
    """A rollout, and how it is computed again and compared."""

    judge: Judge
    settings: Settings
    given: Given
    quantities: Mapping[str, Quantity] = ALL

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        return self.judge.called(name)

    def compared(self, each: Try | None = None, given: Given | None = None, until: str = "") -> dict[str, Compared]:
        """Compares what the file logged with what comes out; what must hold before the first update needs no computation."""
        rollout, settings, ways = (
            (each.rollout, each.settings, each.ways) if each else (self.judge.rollout, self.settings, PLAIN)
        )
        if until and ALL[until] in FIRST:
            return {until: self.judge.first_with(ALL[until], rollout)}
        return self.judge.compared(recompute(rollout, settings, ways, given or {}, until))


def verify(rollout: Rollout, settings: Settings, preset: str = "", factor: float = 1.0) -> Verdict:
    """Computes a rollout again under the values of a preset and compares it with everything that the file logged.

    factor: multiplies every tolerance.
    """
    found = recompute(rollout, settings)
    trial = RolloutTrial(Judge(rollout, found, factor), settings, given_of(rollout))
    lines, first, causes = judged(trial, lambda name: [list(tries(rollout, settings, name in SIGNAL))])
    known = rollout.place is not None and rollout.place.before_first_update is not None
    notes = rollout.notes if known else (*rollout.notes, UNSAID)
    return Verdict(preset, found, tuple(lines), trial.judge.uncompared(), first, causes.matches, notes, causes)


VERIFIER = Verifier(check_device, verify_rollouts, shown, lambda verdict: verdict.replayed.batch)
