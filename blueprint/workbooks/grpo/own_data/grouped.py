"""Rows as groups: the responses to each prompt side by side, and of them those that a workbook is to show."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from blueprint.inputs import ROWS, NumbersError, counted
from blueprint.quoting import unquoted
from blueprint.workbooks.common.own_data import Record, asked_for, choose, listed, text_of
from blueprint.workbooks.grpo.own_data.columns import Columns

PER_RESPONSE = ("response", "tokens", "truncated", "policy", "old", "reference", "engine", "entropy")
"""What a row of a prompt has a list of, with an entry for each response."""


class Group(NamedTuple):
    """A prompt, its number in the file from 1, and the rows of its responses."""

    number: int
    prompt: str
    rows: list[Record]

    def __str__(self) -> str:
        return f"prompt {self.number} ({unquoted(self.prompt, 30)})"


def groups_in(records: Iterable[Record], columns: Columns) -> list[Group]:
    """Puts rows together that have one group, or, where there is no such column, one prompt.

    Raises:
        NumbersError: if a group has several prompts, or a row of a prompt no reward, or not as many responses as rewards.
    """
    found: dict[str, Group] = {}
    by = columns.names.get("group", columns.names.get("prompt", ""))
    for record in (each for row in records for each in _responses(row, columns)):
        key = json.dumps(record.cells.get(by), sort_keys=True, default=str)
        cell = record.cells.get(columns.names.get("prompt", by))
        prompt = text_of(listed(cell)) or f"prompt {len(found) + 1}"
        group = found.setdefault(key, Group(len(found) + 1, prompt, []))
        if group.prompt != prompt and cell:
            raise NumbersError(
                f"{record.where}: its group has the prompt {unquoted(group.prompt)}, but here stands {unquoted(prompt)}; "
                f"give each prompt a group of its own, or name another column: --column group=NAME."
            )
        group.rows.append(record)
    return list(found.values())


def _responses(record: Record, columns: Columns) -> Iterator[Record]:
    """Yields a row for each response, where one has lists of rewards and responses; else the row."""
    rewards = {name: listed(record.cells.get(name)) for name in columns.weights}
    many = next((each for each in rewards.values() if isinstance(each, list)), None)
    if many is None:
        yield record
        return
    if not many:
        raise NumbersError(
            f"{record.where}: an empty list of rewards; write one for each response, or leave the row out."
        )
    lists = {name: listed(record.cells.get(columns.names[name])) for name in PER_RESPONSE if name in columns.names}
    every = {**rewards, **{columns.names[name]: each for name, each in lists.items() if each not in (None, "")}}
    for name, each in every.items():
        if not isinstance(each, list) or len(each) != len(many):
            has = counted(len(each), "entry").replace("entrys", "entries") if isinstance(each, list) else "no list"
            raise NumbersError(
                f"{record.where}: {unquoted(name)} has {has}, but there are {len(many)} rewards; write one of each a response."
            )
    for place in range(len(many)):
        yield Record(
            f"{record.where}, response {place + 1}",
            record.cells | {name: each[place] for name, each in every.items()},
        )


def chosen(groups: Sequence[Group], asked: str | None, name: str) -> list[Group]:
    """Takes the prompts that are asked for, such as 1-3,7; without that, all.

    Raises:
        NumbersError: if there is no such prompt, groups differ in size, or there are too many responses.
    """
    wanted = [groups[number - 1] for number in asked_for(asked, len(groups))] if asked is not None else list(groups)
    sizes = Counter(len(group.rows) for group in wanted)
    size = sizes.most_common(1)[0][0]
    if len(sizes) > 1:
        odd, usual = (next(group for group in wanted if (len(group.rows) == size) == same) for same in (False, True))
        raise NumbersError(
            f"{name}: {odd} has {counted(len(odd.rows), 'response')}, {usual} has {size}; a workbook has as many for each: "
            f"{choose(group.number for group in wanted if len(group.rows) == size)}."
        )
    if size * len(wanted) > ROWS[1]:
        fitting = max(1, ROWS[1] // size)
        how = choose(group.number for group in wanted[:fitting]) if size <= ROWS[1] else "write fewer to each"
        raise NumbersError(f"{name}: {size * len(wanted):,} responses, but a workbook shows up to {ROWS[1]}: {how}.")
    return wanted
