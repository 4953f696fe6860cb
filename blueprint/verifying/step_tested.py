"""Causes that were found in one file of a step, held against all of its files: what they refute is no cause."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from blueprint.dumps import MinibatchError, key_of
from blueprint.verifying.case import Case, Prepared, Verified, match_of
from blueprint.verifying.lines import DIFFERS, StepLine, settled
from blueprint.verifying.parts import group_of
from blueprint.verifying.verdict import Match, Verdict

ELSEWHERE = 3
"""So many other files a mistake that is no setting is looked for in: each asks for a whole search."""
TYPED = 0
"""The rank of what somebody typed or did: one setting or one slip, nothing fitted."""

Look = Callable[[Verified, StepLine, Prepared], tuple[Match, ...]]
"""Looks in one file for what explains the first deviation of a step."""


def in_all_files(step: Verified, first: StepLine, at: Prepared, look: Look) -> tuple[Match, ...]:
    """Returns what explains the first deviation in a file and is not refuted by another; of these, what leaves the least.

    look: looks for it in one file; `at` is the first that deviates.
    """
    found = look(step, first, at)
    if any(each.beyond for each in found):
        return found
    settings = [held for each in found if each.changes and (held := _under(step, first, each)) is not None]
    slips = _of_others(step, first, at, [each for each in found if not each.changes], look)
    every = {each.said: each for each in (*settings, *slips)}
    kept = [every[each.said] for each in found if each.said in every]
    fewest = min((len(each.still) for each in kept), default=0)
    return tuple(each for each in kept if len(each.still) == fewest)


def _under(step: Verified, first: StepLine, match: Match) -> Match | None:
    """Returns a setting with what deviates under it in any file; None where a file that deviates does not agree with it.

    Files that agree as they are may be those in which nothing was done otherwise, as on another rank; but a number that was fitted
    to one file must hold in all of them.
    """
    case = step.case.under(match.changes)
    try:
        made = [_as_far_as_known(case, case.verified(each), first.name) for each in case.on_lines(case.prepared())]
    except MinibatchError:
        return None
    by_path = {each.replayed.batch.path: each for each in made}
    pairs = [(straight, by_path[straight.replayed.batch.path]) for straight in step.verdicts]
    if any(_differs(under, first.name) for straight, under in pairs if _differs(straight, first.name)):
        return None
    against = [straight for straight, under in pairs if _unsettled(under) > _unsettled(straight)]
    against = [each for each in against if not _differs(each, first.name)]
    if against and match.rank > TYPED:
        return None
    kept = [straight if straight in against else under for straight, under in pairs]
    still = min(match_of(match.said, kept, first.name).still, _beside(step, first.name), key=len)
    count = len(step.verdicts) - len(against)
    these = f" in {'that file' if count == 1 else f'those {count} files'} alone ({len(against)} agree without it)"
    return replace(match, said=f"{match.said}{these if against else ''}", still=still)


def _as_far_as_known(case: Case, made: Verdict, name: str) -> Verdict:
    """Returns a verdict; where nothing says which rows were whitened together, the one that leaves their mean and spread open."""
    if not _differs(made, name) or made.replayed.batch.place is not None:
        return made
    left = case.verdict(replace(made.replayed.batch, moments={}), False, explain=False)
    return left if name in left.left_open else made


def _of_others(step: Verified, first: StepLine, at: Prepared, found: Sequence[Match], look: Look) -> Iterator[Match]:
    """Yields mistakes that are no settings, those that are found in other files that deviate, too."""
    others = list(_apart(step, first, at)) if found else []
    also = [{each.said for each in look(step, first, other)} for other in others[:ELSEWHERE]]
    left, tried_on = _beside(step, first.name), 1 + ELSEWHERE if len(others) > ELSEWHERE else 0
    for each in found:
        if all(each.said in said for said in also):
            yield replace(each, still=tuple((dict(each.still) | dict(left)).items()), tried_on=tried_on)


def _apart(step: Verified, first: StepLine, at: Prepared) -> Iterator[Prepared]:
    """Yields a file that deviates of each part of the step but the first's own; numbers are of a file, tensors of files that were
    whitened together, in an epoch."""
    wrong = {each.replayed.batch.path for each in step.verdicts if _differs(each, first.name)}
    number = first.line.compared.logged is not None

    def part_of(each: Prepared) -> object:
        if number or each.batch.place is None:
            return each.batch.path
        return (*group_of(each.batch, step.case.scope.whitens), key_of(each.batch)[1])

    seen = {part_of(at)}
    for each in step.prepared:
        if each.batch.path in wrong and part_of(each) not in seen:
            seen.add(part_of(each))
            yield each


def _beside(step: Verified, name: str) -> tuple[tuple[str, float], ...]:
    """Returns what else differs by itself, from the files' own rows before it, and by how much."""
    found: dict[str, float] = {}
    for line in (line for each in step.verdicts for line in each.lines):
        if line.says == DIFFERS and line.compared.name != name:
            found[line.compared.name] = max(found.get(line.compared.name, 0.0), line.compared.largest)
    return tuple(found.items())


def _differs(verdict: Verdict, name: str) -> bool:
    return any(line.compared.name == name and line.says == DIFFERS for line in verdict.lines)


def _unsettled(verdict: Verdict) -> int:
    return sum(not settled(line) for line in verdict.lines)
