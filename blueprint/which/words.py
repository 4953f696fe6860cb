"""Say in words what a convention does, shortly: "score one past the last word"."""

from __future__ import annotations

from collections.abc import Mapping

from blueprint.inputs import OFF, dotted, shown_value
from blueprint.workbooks.common.conventions.data import LIVE

TUNED = frozenset(key for key, setting in LIVE.items() if setting.tuned)
"""What every user of any library sets anew: γ, λ and the coefficients. All else is a rule of the library's code."""


def said(key: str, values: Mapping[str, float | str]) -> str:
    """Says what a convention does; one that has no words of its own is given as a numbers file spells it."""
    shown = {each: shown_value(value) for each, value in values.items()}
    own = LIVE[key].phrases.get(shown[key]) or (LIVE[key].phrase if values[key] != OFF else "")
    others = {each.rpartition(".")[2]: LIVE[each].phrases.get(what, what) for each, what in shown.items()}
    return (own or f"{dotted(key)} = {{}}").format(shown[key], **others)
