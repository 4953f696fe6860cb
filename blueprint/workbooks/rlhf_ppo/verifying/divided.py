"""What the files of a step share, and may have done otherwise: over which rows they were whitened, and what their losses were
divided by, or multiplied with.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from blueprint.dumps import Minibatch, MinibatchError, Place, Share, key_of
from blueprint.verifying import DIFFERS, Line, Match, StepLine, Verdict, settled
from blueprint.workbooks.rlhf_ppo.verifying.case import Prepared, Verified
from blueprint.workbooks.rlhf_ppo.verifying.parts import (
    BATCH,
    MICROBATCH,
    MINIBATCH,
    RANK,
    WHITENED_ROWS,
    Scope,
    group_of,
    share_among,
)

PARTS = Scope("", shares=True)
"""Shares of a minibatch as verl has them: tokens and responses of all its files, times the ranks."""


def match_of(said: str, verdicts: Iterable[Verdict], name: str) -> Match:
    """Returns a cause with which a quantity agrees in all files, and what else deviates in some of them then."""
    lines, still = [line for each in verdicts for line in each.lines], dict[str, float]()
    for found in (line.compared for line in lines if not settled(line)):
        still[found.name] = max(still.get(found.name, 0.0), found.largest)
    largest = max((line.compared.largest for line in lines if line.compared.name == name), default=0.0)
    return Match(said, largest, tuple(still.items()))


def whitened_over_others(step: Verified, first: StepLine, at: Prepared) -> Iterator[Match]:
    """Yields other rows that may have been whitened together: of a microbatch, a minibatch, a rank, of all ranks."""
    own = step.case.scope.whitens
    if first.name != "advantages" or at.batch.place is None:
        return
    seen = {_partition(step, own)}
    for scope in (MICROBATCH, MINIBATCH, RANK, BATCH):
        if (parts := _partition(step, scope)) in seen:
            continue
        seen.add(parts)
        others = step.case.prepared(scope)
        here = next(each for each in others if each.batch.path == at.batch.path)
        if here.group.whole is not False and (found := _if_all_agree(step, [here, *others], first.name)):
            yield match_of(
                f"whitening over {WHITENED_ROWS[scope]}, instead of over {WHITENED_ROWS[own]}", found, first.name
            )


def _partition(step: Verified, scope: str) -> tuple[tuple[str, ...], ...]:
    """Returns which files are whitened together under a scope, in one epoch."""
    found: dict[tuple[int, ...], list[str]] = {}
    for each in step.case.placed:
        found.setdefault((*group_of(each, scope), key_of(each)[1]), []).append(each.path)
    return tuple(sorted(tuple(each) for each in found.values()))


def _if_all_agree(step: Verified, files: Sequence[Prepared], name: str) -> list[Verdict]:
    """Returns what files come to if a quantity agrees in all of them, else nothing: most causes fail in the first."""
    found = list[Verdict]()
    for each in files:
        try:
            found.append(step.case.verified(each))
        except MinibatchError:
            return []
        if any(line.compared.name == name and not line.compared.agrees for line in found[-1].lines):
            return []
    return found


def divided_otherwise(step: Verified, name: str) -> Iterator[Match]:
    """Yields what else a loss may be divided by in every file, or else a factor by which it is off in every file."""
    for said, share in _shares(step):
        changed = [replace(each, batch=replace(each.batch, share=share(each.batch))) for each in step.prepared]
        other = [each.batch.share for each in changed] != [each.batch.share for each in step.prepared]
        if other and (found := _if_all_agree(step, changed, name)):
            yield match_of(said, found, name)
            return
    yield from _factors(step, name)


def _shares(step: Verified) -> Iterator[tuple[str, Callable[[Minibatch], Share | None]]]:
    """Yields other denominators, and how a report puts them; none where a file does not say where in the step it belongs."""
    if len(step.case.placed) < len(step.prepared):
        return

    def mates(batch: Minibatch, start: int) -> Share:
        together = (each for each in step.case.placed if key_of(each)[start:3] == key_of(batch)[start:3])
        return share_among(list(together), PARTS)

    yield "the mean over the tokens of each microbatch, not its share of the minibatch's", lambda batch: None
    yield "each microbatch's share of the mean over its minibatch, of all ranks", lambda batch: mates(batch, 1)
    yield (
        "each microbatch's share of the mean over its minibatch, of its own rank only",
        lambda batch: replace(mates(batch, 0), ranks=1.0),
    )


def _factors(step: Verified, name: str) -> Iterator[Match]:
    """Yields how many microbatches or ranks the logged number was multiplied with, or divided by."""
    wrong = [line for each in step.verdicts for line in each.lines if line.says == DIFFERS]
    of_it = [line for line in wrong if line.compared.name == name]
    for factor, said in _counted(step):
        others = [
            line.compared
            for line in wrong
            if not _from_multiple(line, factor) <= line.compared.allowed * max(1.0, factor)
        ]
        if of_it and all(each.name != name for each in others):
            still = tuple({each.name: each.largest for each in others}.items())
            yield Match(said, max(_from_multiple(line, factor) for line in of_it), still)
            return


def _counted(step: Verified) -> Iterator[tuple[float, str]]:
    """Yields the factors, and how a report puts them."""
    places = [each.batch.place or Place() for each in step.prepared]
    named: dict[int, list[str]] = {}
    for what, key in (("microbatches of its minibatch", "microbatches"), ("ranks", "world_size")):
        counts = {getattr(each, key) for each in places}
        if len(counts) == 1 and (count := counts.pop()) and count > 1:
            named.setdefault(count, []).append(what)
    for count, of in named.items():
        yield float(count), f"everything multiplied by {count}, the {' or the '.join(of)}"
        yield 1 / count, f"everything divided by {count}, the {' or the '.join(of)}"


def _from_multiple(line: Line, factor: float) -> float:
    """Returns how far a logged number is from a multiple of what was computed; infinitely, a tensor."""
    logged, recomputed = line.compared.logged, line.compared.recomputed
    return float("inf") if logged is None or recomputed is None else abs(logged - factor * recomputed)
