"""Libraries: the same responses by the conventions of several libraries, a row for each under every quantity."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

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
from blueprint.workbooks.grpo.definitions import Derived, derived
from blueprint.workbooks.grpo.definitions.group_advantages import LABELS, i, q
from blueprint.workbooks.grpo.schema import completed

LEAD = "the same responses, log-probs and scores by the conventions of several libraries: find the row where they part"
IN_GROUPS = (
    "each response against the others to its prompt, by the conventions of several libraries: a column per response"
)
WHICH_TITLE, WHICH = (
    "Which GRPO",
    "one batch, several answers: what each library computes, what it does differently, and why",
)
FIXED = "Tokens, scores and log-probs are those of this workbook; what a library samples anew is not shown."
ONCE = "A row that no convention moves stands here once; steps that none of these libraries takes are left out."
WHERE = "Rows of steps on the way are folded; the sign at the left of a row opens them."
START = {
    "score": "score",
    "old.logprobs": "logp_old",
    "reference.logprobs": "logp_ref",
    "engine.logprobs": "logp_engine",
    "policy.logprobs": "logp_new",
    "policy.entropy": "entropy",
}
"""What every library starts from, and what it is called where it is repeated."""
MARKED = ("total_loss", "policy_loss", "adds.kl_loss")
RESULTS = (
    *MARKED, "mean.reward", "mean.advantage", "mean.ratio", "clip.fraction_low", "clip.fraction_high", "clip.fraction_dual",
    "kl.mean_new",
)  # fmt: skip
"""What comes of it: the loss and its parts, and what is watched."""
OPEN = (
    "group.reward", "group.baseline_used", "group.spread_used", "group.advantage", "advantages", "ratio", "policy.token_loss",
    "kl_new.counts", *RESULTS,
)  # fmt: skip
"""Rows that one looks for."""


def compared(
    given: Rows, chosen: Chosen, head: InView, words: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[Sheet, ...], Preferred]:
    """Runs every library's conventions over the batch, and sets them side by side; with what each library does.

    words: by key those that libraries have; steps that only others would take are not repeated for each of them.
    """
    like = preferred(chosen, words)
    use = completed(like.choices(chosen.settings.switch, LABELS.labels))
    start = {name: link(f"libraries.{again}", given[name]) for name, again in START.items()}
    made = derived({**given, **start}, use)
    results = tuple(made.rows[name] for name in RESULTS)
    needed = behind((*results, made.total.total.block))
    tokens, groups = _sections(made, needed)
    first = Section("What all start from", (Note(FIXED), Note(ONCE), Note(WHERE), *map(minor, start.values())))
    shown = replace(sheet_of("Libraries", LEAD, (first, *tokens), head.on("libraries"), first=0), closed=True)
    which = which_sheet(WHICH_TITLE, WHICH, like, _told(results), chosen, "the loss and what is watched")
    return (Sheet("Library groups", IN_GROUPS, groups, (q, i), closed=True), shown, which), like


def _sections(made: Derived, needed: set[Block]) -> tuple[tuple[Section, ...], tuple[Section, ...]]:
    """Outlines the steps that are needed: those of tokens, and those of groups, which have columns of their own."""
    tokens: list[Section] = []
    groups: list[Section] = []
    for title, rows in made.steps.sections.items():
        if kept := [row for row in rows if row in needed]:
            of = groups if any(i in row.axes for row in kept) else tokens
            of.append(Section(title, tuple(map(_row, kept))))
    return tuple(tokens), tuple(groups)


def _row(row: Block) -> Row:
    return key(row) if row.name.removeprefix("library.") in OPEN else minor(row)


def _told(results: Iterable[Block]) -> Iterable[Item]:
    """Repeats the numbers of every library, with links to their rows; what is the same for all stands there once."""
    for row in results:
        if LIBRARY in row.axes:
            again = turned(row)
            yield key(again) if row.name.removeprefix("library.") in MARKED else again
