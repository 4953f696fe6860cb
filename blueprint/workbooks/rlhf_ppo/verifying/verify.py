"""A step of PPO verified; where neither a setting nor a known mistake explains all that deviates, changes of the definitions'
equations are tried on what deviates first, and held against all files of the step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from blueprint.dumps import Minibatch
from blueprint.verifying import DIFFERS, Match, Part, StepLine, StepVerdict, VerifyOptions, Watch, following, settled
from blueprint.verifying.step import verify_minibatches
from blueprint.verifying.trials import causes_in
from blueprint.workbooks.rlhf_ppo.verifying.by_equations import trials_of

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
    fewest = min((len(each.still) for each in plain), default=None)
    causes = [
        each
        for each in causes_in(trials_of(found.parts), found.parts, first)
        if fewest is None or len(each.still) < fewest
    ]
    if not causes:
        return found
    least = min(len(each.still) for each in causes)
    others = [each for each in found.causes if len(each.still) <= least and not each.beyond]
    return _explained(found, first, (*causes, *others))


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
