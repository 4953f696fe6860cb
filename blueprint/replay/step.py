"""All files of one training step: each computed again, and what they come to together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from blueprint.minibatch import Minibatch, MinibatchError, read_minibatch
from blueprint.replay.choose import Chosen, choose
from blueprint.replay.verify import Verdict, Watch, quiet, verify


@dataclass(frozen=True)
class Part:
    """One file of a step: how it was verified, and what it came to."""

    path: Path
    chosen: Chosen
    verdict: Verdict


@dataclass(frozen=True)
class StepVerdict:
    """What the files of one step come to.

    step: its number, as the files say it, else None.
    parts: a verdict for each file, in the order of ranks, epochs, minibatches and microbatches.
    unread: by file that could not be read, or not be computed with, why, in a sentence.
    """

    step: int | None
    parts: tuple[Part, ...]
    unread: Mapping[Path, str]

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that were verified."""
        return tuple(part.path for part in self.parts)

    @property
    def agrees(self) -> bool:
        """Whether every logged number of every file that could be compared agrees."""
        return all(part.verdict.agrees for part in self.parts)


def verify_step(
    paths: Sequence[Path],
    preset: str | None = None,
    overrides: Sequence[str] = (),
    tolerance: float = 1.0,
    device: str = "cpu",
    watch: Watch = quiet,
) -> StepVerdict:
    """Computes the files of one step again and compares them with everything that they logged.

    `tolerance` multiplies every tolerance. A file that cannot be read stops none of the others: it is named in `unread`.

    Raises:
        MinibatchError: an unknown preset, an override that is none, or no preset where a file does not say its library.
    """
    parts: list[Part] = []
    unread: dict[Path, str] = {}
    for path in paths:
        try:
            batch = read_minibatch(path)
        except MinibatchError as error:
            unread[path] = str(error)
            continue
        chosen = choose(batch, preset, overrides)
        try:
            found = verify(batch, chosen.values, chosen.preset.name, watch, tolerance, device=device)
        except MinibatchError as error:
            unread[path] = str(error)
        else:
            parts.append(Part(path, chosen, found))
    return StepVerdict(_step([part.verdict.replayed.batch for part in parts]), tuple(parts), unread)


def _step(batches: Sequence[Minibatch]) -> int | None:
    """Returns the number of the step, if the files say one and the same."""
    said = {batch.step for batch in batches}
    return said.pop() if len(said) == 1 else None
