"""What a workbook says about its own making."""

from importlib.metadata import version

RESPONSE = {"mask": (1, "1 for a word of the response or 0 for any other")}
"""What may stand in a typed mask (`Kind.whole`)."""


def facts_of(numbers: str, level: str) -> dict[str, str]:
    """Returns the facts that stand in every file, by name: from what it was made, and by which version."""
    return {"version": version("rlhf-blueprint"), "numbers": numbers, "level": level, "preset": "default"}
