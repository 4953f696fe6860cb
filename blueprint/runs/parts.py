"""The files of a step, verified: those of RLHF together, rollouts of classic PPO each by itself; both told alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.minibatch import Minibatch, MinibatchError, read_dump
from blueprint.runs.step import Settings
from blueprint.runs.watched import Pair, pairs_of

if TYPE_CHECKING:
    from blueprint.minibatch import Place
    from blueprint.replay import Line
    from blueprint.replay import Part as Verified

NEEDS = {
    "loss.mean_ratio": "ratio", "approx_kl.used": "approx_kl", "clip_fraction.used": "clip_fraction", "kl.statistic": "kl",
    "policy_loss": "policy_loss", "value_loss": "value_loss", "entropy": "entropy", "total_loss": "total_loss",
}  # fmt: skip
"""What each number that is followed needs, by the names of `Replay.available`."""


@dataclass(frozen=True)
class Part:
    """A file that was verified.

    lines: every quantity that was compared. first: the one that deviates first, "" if none does; cause: its likeliest.
    watched: the numbers that are followed. place: where in the step it belongs. data: its report; text:
        the same for people, where something deviates.
    """

    path: Path
    lines: Sequence[Line]
    first: str
    cause: str
    watched: Mapping[str, Pair]
    place: Place | None
    text: str
    data: dict[str, Any]


def verified(paths: Sequence[Path], settings: Settings) -> tuple[list[Part], dict[Path, str]]:
    """Returns the files that were verified, and of those that could not be, why.

    Raises MinibatchError as `verify_step`.
    """
    from blueprint.replay import verify_step

    found = verify_step(paths, settings.preset, settings.overrides, settings.tolerance, settings.device)
    rollouts = {path: part for path in found.unread if (part := _of_rollout(path, settings))}
    unread = {path: why for path, why in found.unread.items() if path not in rollouts}
    return [*(_of_minibatch(each) for each in found.parts), *rollouts.values()], unread


def _of_minibatch(part: Verified) -> Part:
    from blueprint.replay import data_of, text_of

    verdict, replayed = part.verdict, part.verdict.replayed
    computed = {name: replayed.whole[name] for name, needs in NEEDS.items() if replayed.available(needs)}
    watched = pairs_of(verdict.lines, computed)
    first, cause = _first(verdict)
    text = f"{part.chosen}\n\n{text_of(verdict)}" if first else ""
    return Part(part.path, verdict.lines, first, cause, watched, replayed.batch.place, text, data_of(verdict))


def _of_rollout(path: Path, settings: Settings) -> Part | None:
    """Verifies a rollout of classic PPO; returns None for any other file, and one that cannot be read."""
    from blueprint.replay.classic import choose, data_of, text_of, verify

    try:
        rollout = read_dump(path)
    except MinibatchError:
        return None
    if isinstance(rollout, Minibatch):
        return None
    chosen = choose(rollout, settings.preset, settings.overrides)
    verdict = verify(rollout, chosen.values, chosen.preset.name, settings.tolerance)
    watched = pairs_of(verdict.lines, verdict.replayed.whole)
    first, cause = _first(verdict)
    text = f"{chosen}\n\n{text_of(verdict)}" if first else ""
    return Part(path, verdict.lines, first, cause, watched, rollout.place, text, data_of(verdict))


def _first(verdict: Any) -> tuple[str, str]:
    """Returns the quantity that deviates first and its likeliest cause, "" where there is none."""
    first = verdict.first.compared.name if verdict.first else ""
    return first, verdict.causes[0].said if verdict.causes else ""
