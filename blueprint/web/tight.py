"""Lines of a script without the blanks around its signs; texts, templates and patterns stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

_LOOSE = re.compile(r" ?(=>|===|!==|&&|\|\||<=|>=|[,;{}()\[\]:?=<>*]) ?")
"""A sign with the blanks around it."""
_SUM = re.compile(r"(?<![-+]) ([-+%/]) (?![-+/])")
"""An operation between blanks, beside which none of the same sign stands."""
_PATTERN = re.compile(r"[(,=:?&|!] ?/[^ ]")
"""Where a pattern may begin, whose signs mean something else."""
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


def tight(line: str) -> str:
    """Returns a line of a script as tight as it may be."""
    if "'" in line or _PATTERN.search(line):
        return line
    runs = ((code, "".join(sign for _, sign in run)) for code, run in groupby(_signs(line), lambda each: each[0]))
    return "".join(_SUM.sub(r"\1", _LOOSE.sub(r"\1", run)).replace(";}", "}") if code else run for code, run in runs)


def _signs(line: str) -> Iterator[tuple[bool, str]]:
    """Yields the signs of a line, each with whether it is of the script itself rather than of a text or a template."""
    within: list[int | None] = [
        0
    ]  # for each script in a template in the script how many braces are open; None for a template
    at = 0
    while at < len(line):
        braces, sign = within[-1], line[at]
        code = braces is not None
        if braces is None:
            sign = "${" if line.startswith("${", at) else sign
            if sign == "`":
                within.pop()
            elif sign == "${":
                within.append(0)
        elif text := _TEXT.match(line, at):
            code, sign = False, text[0]
        elif sign == "`":
            code = False
            within.append(None)
        elif sign == "}" and braces == 0 and len(within) > 1:
            code = False
            within.pop()
        elif sign in "{}":
            within[-1] = braces + (1 if sign == "{" else -1)
        yield code, sign
        at += len(sign)
