"""Checks: the workbook's own doubts, each with its distance, its tolerance and a verdict in words."""

from collections.abc import Sequence

from blueprint.language import Block
from blueprint.page.outline import Line, Note, Section, Sheet, Unchanged
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.checks import TOLERANCE, Master, master
from blueprint.workbooks.common.definitions.identities import Identity
from blueprint.workbooks.common.sheets.witness_section import Beside

LEAD = "what must hold whatever one types: how far off it is, how far it may be, OK or LOOK; an error such as #N/A is a LOOK too"


def checks_sheet(
    head: tuple[Block, ...],
    residuals: Sequence[Block | Identity],
    identities: list[Identity],
    outside: Beside | None = None,
) -> tuple[Sheet, Master, dict[Block, object]]:
    """Outlines the checks; returns the sheet, the verdicts and what is typed there (the tolerances).

    head: rows that stay in view, the last of them the mask. residuals: rows or numbers that must be 0.
    identities: definitions run where their result is known otherwise. outside: the numbers of a witness.
    """
    residuals = [*residuals, *([outside.residual] if outside else [])]
    judged = master(each.residual if isinstance(each, Identity) else each for each in (*residuals, *identities))
    needed = [row for each in residuals for row in (each if isinstance(each, Identity) else Identity((), each)).listed]
    lines = tuple(Line((check.worst, check.tolerance, check.verdict, check.failed)) for check in judged.checks)
    sections = [
        Section(
            "The checks",
            (Unchanged("inputs, against those delivered"), Line((judged.verdict,)), *lines),
            ("distance", "allowed", "verdict", "Σ failed"),
        ),
        Section("Where: the distance in every column", (Note("A number other than 0 is the place to look."), *needed)),
    ]
    if identities:
        rows = tuple(row for identity in identities for row in identity.listed)
        sections.append(Section("Identities: the same recursion where its result is known", rows))
    typed: dict[Block, object] = {check.tolerance: TOLERANCE for check in judged.checks}
    if outside is not None:
        sections.append(outside.section)
        typed |= outside.typed
    return Sheet("Checks", LEAD, tuple(sections), (n, t), head, head[-1]), judged, typed
