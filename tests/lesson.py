"""Writes the numbers of the lesson plan from the workbooks: `python -m tests.lesson`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import exp, log1p
from pathlib import Path

import numpy as np

from blueprint.book import Book
from tests.page.workshop import made

PAGE = Path(__file__).parent.parent / "docs" / "lesson-plan.md"
LENGTHS = (3, 2)
"""Tokens of the two responses of `by-hand`."""
GIVEN = {
    "log π_old": "old.logprobs", "log π_ref": "reference.logprobs", "log π_θ": "policy.logprobs",
    "old value V": "old_critic.values", "new value v": "critic.values",
}  # fmt: skip
ANSWERS = {
    "k1": "kl.used", "r": "rewards", "δ": "td_errors", "A": "advantages", "R": "returns", "ρ": "ratio",
    "ρ·A": "surrogate.unclipped", "clipped ratio · A": "surrogate.clipped", "the smaller": "surrogate",
    "value loss": "value.word_loss",
}  # fmt: skip
STEPS = [each / 10 for each in range(-5, 6)]


def shown(number: float) -> str:
    """Writes a number with three decimals at most, and a minus."""
    text = f"{number:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "−")


def table(heads: Iterable[str], lines: Iterable[str], corner: str = "") -> list[str]:
    """Writes a table: its head, and its rows."""
    heads = list(heads)
    return ["", line(corner, heads), "|---" * (1 + len(heads)) + "|", *lines, ""]


def line(head: str, cells: Iterable[str]) -> str:
    """Writes a row of a table."""
    return f"| {head} | {' | '.join(cells)} |"


def tokens(book: Book, name: str) -> list[float]:
    """Returns what a row has on the five tokens."""
    rows = zip(np.asarray(book.values[book.blocks[name]], dtype=float), LENGTHS, strict=True)
    return [float(each) for row, length in rows for each in row[:length]]


def _of_tokens(names: dict[str, str]) -> list[str]:
    book = made(numbers="by-hand")
    return [line(head, map(shown, tokens(book, name))) for head, name in names.items()]


def _columns() -> list[str]:
    return [f"{n}, t = {t}" for n, length in enumerate(LENGTHS, 1) for t in range(1, length + 1)]


def _given() -> list[str]:
    scores = [shown(each) if each else "" for each in tokens(made(numbers="by-hand"), "score.placed")]
    return table(_columns(), [*_of_tokens(GIVEN), line("score", scores)])


def _table() -> list[str]:
    """Lists exp, σ and −ln σ to three decimals, zeros at the end kept."""
    said: dict[str, Callable[[float], float]] = {
        "exp(d)": exp, "σ(d)": lambda d: 1 / (1 + exp(-d)), "−ln σ(d)": lambda d: log1p(exp(-d)),
    }  # fmt: skip
    return table(map(shown, STEPS), (line(head, (f"{of(d):.3f}" for d in STEPS)) for head, of in said.items()), "d")


def _sums(book: Book) -> list[list[float]]:
    """Returns the log-probs of both responses of each pair, under the policy and under the reference."""
    names = ("chosen.sum", "chosen.sum_ref", "rejected.sum", "rejected.sum_ref")
    columns = [np.asarray(book.values[book.blocks[name]], dtype=float) for name in names]
    return [[float(each) for each in row] for row in zip(*columns, strict=True)]


def _pairs() -> list[str]:
    heads = (f"{side}, {model}" for side in ("chosen", "rejected") for model in ("policy", "reference"))
    return table(
        heads, (line(f"pair {n}", map(shown, row)) for n, row in enumerate(_sums(made(numbers="by-hand-dpo")), 1))
    )


def _totals() -> list[str]:
    ppo, grpo, dpo = (made(numbers=name) for name in ("by-hand", "by-hand-grpo", "by-hand-dpo"))
    policy, value, total = (
        float(ppo.values.cell(ppo.blocks[name])) for name in ("policy_loss", "value_loss", "total_loss")
    )
    mean, spread = (float(np.ravel(grpo.values[grpo.blocks[name]])[0]) for name in ("group.mean", "group.deviation"))
    advantages = np.ravel(grpo.values[grpo.blocks["group.advantage"]]).tolist()
    margins, losses = (np.ravel(dpo.values[dpo.blocks[name]]).tolist() for name in ("watch.margin", "loss.pair"))
    return [
        f"Policy loss {shown(policy)}, mean value loss {shown(value)}, "
        f"total {shown(policy)} + ½ · {shown(value)} = {shown(total)}.",
        "",
        f"Part 3: mean {shown(mean)}, standard deviation {shown(spread)}, advantages {', '.join(map(shown, advantages))}. "
        f"The loss of `by-hand-grpo` is {shown(float(grpo.values.cell(grpo.blocks['total_loss'])))}.",
        "",
        f"Part 4: margins {' and '.join(map(shown, margins))}, losses {' and '.join(map(shown, losses))}, "
        f"mean {shown(float(dpo.values.cell(dpo.blocks['total_loss'])))}.",
    ]


PARTS: dict[str, Callable[[], list[str]]] = {
    "given": _given, "table": _table, "pairs": _pairs, "answers": lambda: table(_columns(), _of_tokens(ANSWERS)), "totals": _totals,
}  # fmt: skip
"""What stands between the comments of a name on the page."""


def written(page: str) -> str:
    """Returns the page with every number computed anew."""
    for name, part in PARTS.items():
        before, behind = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        if (page.count(before), page.count(behind)) != (1, 1):
            raise LookupError(f"lesson-plan.md: {before.strip()} and {behind} must stand there once each.")
        head, rest = page.split(before)
        page = head + before + "\n".join([*part(), ""]) + behind + rest.split(behind)[1]
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
