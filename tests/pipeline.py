"""One small model through all stages: `python -m tests.pipeline` computes the workbook of each stage, and writes the weights that
it hands over, rounded as its last Update sheet shows them, into the numbers files of the stages that begin with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from blueprint.book import Book
from blueprint.inputs.load import load
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.registry import built_in_file
from tests.page.workshop import Array

NAME = "pipeline/{}".format
POLICY, SCORED = ("E", "W", "Y"), ("E", "W", "w", "b")


class Handed(NamedTuple):
    """Weights that a stage hands over: whose they are, which, and as whose the next stage takes them, by its name."""

    stage: str
    model: str
    parts: tuple[str, ...]
    to: Mapping[str, tuple[str, ...]]


CHAIN = (
    Handed("sft", "policy", POLICY, {"dpo": ("reference",), "ppo": ("old", "reference"), "grpo": ("old", "reference")}),
    Handed("sft", "policy", ("E", "W"), {"reward-model": ("reward_model",)}),
    Handed("reward-model", "reward_model", SCORED, {"ppo": ("reward_model", "old_critic"), "grpo": ("reward_model",)}),
)
"""Fine-tuning makes the reference of all and the start of the reward model; that is the judge, and the start of the critic."""


STAGES = tuple(dict.fromkeys((*(each.stage for each in CHAIN), *(stage for each in CHAIN for stage in each.to))))
"""All stages, by name."""


def handed_over(book: Book, model: str, parts: tuple[str, ...]) -> dict[str, Array]:
    """Returns the rounded weights on the last Update sheet of a stage's workbook, by their names in a numbers file."""
    rows = {block.name: block for block in book.blueprint.blocks()}
    last = max(int(name[len("update") : name.index(".handed.")]) for name in rows if ".handed." in name)
    named = {part: f"{model}.{'head.' * (part in 'wb')}{part}" for part in parts}
    return {part: np.asarray(book.values[rows[f"update{last}.handed.{name}"]]) for part, name in named.items()}


def passed_on(each: Handed) -> Iterator[tuple[str, str]]:
    """Lists where the weights go: the stage, and the table of its numbers file."""
    yield from ((stage, table) for stage, tables in each.to.items() for table in tables)


def main() -> None:
    """Writes the weights of each stage into the files of the later ones, the first stage first."""
    for each in CHAIN:
        made = handed_over(Book(blueprint_of(load(NAME(each.stage)))), each.model, each.parts)
        for stage, table in passed_on(each):
            path = file_of(stage)
            path.write_text(with_weights(path.read_text(encoding="utf-8"), table, made), encoding="utf-8")


def file_of(stage: str) -> Path:
    """Returns the numbers file of a stage."""
    path = built_in_file(NAME(stage))
    assert path is not None, stage
    return path


def with_weights(text: str, table: str, weights: Mapping[str, Array]) -> str:
    """Puts weights into a table of a numbers file; what else stands there stays."""
    before, head, rest = text.partition(f"\n[{table}]")
    inside, more, after = rest.partition("\n[")
    while more and inside.count("[") != inside.count("]"):
        longer, found, after = after.partition("\n[")
        inside, more = f"{inside}{more}{longer}", found
    for name, each in weights.items():
        inside = re.sub(rf"(?m)^{name} = (\[\n(?:.*\n)*?\]|.*)$", f"{name} = {_spelled(each)}", inside, count=1)
    return f"{before}{head}{inside}{more}{after}"


def _spelled(weights: Array) -> str:
    """Spells a number, a list, or a table with a line for each row."""
    if weights.ndim < 2:
        return str(weights.tolist())
    wide = max(len(str(number)) for number in weights.ravel().tolist())
    rows = (", ".join(str(number).rjust(wide) for number in row) for row in weights.tolist())
    return "".join(["[\n", *(f"    [{row}],\n" for row in rows), "]"])


if __name__ == "__main__":
    main()
