"""Compares two folders of records: what appeared, what went, and of what is in both every difference, in a line each."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.same.record import Record, read

NUMBER = re.compile(r"-?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
Parts = dict[str, list[Any]]
TOLERANCE = 1e-12
"""How far two numbers may be apart, absolute and relative."""


def compare(before: Path, after: Path) -> tuple[list[str], int]:
    """Returns a line for each difference between two folders of records, and how many cases were compared."""
    old, new = ({path.name: path for path in folder.glob("*.npz")} for folder in (before, after))
    lines = [f"{read(old[name])[0]['name']}: not recorded again" for name in sorted(old.keys() - new.keys())]
    lines += [f"{read(new[name])[0]['name']}: new" for name in sorted(new.keys() - old.keys())]
    both = sorted(old.keys() & new.keys())
    for name in both:
        (was, numbers), (now, others) = read(old[name]), read(new[name])
        lines += [f"{was['name']}: {line}" for line in differences(was, now, numbers, others)]
    return lines, len(both)


def differences(was: Record, now: Record, numbers: np.ndarray, others: np.ndarray) -> Iterator[str]:
    """Yields what differs in one case."""
    if "parts" in was and "parts" in now:
        yield from _of_parts(was["parts"], now["parts"])
        yield from _of_numbers(_by_part(was["parts"], numbers), _by_part(now["parts"], others))
        return
    for key in sorted(was.keys() | now.keys()):
        if (old := was.get(key)) != (new := now.get(key)):
            yield from _of_texts(key, str(old), str(new))


def _of_parts(was: Parts, now: Parts) -> Iterator[str]:
    for name in sorted(was.keys() | now.keys()):
        if name not in now or name not in was:
            yield f"{name} {'is gone' if name in was else 'is new'}"
        elif was[name][1] != now[name][1]:
            yield f"{name} holds {now[name][1]} numbers instead of {was[name][1]}"
        elif was[name] != now[name]:
            yield f"{name} differs in texts, formulas or formats"


def _by_part(parts: Parts, numbers: np.ndarray) -> dict[str, np.ndarray]:
    ends = np.cumsum([count for _, count in parts.values()], dtype=int)
    return dict(zip(parts, np.split(numbers, ends[:-1]), strict=True))


def _of_numbers(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> Iterator[str]:
    for part, was in before.items():
        now = after.get(part)
        if now is None or len(now) != len(was):
            continue
        relative = np.abs(now - was) / (1 + np.abs(was))
        if (relative > TOLERANCE).any():
            at = int(np.argmax(relative))
            yield f"{part}: {(relative > TOLERANCE).sum()} of {len(was)} numbers differ, as {was[at]} and {now[at]}"


def _of_texts(key: str, was: str, now: str) -> Iterator[str]:
    """Yields the first line that differs, unless only last digits of numbers do."""
    if NUMBER.sub("0", was) == NUMBER.sub("0", now):
        old, new = (np.array(NUMBER.findall(text), dtype=float) for text in (was, now))
        if bool(np.all(np.abs(old - new) <= TOLERANCE * (1 + np.abs(old)))):
            return
    changed = [
        line
        for line in difflib.unified_diff(was.splitlines(), now.splitlines(), n=0, lineterm="")
        if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    counts = Counter(line[0] for line in changed)
    first = "; ".join(line[:160] for line in changed[:2])
    yield f"{key}: {counts['-']} lines gone, {counts['+']} new: {first}"
