"""What a workbook says about its own making."""

from importlib.metadata import version


def facts_of(numbers: str, level: str) -> dict[str, str]:
    """Returns the facts that stand in every file, by name: from what it was made, and by which version."""
    return {"version": version("rlhf-blueprint"), "numbers": numbers, "level": level, "preset": "default"}
