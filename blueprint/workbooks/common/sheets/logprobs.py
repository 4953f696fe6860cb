"""Log-probs of one's own: the sheet of what is given of each token, of policies of which nothing else is known."""

from collections.abc import Collection
from pathlib import Path

from blueprint.inputs.catalogue import data_in
from blueprint.language import Block, typed
from blueprint.page.outline import Note, Section, Sheet, key
from blueprint.workbooks.common.definitions.writing_rows import Choices, n, t
from blueprint.workbooks.common.sheets.walk import InView, Rows, sheet_of


def given_logprobs(
    folder: Path, there: Collection[str], head: InView, use: Choices, lead: str = ""
) -> tuple[Sheet, Rows, tuple[str, ...]]:
    """Outlines the rows of `logprobs.toml` of a folder.

    there: the names of those that are given. One that is not is typed all the same, unless a row stands in for it: `instead`, which
    is 0 or, token by token, `as` another one. Notes say what holds where it is `given`, and where it is `missing`: as many lines,
    so that both workbooks have the same places. Returns the sheet, the rows by name, and what is `unseen` on the first sheet.
    """
    found = data_in(folder / "logprobs.toml")
    here, rows, sections = head.on("said"), dict[str, Block](), []
    missing = [row for row in found["rows"] if row["name"] not in there]
    for row in found["rows"]:
        name, label = row["name"], use.labels.of(row["name"])
        if row in missing and "instead" in row:
            rows[name] = use.row(row["instead"], rows[row["as"]][n, t] if "as" in row else 0)
        else:
            rows[name] = typed(name, (n, t), label.symbol, label.meaning, unit=label.unit)
        notes = row.get("missing" if row in missing else "given", ())
        sections.append(Section(row["title"], (*map(Note, notes), key(rows[name]))))
    unseen = tuple(row["unseen"] for row in missing if "unseen" in row)
    return sheet_of(found["title"], lead or found["lead"], sections, here), rows, unseen
