"""A step of PPO verified: every file computed again as the part of the step that it is, and what explains the first deviation,
looked for once for all files.

What files share is asked first: over which rows they were whitened, and what their losses were divided by. Then, by mechanism,
what was done otherwise in all files that differ; what somebody typed or did goes before what the files themselves gave away.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from blueprint.dumps import Minibatch, MinibatchError, in_order, rows_twice
from blueprint.inputs import dotted
from blueprint.verifying import (
    DIFFERS,
    Chosen,
    Match,
    Part,
    Settings,
    StepLine,
    StepVerdict,
    Verdict,
    VerifyOptions,
    Watch,
    choose,
    first_line,
    following,
    settled,
    shown,
)
from blueprint.verifying.compare import AGREES
from blueprint.verifying.progress import quiet
from blueprint.verifying.settings import laid_over
from blueprint.verifying.trials import OfFile, causes_in, causes_of
from blueprint.verifying.verdict import NOTHING, Causes
from blueprint.workbooks.rlhf_ppo.verifying.case import Case, Prepared, Verified, verified
from blueprint.workbooks.rlhf_ppo.verifying.causes import BEYOND, stages
from blueprint.workbooks.rlhf_ppo.verifying.divided import divided_otherwise, whitened_over_others
from blueprint.workbooks.rlhf_ppo.verifying.one_file import How, verdict_of
from blueprint.workbooks.rlhf_ppo.verifying.parts import FEWEST, NO_LINES, WHITENED_ROWS, Lines
from blueprint.workbooks.rlhf_ppo.verifying.trial import ROWS, MinibatchTrial, trial_of, with_rollouts


def verify(
    batch: Minibatch,
    options: Settings,
    preset: str = "",
    watch: Watch = quiet,
    factor: float = 1.0,
    device: str = "cpu",
    whole: bool | None = None,
    known: Lines = NO_LINES,
    explain: bool = True,
    shares: bool = False,
) -> Verdict:
    """Computes a minibatch again under the values of a preset, compares it with everything that the file logged, and looks for what
    explains the first deviation.

    factor, device, whole, known, shares: see `How`. Raises MinibatchError where the minibatch cannot be computed again.
    """
    how = How(preset, factor, device, whole, known, shares)
    found = verdict_of(batch, laid_over(options), how, watch)
    first = found.first
    if not explain:
        return replace(found, search=None)
    if first is None or first.says != DIFFERS or first in found.of_forwards:
        return found
    trial = trial_of(found, stages, factor, whole)
    name = first.compared.name
    causes = causes_of(OfFile(trial), trial.tries(name), name, trial.most)
    causes = replace(causes, matches=_as_said(causes.matches, trial, name), unexplained=NOTHING.unexplained)
    if whole is None and any(each.beyond for each in causes.matches):
        return replace(verdict_of(batch, laid_over(options), how._replace(whole=False), watch), search=NOTHING)
    lines = found.lines
    if any(each.rest for each in causes.matches):
        lines = tuple(line if settled(line) or line == first else following(line) for line in lines)
    return replace(found, lines=lines, causes=causes.matches, search=causes)


def _as_said(found: Sequence[Match], trial: MinibatchTrial, name: str) -> tuple[Match, ...]:
    """Returns causes as a report says them: a setting, or a mistake that has a name, is not said to be one of a quantity alone; and
    the mean and deviation of another batch are marked."""
    if not found:
        return ()
    alone, plain = f", in {trial.called(name)} alone", {each.label for each in next(stages(trial, name))}
    made = dict[str, Match]()
    for each in found:
        said = each.said.removesuffix(alone)
        known = said in plain or any(said.startswith((f"{label} in that file", f"{label} in these")) for label in plain)
        said = said if known else each.said
        made.setdefault(said, replace(each, said=said, beyond=BEYOND in said))
    return tuple(made.values())


def verify_steps(
    batches: Sequence[Minibatch], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
) -> StepVerdict:
    """Verifies minibatches of one step as parts of one batch; `unread` are files of it that could not be read."""
    unread = dict(not_read)
    batches, notes = in_order(batches)
    chosen = _one_choice(batches, options)
    case = Case(batches, laid_over(chosen.values), chosen.preset.name, options, watch)
    step, first, search, more = _explained(case, case.prepared(), unread)
    causes = search.matches
    parts = [Part(Path(each.replayed.batch.path), chosen, each) for each in step.verdicts]
    lines = step.lines
    if first is not None and any(each.rest for each in causes):
        lines = [
            replace(each, line=following(each.line)) if each.deviating and each != first else each for each in lines
        ]
        if len(parts) == 1:
            parts = [_settled(parts[0], first)]
    if len(parts) == 1:
        told = replace(search, unexplained=NOTHING.unexplained) if search.known else parts[0].verdict.search
        parts = [replace(parts[0], verdict=replace(parts[0].verdict, causes=causes, search=told))]
    return StepVerdict(
        batches[0].step,
        tuple(parts),
        unread,
        tuple(lines),
        first,
        causes,
        lacking=tuple(dict.fromkeys(part for each in step.prepared for part in each.group.lacking)),
        notes=(*notes, *filter(None, [rows_twice(batches), _whitened_alone(step)]), *more),
        search=search if len(parts) > 1 and options.causes else None,
    )


def _settled(part: Part, first: StepLine) -> Part:
    """Returns the one file of a step, of which what is explained follows from the first deviation."""
    verdict = part.verdict
    lines = tuple(line if settled(line) or line == verdict.first else following(line) for line in verdict.lines)
    return replace(part, verdict=replace(verdict, lines=lines))


def _one_choice(batches: Sequence[Minibatch], options: VerifyOptions) -> Chosen:
    """Returns the conventions of all files. Raises MinibatchError where two files contradict each other."""
    first = choose(batches[0], options)
    for batch in batches[1:]:
        other = choose(batch, options)
        odd, one, two = "library", first.preset.name, other.preset.name
        if one == two:
            keys = [key for key in first.values if other.values[key] != first.values[key]]
            if not keys:
                continue
            odd, one, two = dotted(keys[0]), shown(first.values[keys[0]]), shown(other.values[keys[0]])
        raise MinibatchError(
            f"{batches[0].path} says {odd} = {one} and {batch.path} {odd} = {two}: give the files of one step of one run."
        )
    return first


Explained = tuple[Verified, StepLine | None, Causes, tuple[str, ...]]
"""A step, what deviates first, what explains it and how much was tried for that, and what is noted of that."""


def _explained(case: Case, prepared: Sequence[Prepared], unread: dict[Path, str]) -> Explained:
    """Verifies every file, and looks for what explains the first deviation.

    Where it is the mean and deviation of another batch, and nobody knows whether all files are there, they are asked for.
    """
    step = verified(case, prepared, unread)
    first = first_line(step.lines)
    if first is None or first.of_forwards or first.line.says != DIFFERS or not case.options.causes:
        return step, first, NOTHING, ()
    at = next(each for each in step.prepared if first.first and each.batch.path == first.first[1].path)
    of_scopes = divided_otherwise(step, first.name) if first.name not in ROWS else whitened_over_others(step, first, at)
    if found := tuple(of_scopes):
        return step, first, Causes(found), ()
    trials = _trials(step)
    here = next(each for each in trials if each.batch is at.batch)
    search = _causes(step, first, at, trials)
    causes = _as_said(search.matches, here, first.name)
    if any(each.beyond for each in causes) and any(each.group.whole is None for each in prepared):
        groups = {id(each.group): replace(each.group, whole=False, moments={}) for each in prepared}
        moved = [Prepared(replace(each.batch, moments={}), groups[id(each.group)], each.shares) for each in prepared]
        return _explained(case, moved, unread)
    if not causes:
        untried = tuple(_untried(trials, first))  # it says the same of a large file
        return step, first, NOTHING if untried else search, untried
    if any(each.beyond for each in causes) and all(each.rollout is not each.alone for each in trials):
        notes = tuple(f"{each.said}; but all that is whitened together is there" for each in causes if each.beyond)
        return step, first, replace(search, matches=tuple(each for each in causes if not each.beyond)), notes
    return step, first, replace(search, matches=causes), ()


def _trials(step: Verified) -> list[MinibatchTrial]:
    factor = step.case.options.tolerance
    return with_rollouts(
        [
            trial_of(verdict, stages, factor, each.group.whole)
            for each, verdict in zip(step.prepared, step.verdicts, strict=True)
        ]
    )


def _causes(step: Verified, first: StepLine, at: Prepared, trials: Sequence[MinibatchTrial]) -> Causes:
    """Returns what explains the first deviation; where that is in advantages of which other files are missing, and nothing does,
    what explains the returns, which no whitening moves."""
    parts = [Part(Path(each.replayed.batch.path), None, each) for each in step.verdicts]  # type: ignore[arg-type]
    found = causes_in(trials, parts, first)
    returns = next((each for each in step.lines if each.name == "returns" and each.line.says == DIFFERS), None)
    if found.matches or first.name != "advantages" or returns is None or at.group.whole:
        return found
    some = [replace(each, lines={name: each.lines[name] for name in ("rewards", "returns") if name in each.lines})
            for each in trials]  # fmt: skip
    return causes_in(some, parts, returns)


def _untried(trials: Sequence[MinibatchTrial], first: StepLine) -> Iterator[str]:
    """Says of a large file how many causes were tried, where none explains what deviates."""
    assert first.first is not None
    at = next(each for each in trials if each.batch is first.first[1])
    tried = at.limit(first.name)
    if tried < at.listed.get(first.name, 0):
        yield (
            f"the {tried:,} likeliest changes that lead to {first.line.called} were tried: all others would take "
            "too long on a file of this size; a dump of fewer responses would allow them"
        )


def _whitened_alone(step: Verified) -> str | None:
    """Says where files of which others are missing were whitened without these: their metadata err, or what wrote them does."""
    found = [
        Path(each.batch.path).name
        for each, verdict in zip(step.prepared, step.verdicts, strict=True)
        for line in verdict.lines
        if each.group.whole is False and line.compared.name == "advantages" and line.compared.cells >= FEWEST
        if line.says == AGREES and step.case.settings["whiten_advantages"] != "off" and not verdict.replayed.started
    ]
    if not found:
        return None
    which = found[0] if len(found) == 1 else f"each of {len(found)} files, {found[0]} the first,"
    return (
        f"advantages are whitened over the rows of {which} alone, and not over "
        f"{WHITENED_ROWS[step.case.scope.whitens]}, though files of these are not there: "
        "either the metadata say wrongly what belongs together, or this is a fault"
    )
