"""What explains a deviation in a step of several files, once for all of them.

What files share is asked first: over which rows they were whitened, and which part of a loss each has. Then the convention that
explains the joined rows, or, where a number deviates, the file in which it first does.
"""

from collections.abc import Iterator
from dataclasses import replace

from blueprint.dumps import Minibatch, key_of
from blueprint.verifying.case import Verified, agrees_in, match_of
from blueprint.verifying.causes import Match
from blueprint.verifying.lines import DIFFERS
from blueprint.verifying.logged import ALL, TENSORS
from blueprint.verifying.prepared import Prepared
from blueprint.verifying.scopes import BATCH, MICROBATCH, MINIBATCH, RANK, TOLD, group_of
from blueprint.verifying.step_lines import StepLine
from blueprint.verifying.step_shares import divided_otherwise

MANY = 2
"""Causes from which on they are told apart by the numbers of all files."""


def causes_in_step(step: Verified, first: StepLine) -> tuple[Match, ...]:
    """Returns what explains the first deviation of a step, the best first."""
    assert first.first is not None
    if first.line.says != DIFFERS:
        return ()
    at = step.prepared_of(first.first[1])
    if ALL[first.name] not in TENSORS:
        return tuple(divided_otherwise(step, first.name)) or step.case.verified(at, explain=True).causes
    found = tuple(_whitened_over_others(step, first, at)) or _likeliest(step, first, _of_joined(step, first, at))
    numbers = [each for each in step.lines if each.line.compared.logged is not None and each.line.says == DIFFERS]
    still = {each.name: each.line.compared.largest for each in numbers}
    return tuple(replace(each, still=tuple((dict(each.still) | still).items())) for each in found)


def _likeliest(step: Verified, first: StepLine, found: tuple[Match, ...]) -> tuple[Match, ...]:
    """Returns, of several settings that explain the joined rows, those with which all that was logged agrees, if some are."""
    if len(found) < MANY:
        return found
    tried = {each.said: _under(step, first, each) for each in found if each.changes}
    return tuple(each for each in found if each.said in tried and not tried[each.said].still) or found


def _under(step: Verified, first: StepLine, cause: Match) -> Match:
    """Returns what is left of the deviations of all files with a setting changed."""
    case = step.case.under(cause.changes)
    return match_of(cause.said, [case.verified(each) for each in case.preparing.prepared()], first.name)


def _of_joined(step: Verified, first: StepLine, at: Prepared) -> tuple[Match, ...]:
    """Returns what explains the joined rows of the file's own epoch; of a part of them, what does not hang on whitening."""
    if at.group.whole is False:
        return _unwhitened(step, at)
    mine = [each.batch for each in step.prepared if _together(step, each.batch, at.batch)]
    found = step.case.together([replace(each, moments={}) for each in mine], at.group.whole)
    if first.name in found.left_open:  # by the mean and deviation of a batch that may not all be there
        return (Match("whitening over more than these files", 0.0, beyond=True),)
    causes = found.causes if found.first and found.first.compared.name == first.name else ()
    return causes or (_unwhitened(step, at) if at.group.whole is None else ())


def _unwhitened(step: Verified, at: Prepared) -> tuple[Match, ...]:
    """Returns what explains what of a file does not hang on whitening: the returns, where γ is forgotten."""
    found = step.case.unwhitened(at.batch)
    return found.causes if found.first and found.first.says == DIFFERS else ()


def _together(step: Verified, batch: Minibatch, other: Minibatch) -> bool:
    if batch.place is None or other.place is None:
        return batch is other
    scope = step.case.preparing.scope.whitens
    return group_of(batch, scope) == group_of(other, scope) and key_of(batch)[1] == key_of(other)[1]


def _whitened_over_others(step: Verified, first: StepLine, at: Prepared) -> Iterator[Match]:
    """Yields other rows that may have been whitened together: of a microbatch, a minibatch, a rank, of all ranks."""
    own = step.case.preparing.scope.whitens
    if first.name != "advantages" or at.batch.place is None:
        return
    seen = {_partition(step, own)}
    for scope in (MICROBATCH, MINIBATCH, RANK, BATCH):
        if (parts := _partition(step, scope)) in seen:
            continue
        seen.add(parts)
        others = step.case.preparing.prepared(scope)
        here = next(each for each in others if each.batch.path == at.batch.path)
        if here.group.whole is False or not agrees_in(step.case.verified(here), first.name):
            continue
        found = [step.case.verified(each) for each in others]
        if all(agrees_in(each, first.name) for each in found):
            said = f"whitening over {TOLD[scope]}, instead of over {TOLD[own]}"
            yield match_of(said, found, first.name)


def _partition(step: Verified, scope: str) -> tuple[tuple[str, ...], ...]:
    """Returns which files are whitened together under a scope, in one epoch."""
    found: dict[tuple[int, ...], list[str]] = {}
    for each in step.case.preparing.placed:
        found.setdefault((*group_of(each, scope), key_of(each)[1]), []).append(each.path)
    return tuple(sorted(tuple(each) for each in found.values()))
