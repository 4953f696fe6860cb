"""Mistakes in the spreadsheet's spelling, as data: which row of which table, and what is written there instead.

No number of ours changes, so no witness can see them but an engine that reads the formulas.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from blueprint.language.spelling import excel
from blueprint.language.spelling.excel import EXCEL, EXCEL_CONDITIONS, LOOKUPS
from blueprint.language.spelling.text import ANYTHING, ATOM, PRODUCT, SUM, Rule, Spelled, call


@dataclass(frozen=True)
class Misspelled:
    """A mistake: rows of a table and what stands there instead; `caught_by` as in `Planted`."""

    name: str
    table: dict[str, Any]
    rows: dict[str, Any]
    caught_by: str = "engine"

    def plant(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Puts the mistake into the table for the length of a test."""
        for key, row in self.rows.items():
            assert self.table[key] != row, f"{key} is spelled so already"
            monkeypatch.setitem(self.table, key, row)


def without_plus_one(number: Spelled) -> str:
    """Spells a 0-based id where INDEX and CHOOSE count from 1."""
    return number.text


MISSPELLED = (
    Misspelled("LOG for LN", EXCEL, {"log": call("LOG({})")}),
    Misspelled("EXP dropped", EXCEL, {"exp": call("({})")}),
    Misspelled("SQRT dropped", EXCEL, {"sqrt": call("({})")}),
    Misspelled("ABS dropped", EXCEL, {"abs": call("({})")}),
    Misspelled("TAN for TANH", EXCEL, {"tanh": call("TAN({})")}),
    Misspelled("MAX and MIN swapped", EXCEL, {"maximum": EXCEL["minimum"], "minimum": EXCEL["maximum"]}),
    Misspelled("operands of − swapped", EXCEL, {"sub": Rule("{1}-({0})", SUM, (SUM, PRODUCT))}),
    Misspelled("no bracket left of ·", EXCEL, {"mul": Rule("{}*{}", PRODUCT, (ANYTHING, PRODUCT))}),
    Misspelled("no bracket right of −", EXCEL, {"sub": Rule("{}-{}", SUM, (SUM, SUM))}, "engine on brackets"),
    Misspelled(
        "no bracket right of /", EXCEL, {"div": Rule("{}/{}", PRODUCT, (PRODUCT, PRODUCT))}, "engine on brackets"
    ),
    Misspelled("no bracket after a sign", EXCEL, {"neg": Rule("-{}", PRODUCT, (SUM,))}, "engine on brackets"),
    Misspelled("branches of IF swapped", EXCEL, {"less": Rule("IF({}<{},0,1)", ATOM, (SUM, SUM))}),
    Misspelled("≤ for <", EXCEL, {"less": Rule("IF({}<={},1,0)", ATOM, (SUM, SUM))}),
    Misspelled("< for ≤", EXCEL, {"at_most": Rule("IF({}<{},1,0)", ATOM, (SUM, SUM))}, "engine on brackets"),
    Misspelled("≠ for = in a condition", EXCEL_CONDITIONS, {"equal": Rule("{}<>{}", ANYTHING, (SUM, SUM))}),
    Misspelled("empty for filled", EXCEL_CONDITIONS, {"filled": Rule('{}=""', ANYTHING, (SUM,))}),
    Misspelled(
        "< for ≤ in a condition",
        EXCEL_CONDITIONS,
        {"at_most": Rule("{}<{}", ANYTHING, (SUM, SUM))},
        "engine on brackets",
    ),
    Misspelled("MATCH of type 0 for a draw", LOOKUPS, {"find": LOOKUPS["match"]}),
    Misspelled("MATCH of type 1 for a token", LOOKUPS, {"match": LOOKUPS["find"]}),
    Misspelled("MATCH counts from 1", LOOKUPS, {"find": "MATCH({value},{among},1)"}),
    Misspelled("no + 1 in INDEX and CHOOSE", vars(excel), {"_plus_one": without_plus_one}),
)
