"""Which preset is used, and which stand side by side, in numbers files and saved workbooks of any kind that compares libraries."""

from collections.abc import Mapping
from typing import Any

from blueprint.inputs import DEFAULT, Catalogue, Part
from blueprint.inputs.entries import Text

ALL, LIBRARIES = "all", "library.names"
EVERY_WORD = "every word"
"""Part of numbers that no file has: words that no library has are offered, too, for conventions of one's own beside them."""


def parts_of_presets(*example: str) -> tuple[Part, Part]:
    """Return the parts of a numbers file that name presets. example: two that may stand side by side."""
    about = "the library or paper whose settings are used where none is given"
    beside = "the presets that stand side by side, or all"
    return (
        Part("preset", Text, (), about, DEFAULT),
        Part("compare", tuple[str, ...] | str, (), beside, (), list(example)),
    )


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


def presets_in(file: Any, presets: Catalogue) -> dict[str, Any]:
    """Return the preset in use of a saved workbook (`reopening.saved.Saved`), and those that stand side by side."""
    listed = tuple(map(str, file.array(LIBRARIES, 1).flat)) if LIBRARIES in file else ()
    return {"preset": file.preset(presets), "compare": listed}
