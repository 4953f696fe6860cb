"""One's own demonstrations, as CSV, JSON or JSONL: read, and written as the tables of a numbers file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from blueprint.inputs import ROWS, NumbersError, counted, load
from blueprint.quoting import unquoted
from blueprint.workbooks.common.own_data.cells_and_tokens import (
    END,
    Written,
    drawn,
    listed,
    plain,
    text_of,
    tokens_of,
    vocabulary_of,
    within,
)
from blueprint.workbooks.common.own_data.table_file import Record, own_file, table_beside

TABLE = table_beside(__file__)
BUILT_IN, EMBEDDING, HIDDEN = "sft", 3, 4
"""Whose model reads texts of which it knows every word; and the sizes of one that is drawn."""
UPDATE = {"by": "adamw", "epochs": 2, "lr": 0.1, "max_norm": 1.0}
RESPONSE = "response"


def tables_from(
    path: Path, told: Sequence[str] = (), prompts: str | None = None, most_tokens: int | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Returns the tables of a numbers file of demonstrations, and a line for everything one should know of them.

    told: which column is which, `what=column`. prompts: the rows to be taken, such as 1-3,7. most_tokens: of each text those that
    are kept. Raises NumbersError, with file and line, for what cannot be read so.
    """
    own = own_file(path, told, TABLE)
    rows = own.chosen(prompts, ROWS[1])
    whole = [_demonstration(row, own.names) for row in rows]
    kept, cut = within(whole, most_tokens)
    ended = [
        _ended(each) if len(each.tokens) == len(uncut.tokens) else each for each, uncut in zip(kept, whole, strict=True)
    ]
    known = load(BUILT_IN)
    vocabulary = vocabulary_of([each.tokens for each in ended], own.name, known["text.vocabulary"])
    policy, of_model = _policy(vocabulary, known)
    said = [*own.said, f"demonstrations: {len(rows)} of {len(own.rows)}", *cut, of_model]
    about = f"{counted(len(rows), 'demonstration')}, read from {own.name}: the policy learns to write them."
    head = own.head("demonstrations", about)
    return {**head, "update": UPDATE, "text": _texts(ended, vocabulary), "policy": policy}, said


def _demonstration(row: Record, names: Mapping[str, str]) -> Written:
    """Reads a row: its tokens, and 1 on those that are to be learned. Raises NumbersError where nothing is."""
    cells = {what: listed(row.cells.get(name)) for what, name in names.items()}
    parts = [(learned, plain(tokens_of(each))) for learned, each in _parts(row.where, cells)]
    if not any(learned and tokens for learned, tokens in parts):
        raise NumbersError(f"{row.where}: nothing is to be learned of it; write an answer, or leave the row out.")
    flags = [float(learned) for learned, tokens in parts for _ in tokens]
    return Written(row.where, [token for _, tokens in parts for token in tokens], {RESPONSE: flags}, True)


def _parts(where: str, cells: Mapping[str, Any]) -> list[tuple[bool, Any]]:
    """Parts a row: what is to be learned, and what is only read."""
    if (messages := cells.get("messages")) not in (None, "", []):
        if not isinstance(messages, list) or not all(
            isinstance(each, dict) and {"role", "content"} <= each.keys() for each in messages
        ):
            found = unquoted(str(messages), 30)
            raise NumbersError(
                f'{where}: the messages ({found}) are no list of {{"role": …, "content": …}}; write them so.'
            )
        return [(each["role"] == "assistant", text_of(each["content"])) for each in messages]
    if (response := cells.get("response")) not in (None, "", []):
        return [(False, cells.get("prompt")), (True, response)]
    return [(True, text_of(cells.get("text")))]


def _ended(of: Written) -> Written:
    """Adds the end token, which is to be learned, too; a text that was cut has not ended."""
    return of._replace(tokens=[*of.tokens, END], numbers={RESPONSE: [*of.numbers[RESPONSE], 1.0]})


def _policy(vocabulary: Sequence[str], known: Any) -> tuple[dict[str, Any], str]:
    """Returns the weights of a policy for these words, and what they are."""
    if list(known["text.vocabulary"]) == list(vocabulary):
        return {
            each: known[f"policy.{each}"].tolist() for each in "EWY"
        }, f"weights: those of {BUILT_IN}, which knows all words"
    count = len(vocabulary)
    shapes = {"E": (count, EMBEDDING), "W": (EMBEDDING + HIDDEN + 1, HIDDEN), "Y": (HIDDEN, count)}
    weights = {name: drawn(*shape, seed=place) for place, (name, shape) in enumerate(shapes.items())}
    return weights, f"weights: drawn, since no built-in model knows these {count} words"


def _texts(of: Sequence[Written], vocabulary: Sequence[str]) -> dict[str, Any]:
    """Lays texts out: pads, which are end tokens, come last; the first token of a text has no entry of its own."""
    spelled, width = {each.casefold(): each for each in vocabulary}, max(2, *(len(each.tokens) for each in of))
    rows = [[spelled[token.casefold()] for token in each.tokens] for each in of]
    return {
        "vocabulary": list(vocabulary),
        "end_word": END,
        "texts": [[*row, *[END] * (width - len(row))] for row in rows],
        "response": [[*each.numbers[RESPONSE], *[0.0] * (width - len(each.tokens))][1:] for each in of],
        "there": [[*[1.0] * len(row), *[0.0] * (width - len(row))][1:] for row in rows],
    }
