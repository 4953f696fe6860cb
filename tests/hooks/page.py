"""The hooks of docs/dump-hooks.md, read from the page: the lines, and where in a library's source they are pasted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from textwrap import indent

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "dump-hooks.md"


@dataclass(frozen=True)
class Hook:
    """Lines to paste. name: what their first line says behind its #; file: in the library's source; anchor: the line there
    in front of or behind which they go, at its depth; without one they go to the end of the file."""

    name: str
    code: str
    file: str
    anchor: str
    behind: bool

    @property
    def digest(self) -> str:
        """A digest of the lines, by which a run can say that these are the ones that it ran."""
        return sha256(self.code.encode()).hexdigest()[:16]

    def pasted(self, source: str) -> str:
        """Returns a library's source with these lines in their place.

        Raises ValueError where the anchor is not exactly one line of it.
        """
        if not self.anchor:
            return f"{source}\n\n{self.code}"
        lines = source.splitlines(keepends=True)
        places = [number for number, line in enumerate(lines) if line.strip() == self.anchor]
        if len(places) != 1:
            raise ValueError(f"{self.file}: {self.anchor!r} stands there {len(places)} times, expected once")
        at = places[0] + self.behind
        depth = lines[places[0]][: -len(lines[places[0]].lstrip())]
        return "".join([*lines[:at], indent(self.code, depth), *lines[at:]])


def _hook(before: str, code: str) -> Hook:
    """Makes a hook of a block of code and the text between the block before and it."""
    name = re.split(r"  # ", code, maxsplit=1)[1].splitlines()[0]
    file = re.findall(r"`([\w/]+\.py)`", before)[-1]
    places = re.findall(r"(behind|in front of)\s(?:the\sline\s)?`([^`]+)`", before)
    if not places and "at the end of" not in before:
        raise ValueError(f"{PAGE}: where does the hook {name} go?")
    where, anchor = places[-1] if places else ("", "")
    return Hook(name, code, file, anchor, where == "behind")


def _hooks() -> dict[str, Hook]:
    parts = re.split(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = [_hook(before, code) for before, code in zip(parts[0::2], parts[1::2], strict=False)]
    return {hook.name: hook for hook in found}


HOOKS = _hooks()
"""By name, in the order of the page."""
