"""`blueprint verify` of files: grouped by step, each step verified as a whole, and printed. No maths."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from blueprint.commands.console import say
from blueprint.commands.refusals import Refused, Unreadable

if TYPE_CHECKING:
    from blueprint.dumps import Minibatch
    from blueprint.verifying import StepVerdict

DIFFERENCE, UNREADABLE = 1, 3


class Progress(Protocol):
    """Bars on stderr."""

    def begin(self, what: str, words: int) -> Callable[[int], None]:
        """Begins a bar and returns what moves it on."""

    def end(self) -> None:
        """Ends it."""


def verify_files(
    files: Sequence[Path | Minibatch],
    preset: str | None,
    overrides: tuple[str, ...],
    tolerance: float,
    device: str,
    as_json: bool,
    each: bool,
    bars: Callable[[int], Progress],
) -> NoReturn:
    """Verifies files, step by step, prints what they come to, and ends with the exit code that says it.

    A minibatch stands for its file, which was read already.
    """
    found = [
        _step(of_step, (preset, overrides, tolerance, device), bars) for of_step in _by_step(files)
    ]  # fmt: skip
    for verdict in found:
        if not verdict.parts:
            raise Unreadable(next(iter(verdict.unread.values())))
    say("\n\n".join(_json(verdict) if as_json else _text(verdict, each) for verdict in found))
    if not all(verdict.agrees for verdict in found):
        sys.exit(DIFFERENCE)
    sys.exit(UNREADABLE if any(verdict.unread for verdict in found) else 0)


def _by_step(files: Sequence[Path | Minibatch]) -> list[list[Path | Minibatch]]:
    """Returns the files of each step, in the order of steps; those that say none are one step."""
    found: dict[int, list[Path | Minibatch]] = {}
    for file in files:
        found.setdefault(_number(file), []).append(file)
    return [found[number] for number in sorted(found)]


def _number(file: Path | Minibatch) -> int:
    """Returns the number of a file's step, −1 where it says none that could be read."""
    from blueprint.dumps import Minibatch, MinibatchError, metadata_of

    if isinstance(file, Minibatch):
        return -1 if file.step is None else file.step
    if file.is_dir():
        raise Refused(f"{file} is a folder: verify it alone, as a whole run, or name the files in it")
    try:
        return int(metadata_of(file).get("step", -1))
    except (MinibatchError, TypeError, ValueError):
        return -1


def _step(
    files: Sequence[Path | Minibatch],
    asked: tuple[str | None, tuple[str, ...], float, str],
    bars: Callable[[int], Progress],
) -> StepVerdict:
    """Verifies the files of one step, with progress on stderr where they are large."""
    from blueprint.dumps import Minibatch, MinibatchError, read_minibatch
    from blueprint.verifying import choose, known_device, verify_batches

    batches, unread = list[Minibatch](), dict[Path, str]()
    for file in files:
        try:
            batches.append(file if isinstance(file, Minibatch) else read_minibatch(file))
        except MinibatchError as error:
            unread[Path(str(file))] = str(error)
    preset, overrides, tolerance, device = asked
    try:
        for batch in batches[:1]:
            choose(batch, preset, overrides)
        known_device(device)
    except MinibatchError as error:
        raise Refused(str(error)) from error
    shown = bars(sum(batch.mask.size for batch in batches))
    try:
        return verify_batches(batches, preset, overrides, tolerance, device, shown.begin, unread)
    except MinibatchError as error:
        raise Unreadable(str(error)) from error
    finally:
        shown.end()


def _text(found: StepVerdict, each: bool) -> str:
    from blueprint.verifying import text_of_step

    return text_of_step(found, each)


def _json(found: StepVerdict) -> str:
    from blueprint.verifying import data_of, data_of_step

    chosen = found.parts[0].chosen
    said: dict[str, Any] = {"why": chosen.why, "differs_from_preset": list(chosen.differs)}
    alone = len(found.parts) == 1 and not found.unread
    told = data_of(found.parts[0].verdict) | {"lacking": list(found.lacking)} if alone else data_of_step(found)
    return json.dumps(told | said, ensure_ascii=False, indent=1, allow_nan=False)
