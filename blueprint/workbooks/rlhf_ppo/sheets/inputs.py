"""Inputs: the settings, the vocabulary and the prompts."""

from __future__ import annotations

from blueprint.page.outline import Line, Note, Row, Section, Sheet, Table
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.rlhf_ppo.texts import Length, Prompts


def inputs_sheet(settings: list[Section], given: Prompts, length: Length) -> Sheet:
    """Outlines the sheet where everything is typed that is not a weight or a draw; the settings come first."""
    prompt = Section(
        "Prompts: the words that are given",
        (
            Note("One word per column, from the start column on; the policy writes where a cell is empty."),
            Row(given.given, "text"),
            given.is_given,
            given.given_id,
        ),
    )
    sizes = Section("Length", (Line(length), Line((given.decisions,))), ("used", "from", "to"))
    words = Section(
        "Vocabulary",
        (
            Note("The first word ends a text. Words must differ by more than capitals; no * ? ~ in a word."),
            Table(given.vocabulary, role="text"),
        ),
    )
    lead = "everything typed that is not a weight or a draw; weights and draws stand on the sheets of their models"
    return Sheet("Inputs", lead, (*settings, prompt, sizes, words), across=(n, t))
