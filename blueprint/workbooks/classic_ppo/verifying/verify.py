"""Which number of a rollout went wrong first: everything that a file logged, compared with it computed again."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from blueprint.dumps import require
from blueprint.verifying import (
    DIFFERS,
    NOTHING,
    Causes,
    Match,
    Part,
    Settings,
    StepVerdict,
    Verdict,
    Verifier,
    VerifyOptions,
    Watch,
    choose,
    first_line,
    first_of,
    following,
    lines_of,
    settled,
    step_lines,
)
from blueprint.workbooks.classic_ppo.dumps.rollout import Rollout
from blueprint.workbooks.classic_ppo.verifying.causes import Try, tries
from blueprint.workbooks.classic_ppo.verifying.export import shown
from blueprint.workbooks.classic_ppo.verifying.judge import ALL, FIRST, Judge, given_of
from blueprint.workbooks.classic_ppo.verifying.recompute import recompute
from blueprint.workbooks.classic_ppo.verifying.replayed import Given

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


def verify(rollout: Rollout, settings: Settings, preset: str = "", factor: float = 1.0) -> Verdict:
    """Computes a rollout again under the values of a preset and compares it with everything that the file logged.

    factor: multiplies every tolerance.
    """
    found = recompute(rollout, settings)
    judge, given = Judge(rollout, found, factor), given_of(rollout)
    straight, own = judge.compared(found), judge.compared(recompute(rollout, settings, given=given))
    lines = lines_of(ALL, judge.called, straight, own)
    first, causes = first_of(lines), NOTHING
    if first is not None and first.says == DIFFERS:
        causes = causes_of(judge, settings, given, first.compared.name)
        if causes.matches and causes.matches[0].rest:
            lines = [line if settled(line) or line == first else following(line) for line in lines]
    known = rollout.place is not None and rollout.place.before_first_update is not None
    notes = rollout.notes if known else (*rollout.notes, UNSAID)
    return Verdict(preset, found, tuple(lines), judge.uncompared(), first, causes.matches, notes, causes)


def causes_of(judge: Judge, settings: Settings, given: Given, name: str) -> Causes:
    """Returns what explains a deviation: tried on that quantity alone, from the file's own rows before it, then on the rest."""
    tried = list(tries(judge.rollout, settings, name in SIGNAL))
    found = [_match(judge, each, name) for each in tried if _explains(judge, each, given, name)]
    best = [each for each in found if each.rest] or sorted(found, key=lambda match: len(match.still))
    return Causes(tuple(best), len(tried), len(tried), "None of the known mistakes that were tried explains it.")


def _explains(judge: Judge, each: Try, given: Given, name: str) -> bool:
    if ALL[name] in FIRST:
        return judge.first_with(ALL[name], each.rollout).agrees
    before = {key: value for key, value in given.items() if key in ALL[name].after}
    return judge.compared(recompute(each.rollout, each.settings, each.ways, before, name))[name].agrees


def _match(judge: Judge, each: Try, name: str) -> Match:
    """Returns a cause with what deviates although everything was done so."""
    compared = judge.compared(recompute(each.rollout, each.settings, each.ways))
    still = tuple((one.name, one.largest) for one in compared.values() if not one.agrees)
    return Match(each.label, compared[name].largest, still)


VERIFIER = Verifier(check_device, verify_rollouts, shown, lambda verdict: verdict.replayed.batch)
