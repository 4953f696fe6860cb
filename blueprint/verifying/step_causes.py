"""What explains a deviation in a step of several files, once for all of them.

What files share is asked first: over which rows they were whitened, and what their losses were divided by, or multiplied with.
Then the convention that explains the joined rows, or, where a number deviates, the file in which it first does.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from blueprint.dumps import Minibatch, MinibatchError, Place, Share, joined, key_of
from blueprint.verifying.case import Prepared, Verified, match_of
from blueprint.verifying.lines import DIFFERS, Line, StepLine
from blueprint.verifying.logged import ALL, TENSORS
from blueprint.verifying.parts import BATCH, MICROBATCH, MINIBATCH, RANK, WHITENED_ROWS, Scope, group_of, share_among
from blueprint.verifying.step_tested import in_all_files
from blueprint.verifying.verdict import Match, Verdict

PARTS = Scope("", shares=True)
"""Shares of a minibatch as verl has them: tokens and responses of all its files, times the ranks."""


def causes_in_step(step: Verified, first: StepLine) -> tuple[Match, ...]:
    """Returns what explains the first deviation of a step, the best first."""
    assert first.first is not None
    if first.line.says != DIFFERS:
        return ()
    at = next(each for each in step.prepared if each.batch.path == first.first[1].path)
    if ALL[first.name] not in TENSORS:
        return tuple(_divided_otherwise(step, first.name)) or in_all_files(step, first, at, _in_one)
    return tuple(_whitened_over_others(step, first, at)) or in_all_files(step, first, at, _of_joined)


def _in_one(step: Verified, first: StepLine, at: Prepared) -> tuple[Match, ...]:
    """Returns what explains a number in a file."""
    return step.case.verified(at, explain=True).causes


def _of_joined(step: Verified, first: StepLine, at: Prepared) -> tuple[Match, ...]:
    """Returns what explains the joined rows of the file's own epoch; of a part of them, what does not hang on whitening."""
    if at.group.whole is False:
        return _unwhitened(step, at)
    mine = [replace(each.batch, moments={}) for each in step.prepared if _together(step, each.batch, at.batch)]
    found = step.case.verdict(joined(mine, mine[0].path), at.group.whole)
    if first.name in found.left_open:  # by the mean and deviation of a batch that may not all be there
        return (Match("whitening over more than these files", 0.0, beyond=True),)
    causes = found.causes if found.first and found.first.compared.name == first.name else ()
    return causes or (_unwhitened(step, at) if at.group.whole is None else ())


def _unwhitened(step: Verified, at: Prepared) -> tuple[Match, ...]:
    """Returns what explains what of a file does not hang on whitening: the returns, where γ is forgotten."""
    tensors = {name: each for name, each in at.batch.tensors.items() if name != "advantages"}
    found = step.case.verdict(replace(at.batch, tensors=tensors, logged={}), False)
    return found.causes if found.first and found.first.says == DIFFERS else ()


def _together(step: Verified, batch: Minibatch, other: Minibatch) -> bool:
    one, two = ((*group_of(each, step.case.scope.whitens), key_of(each)[1]) for each in (batch, other))
    return batch is other if batch.place is None or other.place is None else one == two


def _whitened_over_others(step: Verified, first: StepLine, at: Prepared) -> Iterator[Match]:
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


def _divided_otherwise(step: Verified, name: str) -> Iterator[Match]:
    """Yields what else a loss may be divided by in every file, or else a factor by which it is off in every file."""
    for said, share in _shares(step):
        changed = [replace(each, batch=replace(each.batch, share=share(each.batch))) for each in step.prepared]
        other = [each.batch.share for each in changed] != [each.batch.share for each in step.prepared]
        if other and (found := _if_all_agree(step, changed, name)):
            yield match_of(said, found, name)
            return
    yield from _factors(step, name)


def _shares(step: Verified) -> Iterator[tuple[str, Callable[[Minibatch], Share | None]]]:
    """Yields other denominators, and how a report puts them."""

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
            line.compared for line in wrong if not _apart(line, factor) <= line.compared.allowed * max(1.0, factor)
        ]
        if of_it and all(each.name != name for each in others):
            still = tuple({each.name: each.largest for each in others}.items())
            yield Match(said, max(_apart(line, factor) for line in of_it), still, rank=2)
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


def _apart(line: Line, factor: float) -> float:
    """Returns how far a logged number is from a multiple of what was computed; infinitely, a tensor."""
    logged, recomputed = line.compared.logged, line.compared.recomputed
    return float("inf") if logged is None or recomputed is None else abs(logged - factor * recomputed)
