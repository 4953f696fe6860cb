"""A step of PPO verified; where neither a setting nor a known mistake explains all that deviates, changes of the definitions'
equations are tried on what deviates first, and held against all files of the step.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from blueprint.dumps import Minibatch
from blueprint.verifying import DIFFERS, Match, Part, StepLine, StepVerdict, VerifyOptions, Watch, following, settled
from blueprint.verifying.recompute import SHARES
from blueprint.verifying.step import verify_minibatches
from blueprint.verifying.trials import causes_in
from blueprint.workbooks.rlhf_ppo.verifying.by_equations import EquationTrial, trials_of

TYPED = 0
"""The rank of one setting or one known mistake: nothing was fitted."""


def verify_steps(
    batches: Sequence[Minibatch], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
) -> StepVerdict:
    """Verifies minibatches of one step as parts of one batch; `unread` are files of it that could not be read.

    What somebody typed or did goes before a change of an equation, and that before what the file itself gave away.
    """
    found = verify_minibatches(batches, options, watch, not_read)
    first = found.first
    if first is None or first.of_forwards or first.line.says != DIFFERS or not options.causes:
        return found
    plain = [each for each in found.causes if each.rank == TYPED and not each.beyond]
    if any(each.rest for each in plain):
        return found
    trials = trials_of(found.parts)
    fewest = min((len(each.still) for each in plain), default=None)
    every = causes_in(trials, found.parts, first)
    causes = [each for each in every if fewest is None or len(each.still) < fewest]
    if causes and not causes[0].rest:
        causes = list(_in_it_alone(found, first, causes))
    if causes:
        least = min(len(each.still) for each in causes)
        others = [each for each in found.causes if len(each.still) <= least and not each.beyond]
        return _explained(found, first, (*causes, *others))
    found = replace(found, notes=(*found.notes, *_untried(trials, first)))
    return _fits_noted(found) if all(each.rollout is not each.alone for each in trials) else found


def _in_it_alone(found: StepVerdict, first: StepLine, causes: Sequence[Match]) -> Iterator[Match]:
    """Yields causes that leave something if all is computed so, as mistakes in that quantity alone, where that leaves less.

    A share of a few tokens has too few bits for it.
    """
    others = [each for each in found.lines if each.line.says == DIFFERS and each.name != first.name]
    beside = tuple((each.name, each.line.compared.largest) for each in others if not each.of_forwards)
    for each in causes:
        alone = len(beside) < len(each.still) and first.name not in SHARES
        yield replace(each, said=f"{each.said}, in {first.line.called} alone", still=beside) if alone else each


def _untried(trials: Sequence[EquationTrial], first: StepLine) -> Iterator[str]:
    """Says of a large file how many changes of equations were tried, where none explains what deviates."""
    assert first.first is not None
    known, tried = next(each for each in trials if each.batch is first.first[1]).untried(first.name)
    if tried < known:
        yield (
            f"{tried:,} of {known:,} changes of the equations that lead to {first.line.called} were tried: the others would take "
            "too long on a file of this size; a dump of fewer responses would allow all of them"
        )


def _fits_noted(found: StepVerdict) -> StepVerdict:
    """Returns a verdict in which the mean and deviation of a larger batch are no cause, since all files of the batch are there."""
    fits = [each for each in found.causes if each.beyond]
    notes = (f"{each.said}; but all that is whitened together is there" for each in fits)
    return replace(found, causes=tuple(each for each in found.causes if not each.beyond), notes=(*found.notes, *notes))


def _explained(found: StepVerdict, first: StepLine, causes: tuple[Match, ...]) -> StepVerdict:
    """Returns a verdict with other causes; what they explain follows from the first deviation."""
    lines, parts = found.lines, found.parts
    if causes[0].rest:
        lines = tuple(
            replace(each, line=following(each.line)) if each.deviating and each != first else each for each in lines
        )
    if len(parts) == 1:
        parts = (_alone(parts[0], causes),)
    return replace(found, causes=causes, lines=lines, parts=parts)


def _alone(part: Part, causes: tuple[Match, ...]) -> Part:
    """Returns the one file of a step with its causes."""
    verdict = part.verdict
    lines = verdict.lines
    if causes[0].rest:
        lines = tuple(line if settled(line) or line == verdict.first else following(line) for line in lines)
    return replace(part, verdict=replace(verdict, causes=causes, lines=lines))
