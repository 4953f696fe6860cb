"""What numbers files of several kinds share: weights and texts, which presets are used and stand side by side, and the map of a
grid.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import WithJsonSchema

from blueprint.inputs import DEFAULT, Catalogue, Draft, Numbers, NumbersError, Part, check_vocabulary, refusal
from blueprint.inputs.entries import Number, Positive, Text, Word, between, must_be

SHAPES = {"E": ("token", "embedding"), "W": ("input", "hidden"), "Y": ("hidden", "token"), "w": ("hidden",), "b": ()}
ABOUT = {
    "E": "a row per token, a column per number of x",
    "W": "rows: x, h, 1; a column per number of h; h = tanh([x, h before, 1] · W)",
    "Y": "a row per number of h, a column per token; scores = h · Y",
    "w": "a number per number of h; output = h · w + b",
    "b": "the b of w",
}
LIMITS = {"token": (2, 64), "hidden": (1, 32), "embedding": (1, 31), "input": (3, 64)}
"""The least and the most of what weights count."""


def whole_to(most: int) -> Any:
    """Describes a whole number from 1 on."""
    entry = must_be(f"a whole number of at most {most}", lambda number: number <= most)
    return Annotated[Positive, entry, WithJsonSchema({"type": "integer", "minimum": 1, "maximum": most})]


def number_from(low: float, high: float) -> Any:
    """Describes a number between two, which it may be itself."""
    return Annotated[Number, between(low, high), WithJsonSchema({"type": "number", "minimum": low, "maximum": high})]


def keys_of(models: Mapping[str, tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """Lists all weights by their keys. models: by name, what one is for, and its weights, E, W, Y, w, b, delta_Y, …."""
    return tuple(f"{model}.{part}" for model, (_, parts) in models.items() for part in parts)


def weight(key: str, default: Any = None) -> Part:
    """Describes a weight, or what an update adds to it. default: what holds where it is left out; None: it may not be."""
    name = key.partition(".")[2]
    letter = name.removeprefix("delta_")
    about = ABOUT[letter] if letter == name else f"what the update adds to {letter}"
    found = Part(key, Number, SHAPES[letter], about, block=block_name(key))
    return found if default is None else found._replace(default=default)


def block_name(key: str) -> str:
    """Returns the block that holds a weight of the numbers file: `critic.delta_w` stands in `critic.delta.head.w`.

    In a sheet upper and lower case are the same, so w and W need names that differ.
    """
    model, part = key.split(".")
    letter = part.removeprefix("delta_")
    return f"{model}.{'delta.' * (letter != part)}{'head.' * (letter in ('w', 'b'))}{letter}"


def check_inputs(parts: Mapping[str, Any], model: str) -> None:
    """Checks that W of a model has a row for each number of x and h, and one for the 1.

    Raises:
        NumbersError: if it has not.
    """
    inputs, hidden = np.shape(parts[f"{model}.W"])
    expected = np.shape(parts[f"{model}.E"])[1] + hidden + 1
    if inputs != expected:
        raise refusal(f"{model}.W", f"{inputs} rows", f"{expected}: one for each of x and h, and one for the 1")


def check_words(parts: Mapping[str, Any], *keys: str, unit: str = "row") -> None:
    """Checks that texts are made of tokens of the vocabulary; capitals make no difference.

    keys: of lists of tokens, or of one token where `unit` is not row. Those that are not given have no tokens.

    Raises:
        NumbersError: for the first token that there is not.
    """
    for key in keys:
        _check_known(f"{key}, {unit}", parts.get(key, ()), parts["text.vocabulary"], "a token of text.vocabulary")


def _check_known(where: str, texts: Sequence[Sequence[str]], known: Sequence[str], expected: str) -> None:
    there = {each.casefold() for each in known}
    for place, words in enumerate(texts, start=1):
        if stray := next((word for word in words if word.casefold() not in there), ""):
            raise refusal(f"{where} {place}", stray, expected)


def check_texts(parts: Mapping[str, Any], *keys: str) -> None:
    """Checks that prompts and other texts are made of tokens of the vocabulary; its first one ends a text, and is in no prompt.

    keys: of the other texts, in which it may only stand last.

    Raises:
        NumbersError: for the first token that there is not, or that ends a text too early.
    """
    check_vocabulary(parts["text.vocabulary"])
    end, *known = parts["text.vocabulary"]
    _check_known("text.prompts, row", parts["text.prompts"], known, NO_END)
    for key in keys:
        texts = [text[:-1] if text[-1].casefold() == end.casefold() else text for text in parts[key]]
        _check_known(f"{key}, row", texts, known, NO_END)


NO_END = "a token of text.vocabulary that does not end a text"
ALL = "all"
EVERY_WORD = "every word"
"""Part of numbers that no file has: words that no library has are offered, too, for conventions of one's own beside them."""


PRESET = Part("preset", Text, (), "the library or paper whose settings are used where none is given", DEFAULT)


def parts_of_presets(*example: str) -> tuple[Part, Part]:
    """Return the parts of a numbers file that name presets. example: two that may stand side by side."""
    beside = "the presets that stand side by side, or all"
    return PRESET, Part("compare", tuple[str, ...] | str, (), beside, (), list(example))


def compared_by_name(parts: Mapping[str, Any], presets: Catalogue) -> dict[str, Any]:
    """Return parts of a file with the presets that stand side by side as a list of their names.

    Raises:
        NumbersError: if there is no preset of a name.
    """
    listed = parts["compare"]
    names = [each.strip() for each in (listed.split(",") if isinstance(listed, str) else listed) if each.strip()]
    if names == [ALL]:
        names = [name for name in presets.presets if name != DEFAULT]
    for name in (parts["preset"], *names):
        presets.preset(name)
    return {**parts, "compare": tuple(names)}


WALL, GOAL, START, FREE = "#", "G", "S", "."
CELLS = (WALL, GOAL, START, FREE)
"""What may stand in a cell of a map."""
MOVES = ("up", "down", "left", "right")
DOWNWARDS, RIGHTWARDS = (-1.0, 1.0, 0.0, 0.0), (0.0, 0.0, -1.0, 1.0)
"""The moves, and how many rows and columns further each of them leads."""
ARROWS = ("·", "↑", "↓", "↑↓", "←", "↑←", "↓←", "↑↓←", "→", "↑→", "↓→", "↑↓→", "←→", "↑←→", "↓←→", "any")
"""Every set of moves, by the sum of 1 for up, 2 for down, 4 for left and 8 for right."""
Cell: Any = Annotated[
    Word, must_be("S, G, # or a dot", lambda text: text in CELLS), WithJsonSchema({"enum": list(CELLS)})
]


def with_map(draft: Draft, most: int | None = None) -> Numbers:
    """Make the numbers of a checked file with a map. most: cells of it. Raises NumbersError for two starts, or too many cells."""
    parts = draft.fitted()
    rows = parts["grid.map"]
    many = sum(cell == START for row in rows for cell in row)
    if many > 1:
        raise refusal("grid.map", f"{many} cells S", "one start at most")
    if most is not None and len(rows) * len(rows[0]) > most:
        raise NumbersError(
            f"grid.map: found {len(rows)} by {len(rows[0])} cells, expected {most} at most, for every step has all of them."
        )
    return draft.numbers(parts)
