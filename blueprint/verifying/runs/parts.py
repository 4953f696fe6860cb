"""The files of a step, verified: those of RLHF together, rollouts of classic PPO each by itself; both told alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.dumps import Minibatch, MinibatchError, read_dump
from blueprint.verifying.runs.step import Settings
from blueprint.verifying.runs.watched import Pair, pairs_of

if TYPE_CHECKING:
    from blueprint.dumps import Place
    from blueprint.verifying import StepVerdict, Verdict

NEEDS = {
    "loss.mean_ratio": "ratio", "approx_kl.used": "approx_kl", "clip_fraction.used": "clip_fraction", "kl.statistic": "kl",
    "policy_loss": "policy_loss", "value_loss": "value_loss", "entropy": "entropy", "total_loss": "total_loss",
}  # fmt: skip
"""What each number that is followed needs, by the names of `Replay.available`."""


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


def verified(paths: Sequence[Path], settings: Settings) -> Found:
    """Verifies the files of a step. Raises MinibatchError as `verify_step`."""
    from blueprint.verifying import verify_step

    step = verify_step(paths, settings.preset, settings.overrides, settings.tolerance, settings.device)
    found = _of_minibatches(step)
    for path, reason in step.unread.items():
        found += _of_rollout(path, settings) or Found(unread=(reason,))
    return found


def _of_minibatches(step: StepVerdict) -> Found:
    from blueprint.verifying import data_of_step, text_of_step

    if not step.parts:
        return Found()
    data = data_of_step(step)
    watched = [_numbers(part.verdict) for part in step.parts]
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
        before=tuple(_before(zip(places, watched, strict=True))),
    )


def _numbers(verdict: Verdict) -> dict[str, Pair]:
    replayed = verdict.replayed
    computed = {name: replayed.whole[name] for name, needs in NEEDS.items() if replayed.available(needs)}
    return pairs_of(verdict.lines, computed)


def _before(files: Iterable[tuple[Place | None, Mapping[str, Pair]]]) -> Iterator[Mapping[str, Pair]]:
    """Yields the numbers of those files that say they come before the first update."""
    return (watched for place, watched in files if place and place.before_first_update)


def _of_rollout(path: Path, settings: Settings) -> Found | None:
    """Verifies a rollout of classic PPO; returns None for any other file, and one that cannot be read."""
    from blueprint.verifying.classic import choose, data_of, text_of, verify

    try:
        rollout = read_dump(path)
    except MinibatchError:
        return None
    if isinstance(rollout, Minibatch):
        return None
    chosen = choose(rollout, settings.preset, settings.overrides)
    verdict = verify(rollout, chosen.values, chosen.preset.name, settings.tolerance)
    data, watched = data_of(verdict), pairs_of(verdict.lines, verdict.replayed.whole)
    return Found(
        first=verdict.first.compared.name if verdict.first else "",
        cause=verdict.causes[0].said if verdict.causes else "",
        where=path,
        text=f"{chosen}\n\n{text_of(verdict)}" if verdict.first else "",
        says=tuple(line.says for line in verdict.lines),
        quantities=tuple(data.pop("quantities")),
        data=(data,),
        watched=(watched,),
        before=tuple(_before([(rollout.place, watched)])),
    )
