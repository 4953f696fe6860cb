"""What else the losses of a step's files may have been divided by, or multiplied with."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from blueprint.dumps import Minibatch, MinibatchError, Place, Share, key_of
from blueprint.verifying.case import Verified, agrees_in, match_of
from blueprint.verifying.causes import Match
from blueprint.verifying.lines import DIFFERS, Line
from blueprint.verifying.prepared import Prepared, share_among
from blueprint.verifying.scopes import Scope
from blueprint.verifying.verdict import Verdict

PARTS = Scope("", shares=True)
"""Shares of a minibatch as verl has them: words and responses of all its files, times the ranks."""


def divided_otherwise(step: Verified, name: str) -> Iterator[Match]:
    """Yields what else a loss may be divided by in every file, or else a factor by which it is off in every file."""
    for said, share in _shares(step):
        changed = [replace(each, batch=replace(each.batch, share=share(each.batch))) for each in step.prepared]
        if all(new.batch.share == old.batch.share for new, old in zip(changed, step.prepared, strict=True)):
            continue
        if found := _with_all(step, changed, name):
            yield match_of(said, found, name)
            return
    yield from _factors(step, name)


def _with_all(step: Verified, changed: Sequence[Prepared], name: str) -> list[Verdict]:
    """Returns what files come to if a quantity agrees in all of them, else nothing: most causes fail in the first."""
    found = list[Verdict]()
    for each in changed:
        try:
            found.append(step.case.verified(each))
        except MinibatchError:
            return []
        if not agrees_in(found[-1], name):
            return []
    return found


def _shares(step: Verified) -> Iterator[tuple[str, Callable[[Minibatch], Share | None]]]:
    """Yields other denominators, and how a report puts them."""

    def mates(batch: Minibatch, of_rank: bool) -> Sequence[Minibatch]:
        start = 0 if of_rank else 1
        own = key_of(batch)[:3]
        return [each for each in step.case.preparing.placed if key_of(each)[:3][start:] == own[start:]]

    yield "the mean over the words of each microbatch, not its share of the minibatch's", lambda batch: None
    yield (
        "each microbatch's share of the mean over its minibatch, of all ranks",
        lambda batch: share_among(mates(batch, False), PARTS),
    )
    yield (
        "each microbatch's share of the mean over its minibatch, of its own rank only",
        lambda batch: replace(share_among(mates(batch, True), PARTS), ranks=1.0),
    )


def _factors(step: Verified, name: str) -> Iterator[Match]:
    """Yields how many microbatches or ranks the logged number was multiplied with, or divided by."""
    wrong = [line for each in step.verdicts for line in each.lines if line.says == DIFFERS]
    for factor, said in _counted(step):
        explained = [line for line in wrong if _times(line, factor)]
        of_it = [line for line in wrong if line.compared.name == name]
        if of_it and all(line in explained for line in of_it):
            still = {line.compared.name: line.compared.largest for line in wrong if line not in explained}
            yield Match(said, max(_apart(line, factor) for line in of_it), tuple(still.items()), rank=2)
            return


def _counted(step: Verified) -> Iterator[tuple[float, str]]:
    """Yields the factors, and how a report puts them."""
    places = [each.batch.place or Place() for each in step.prepared]
    told: dict[int, list[str]] = {}
    for what, counts in (
        ("microbatches of its minibatch", {each.microbatches for each in places}),
        ("ranks", {each.world_size for each in places}),
    ):
        if len(counts) == 1 and (count := counts.pop()) and count > 1:
            told.setdefault(count, []).append(what)
    for count, of in told.items():
        yield float(count), f"everything multiplied by {count}, the {' or the '.join(of)}"
        yield 1 / count, f"everything divided by {count}, the {' or the '.join(of)}"


def _times(line: Line, factor: float) -> bool:
    return line.compared.logged is not None and _apart(line, factor) <= line.compared.allowed * max(1.0, factor)


def _apart(line: Line, factor: float) -> float:
    compared = line.compared
    assert compared.logged is not None
    assert compared.recomputed is not None
    return abs(compared.logged - factor * compared.recomputed)
