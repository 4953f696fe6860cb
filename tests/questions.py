"""Writes docs/questions.md: thirty-two questions, each with its answer from the default workbook. `python -m tests.questions`

They stand in tests/data/questions.toml. A question names the rows from which it is answered; its sentence has what stands there, in
braces: `{total_loss}` of the whole batch, `{ratio@1.2}` of the second token of the first response, `{ratio@1.-1}` of the last one,
`{response.length@1}` of a response. Behind a colon stands a row of which something is made: `{exp: old.logprobs@1.1}`; or a setting
that is changed stands before it: `{ppo.gae_lambda=0: advantages@1.1}`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import cache
from math import exp, log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from blueprint.book import Book
from tests.page.workshop import made

PAGE = Path(__file__).parent.parent / "docs" / "questions.md"
ASKED = Path(__file__).parent / "data" / "questions.toml"
FIELD = re.compile(r"\{([^{}]+)\}")
EQUATION = re.compile(r"(?<![\w)] )(?<![\w.])((?:[−(]*\d[\d.]*\)*(?:·| [+−] ))+[−(]*\d[\d.]*\)*) = (−?\d+\.?\d*)")
"""Numbers that are added, subtracted and multiplied, and what they come to."""
HEAD = """# Thirty-two questions

An engineer or a lecturer asks them of a PPO workbook. The default workbook answers all of them: `blueprint build` writes it, and
[`workbooks/rlhf_ppo.xlsx`](../workbooks/rlhf_ppo.xlsx) is ready-made. Try before you open an answer. In a class, give each pair of
students four of them and ten minutes ([a lesson](lesson-plan.md)).

Each answer ends with the cells that hold its numbers, each followed by the symbol of its row. The first response is *{said}*,
the second *{other}*; (1.2) is the second token of the first. Numbers have four decimals at most; where a calculator, given
the shown numbers, gets a different last decimal, ≈ replaces =. The page is made of the workbook by
`python -m tests.questions`, and a test reads the cells again in a spreadsheet engine.
"""
FIRST = """
## Twelve for *One page*

The first sheet shows the whole computation; a token is a column. These twelve need no other sheet; the cells behind the
answers lead to the sheets on which the rows are computed.
"""
REST = "\n## Twenty for the other sheets\n"


class Question(NamedTuple):
    """What is asked, the rows (`name`, or `name@response.token`) that answer it, and the sentence."""

    ask: str
    rows: tuple[str, ...]
    answer: str


def _questions(table: str) -> tuple[Question, ...]:
    """Reads questions, the lines of each answer joined."""
    asked = tomllib.loads(ASKED.read_text(encoding="utf-8"))[table]
    return tuple(Question(each["ask"], tuple(each["rows"]), " ".join(each["answer"].split())) for each in asked)


ONE_PAGE, OTHERS = _questions("one_page"), _questions("others")
"""Those that the first sheet answers, and those that other sheets do."""


@cache
def book(*settings: str) -> Book:
    """Returns the default book with other settings."""
    return made(*settings)


def positions(of: Book, response: int) -> list[int]:
    """Returns the positions of a response's tokens, from 1."""
    row = np.asarray(of.values[of.blocks["mask"]], dtype=float)[response - 1]
    return [int(at) + 1 for at in np.flatnonzero(row == 1)]


def place(of: Book, row: str) -> tuple[str, dict[str, int]]:
    """Returns the name of a row, and the member of each axis: `ratio@1.2` is token 2 of response 1, `score@2` response 2."""
    name, _, at = row.partition("@")
    if not at:
        return name, {}
    response, _, token = at.partition(".")
    if not token:
        return name, {"n": int(response)}
    tokens = positions(of, int(response))
    return name, {"n": int(response), "t": tokens[int(token) - 1 if int(token) > 0 else int(token)]}


def value(of: Book, row: str) -> Any:
    """Returns what stands in a row's cell."""
    name, members = place(of, row)
    return of.show(name, **members).value


def shown(number: Any) -> str:
    """Writes a number with four decimals at most, and a minus; a text as it is."""
    if isinstance(number, str):
        return number
    text = f"{float(number):.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "−")


