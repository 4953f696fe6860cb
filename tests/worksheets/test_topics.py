"""Blanks of one topic alone: every topic of every kind has some, and they lie on its rows."""

from __future__ import annotations

import pytest

from blueprint.language import Block
from blueprint.language.nodes import Ref
from blueprint.language.trees import walk
from blueprint.page.outline import Blueprint
from blueprint.worksheets import WorksheetError, worksheet
from tests.commands import run_command
from tests.page.workshop import made

NUMBERS = ("default", "grpo", "dpo", "sft", "reward-model", "classic")
HANDED_ON = 5
"""Rows through which a number is handed on, at most, as a score from the model's output to a pair's margin."""
BLUEPRINTS: dict[str, Blueprint] = {}


def blueprint(numbers: str) -> Blueprint:
    """Makes the blueprint of built-in numbers, once."""
    if numbers not in BLUEPRINTS:
        BLUEPRINTS[numbers] = made(numbers=numbers).blueprint
    return BLUEPRINTS[numbers]


TOPICS = [(numbers, topic) for numbers in NUMBERS for topic in blueprint(numbers).topics]


@pytest.mark.parametrize(("numbers", "topic"), TOPICS)
def test_blanks_lie_on_the_rows_of_the_topic_or_on_what_they_hand_on(numbers: str, topic: str) -> None:
    whole = blueprint(numbers)
    found = worksheet(whole, None, topic=topic)
    named = {block.name: block for block in found.book.blueprint.blocks()}
    rows = [named[name] for name in whole.topics[topic] if name in named]
    handed = {*rows}
    for _ in range(HANDED_ON):
        handed |= {read for row in handed for read in _read(row)}
    assert len(found.blanks) >= 2
    assert {blank.block for blank in found.blanks} <= handed


def _read(block: Block) -> set[Block]:
    """Returns the blocks that the equations of a block read."""
    return {node.block for each in block.definitions for node in walk(each.expr) if isinstance(node, Ref)}


def test_a_topic_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(
        WorksheetError, match="there is no topic margin here: there are clip, gae, kl, value, whitening"
    ):
        worksheet(blueprint("default"), None, topic="margin")


def test_a_topic_and_a_file_of_blanks_are_not_both_taken() -> None:
    found = run_command("worksheet", "--topic", "gae", "--blanks-file", __file__)
    assert found.exit_code == 2
    assert "--topic and --blanks-file both say which blanks: leave one out" in found.output
