"""Libraries: the same pairs by the conventions of several libraries, a row for each under every quantity."""

from collections.abc import Iterable, Mapping

from blueprint.language import Block, link
from blueprint.page.outline import Item, Note, Row, Section, Sheet, key, minor
from blueprint.workbooks.common import (
    LIBRARY,
    Chosen,
    InView,
    Preferred,
    Rows,
    behind,
    preferred,
    sheet_of,
    turned,
    which_sheet,
)
from blueprint.workbooks.dpo.definitions import Derived, derived
from blueprint.workbooks.dpo.definitions.logprobs import LABELS, p
from blueprint.workbooks.dpo.sheets import of_pairs

LEAD = "the same texts and log-probs by the conventions of several libraries: find the row where they part"
OF_PAIRS = "both responses of each pair, by the conventions of several libraries: a column per pair"
WHICH_TITLE, WHICH = (
    "Which DPO",
    "one batch, several answers: what each library computes, what it does differently, and why",
)
FIXED = "Texts and log-probs are those of this workbook, and so is who was chosen."
ONCE = "A row that no convention moves stands here once; steps that none of these libraries takes are left out."
WHERE = "Rows of steps on the way are folded; the sign at the left of a row opens them."
START = {
    "policy.logprobs": "logp",
    "reference.logprobs": "logp_ref",
    "policy.square": "square",
    "mismatched.policy.logprobs": "logp_else",
    "mismatched.reference.logprobs": "logp_ref_else",
}
"""What every library starts from, and what it is called where it is repeated."""
MARKED = ("total_loss", "preference_loss", "adds.nll")
RESULTS = (*MARKED, "rewards.chosen", "rewards.rejected", "rewards.margins", "rewards.accuracies")
"""What comes of it: the loss and its parts, and what is watched."""
OPEN = ("policy.logp", "chosen.logp", "rejected.logp", "chosen.ratio", "rejected.ratio", "margin", "margin.argument", "loss.pair",
        "kto.z", "nll", *RESULTS)  # fmt: skip
"""Rows that one looks for."""


def compared(
    given: Rows, chosen: Chosen, head: InView, words: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[Sheet, ...], Preferred]:
    """Runs every library's conventions over the pairs, and sets them side by side; with what each library does.

    words: by key those that libraries have; steps that only others would take are not repeated for each of them.
    """
    like = preferred(chosen, words)
    start = {name: link(f"libraries.{again}", given[name]) for name, again in START.items() if name in given}
    made = derived({**given, **start}, like.choices(chosen.settings.switch, LABELS.labels))
    results = tuple(made.rows[name] for name in RESULTS)
    needed = behind((*results, made.total.total.block))
    first = Section("What all start from", (Note(FIXED), Note(ONCE), Note(WHERE), *map(minor, start.values())))
    shown = sheet_of("Libraries", LEAD, (first, *_sections(made, needed, False)), head.on("libraries"), first=0)
    pairs = Sheet("Library pairs", OF_PAIRS, _sections(made, needed, True), (p,))
    which = which_sheet(WHICH_TITLE, WHICH, like, _told(results), chosen, "the loss and what is watched")
    return (pairs, shown, which), like


def _sections(made: Derived, needed: set[Block], paired: bool) -> tuple[Section, ...]:
    """Outlines the steps that are needed: those of tokens and responses, or those of pairs, which have columns of their own."""
    found = ((title, _kept(rows, needed, paired)) for title, rows in made.steps.sections.items())
    return tuple(Section(title, tuple(map(_row, rows))) for title, rows in found if rows)


def _kept(rows: Iterable[Block], needed: set[Block], paired: bool) -> list[Block]:
    rows = list(rows)
    return [row for row in rows if row in needed and of_pairs(row, rows) == paired]


def _row(row: Block) -> Row:
    return key(row) if row.name.removeprefix("library.") in OPEN else minor(row)


def _told(results: Iterable[Block]) -> Iterable[Item]:
    """Repeats the numbers of every library, with links to their rows; what is the same for all stands there once."""
    for row in results:
        if LIBRARY in row.axes:
            again = turned(row)
            yield key(again) if row.name.removeprefix("library.") in MARKED else again