def on_tokens(of: Book, row: str) -> list[tuple[int, int, str, float]]:
    """Returns response, number of the token, token and number of a row, for all responses or for one (`ratio in 1`)."""
    name, _, only = row.partition(" in ")
    return [
        (n, k, value(of, f"word_written@{n}.{k}"), float(value(of, f"{name}@{n}.{k}")))
        for n in ([int(only)] if only else [1, 2])
        for k in range(1, 1 + len(positions(of, n)))
    ]


def _list(found: list[tuple[int, int, str, float]]) -> str:
    """Names tokens by response and number."""
    return ", ".join(f"“{word}” ({n}.{k})" for n, k, word, _ in found) or "none"


MAKES: dict[str, Callable[[Book, str], str]] = {
    "exp": lambda of, row: shown(exp(value(of, row))),
    "which": lambda of, row: _list([each for each in on_tokens(of, row) if each[3] == 1]),
    "above 0": lambda of, row: _list([each for each in on_tokens(of, row) if each[3] > 0]),
    "above 1": lambda of, row: _list([each for each in on_tokens(of, row) if each[3] > 1]),
    "each": lambda of, row: ", ".join(shown(each[3]) for each in on_tokens(of, row)),
    "least": lambda of, row: shown(min(each[3] for each in on_tokens(of, row))),
    "largest": lambda of, row: "{} with {}".format(*_largest(of, row)),
    "who": lambda of, row: "the policy" if value(of, row) > 0 else "the reference",
    "count": lambda of, row: str(len(of.values[of.blocks[row]])),
    "log count": lambda of, row: shown(log(len(of.values[of.blocks[row]]))),
    "nonzero": lambda of, row: str(np.count_nonzero(of.values[of.blocks[row]])),
}
"""What is made of a row, by the word before the colon."""


def _largest(of: Book, row: str) -> tuple[str, str]:
    best = max(on_tokens(of, row), key=lambda each: each[3])
    return _list([best]), shown(best[3])


def filled(sentence: str) -> str:
    """Puts the numbers into a sentence, with ≈ where a pocket calculator gets another last digit."""
    told = FIELD.sub(lambda found: _field(found[1]), sentence)
    return EQUATION.sub(lambda found: found[0] if right(found) else f"{found[1]} ≈ {found[2]}", told)


def right(equation: re.Match[str]) -> bool:
    """Says whether a pocket calculator makes of the left side what stands on the right, to half a unit of the fourth decimal."""
    left, result = (each.replace("−", "-").replace("·", "*") for each in equation.groups())
    return bool(abs(eval(left, {"__builtins__": {}}) - float(result)) < 0.501e-4)


def _field(text: str) -> str:
    before, colon, row = text.rpartition(": ")
    if colon and "=" not in before:
        return MAKES[before](book(), row)
    return shown(value(book(*before.split()), row))


def cell_of(row: str) -> str:
    """Writes where a row's cell stands, and what is in it: `Loss!T20` (ρ) = 0.7."""
    of = book()
    name, members = place(of, row)
    block = of.blocks[name]
    if not members and block.axes:
        first = of.show(name, **{str(axis): 1 for axis in block.axes})
        return f"`{first.cell}` ({block.symbol}, its first cell)"
    found = of.show(name, **members)
    return f"`{found.cell}` ({block.symbol}) = {shown(found.value)}"


def page() -> str:
    """Returns the whole page."""
    said, other = (" ".join(word for _, _, word, _ in on_tokens(book(), f"mask in {n}")) for n in (1, 2))
    lines = [HEAD.replace("{said}", _escaped(said)).replace("{other}", _escaped(other)), FIRST]
    for number, question in enumerate((*ONE_PAGE, *OTHERS), 1):
        lines += [REST] if number == len(ONE_PAGE) + 1 else []
        cells = "; ".join(map(cell_of, question.rows))
        lines += [
            f"**{number}. {question.ask}**\n\n<details>\n<summary>Answer</summary>\n\n"
            f"{_escaped(filled(question.answer))}\n\nCells: {cells}\n\n</details>\n"
        ]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """Writes the end token so that no page takes it for a tag."""
    return text.replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
