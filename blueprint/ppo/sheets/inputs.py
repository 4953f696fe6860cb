"""Inputs: the settings, the vocabulary and the prompts."""

from __future__ import annotations

from blueprint.page.outline import Line, Note, Row, Section, Sheet, Table
from blueprint.ppo.axes import n, t
from blueprint.ppo.rollout import Length, Prompts
from blueprint.ppo.settings import Settings

COLUMNS = ("used", "yours", "preset")
INPUT_WIDTHS = (9,) * 8


def settings_sections(chosen: Settings) -> list[Section]:
    """Outlines the settings: numbers first, then switches with their alternatives."""
    how = Note(
        "Type your own number into a cream cell under “yours”; empty, the preset's is used. Formulas read “used” alone."
    )
    numbers = [Line(line) for line in chosen.numbers]
    switches = [Line(line) for line in chosen.switches]
    sections = [Section("1  Settings", (how, *numbers), (*COLUMNS, "from", "to", "outside the range"))]
    if switches:
        sections.append(Section("2  Switches", tuple(switches), (*COLUMNS, "number", "one of")))
    return sections


def inputs_sheet(settings: list[Section], given: Prompts, length: Length) -> Sheet:
    """Outlines the sheet where everything is typed that is not a weight or a draw; the settings come first."""
    prompt = Section(
        "3  Prompts: the words that are given",
        (
            Note("One word per column, from the start column on; the policy writes where a cell is empty."),
            Row(given.given, "text"),
            given.is_given,
            given.given_id,
        ),
    )
    sizes = Section("4  Length", (Line(length), Line((given.decisions,))), ("used", "from", "to"))
    words = Section(
        "5  Vocabulary",
        (
            Note("The first word ends a text. Words must differ by more than capitals; no * ? ~ in a word."),
            Table(given.vocabulary, role="text"),
        ),
    )
    lead = "everything typed that is not a weight or a draw; weights and draws stand on the sheets of their models"
    return Sheet("Inputs", lead, (*settings, prompt, sizes, words), across=(n, t))
