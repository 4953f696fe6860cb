"""The files of a step, verified: those of RLHF together, rollouts of classic PPO each by itself; both told alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blueprint.verifying import StepVerdict, data_of_step, read_dumps, text_of_step, verify_dumps
from blueprint.verifying.runs.metrics import Pair, pairs_of
from blueprint.verifying.verdict import VerifyOptions


@dataclass(frozen=True)
class Found:
    """What the files of a step come to.

    first: the quantity that deviates first, "" if none does; cause: its likeliest; where: the file it deviates in; text: the
        report of it. says: the verdict on every quantity. quantities, data: the same for programs; files only where one deviates.
    watched: of each file the numbers that are followed; before: those of files before the first update.
    unread: why files could not be verified.
    """

    first: str = ""
    cause: str = ""
    where: Path | None = None
    text: str = ""
    says: tuple[str, ...] = ()
    quantities: tuple[dict[str, Any], ...] = ()
    data: tuple[dict[str, Any], ...] = ()
    watched: tuple[Mapping[str, Pair], ...] = ()
    before: tuple[Mapping[str, Pair], ...] = ()
    unread: tuple[str, ...] = ()

    def __add__(self, other: Found) -> Found:
        """Returns both together; what deviates first is that of the first that deviates at all."""
        wrong = self if self.first or not other.first else other
        joined = {name: getattr(self, name) + getattr(other, name) for name in JOINED}
        return replace(wrong, **joined)


JOINED = ("says", "quantities", "data", "watched", "before", "unread")


def verified(paths: Sequence[Path], options: VerifyOptions) -> Found:
    """Verifies the files of a step, those of each kind together. Raises MinibatchError as `verify_step`."""
    dumps, unread = read_dumps(paths)
    found = Found(unread=tuple(unread.values()))
    for kind in dict.fromkeys(dump.kind for dump in dumps):
        found += _of_step(verify_dumps([dump for dump in dumps if dump.kind == kind], options))
    return found


def _of_step(step: StepVerdict) -> Found:
    unread = tuple(step.unread.values())
    if not step.parts:
        return Found(unread=unread)
    data = data_of_step(step)
    watched = [pairs_of(part.verdict.lines, part.verdict.replayed.numbers) for part in step.parts]
    places = [part.verdict.replayed.batch.place for part in step.parts]
    return Found(
        first=step.first.name if step.first else "",
        cause=step.causes[0].said if step.causes else "",
        where=Path(data["first"]["file"]) if step.first else None,
        text=text_of_step(step) if step.first else "",
        says=tuple(each.line.says for each in step.lines),
        quantities=tuple(data.pop("quantities")),
        data=(data if step.first else {name: each for name, each in data.items() if name != "files"},),
        watched=tuple(watched),
        before=tuple(each for place, each in zip(places, watched, strict=True) if place and place.before_first_update),
        unread=unread,
    )
