"""What a teacher asks for: `advantages`, `advantages@episode=1,token=5`, `section:GAE`; listed in TOML, each with a weight."""

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from blueprint.book import Book
from blueprint.explaining import places_named
from blueprint.files import content_of
from blueprint.language import Block, Cell, NotationError
from blueprint.page.outline import Section, Sheet, blocks_of
from blueprint.worksheets.graph import Graph


class WorksheetError(ValueError):
    """A worksheet was asked for that cannot be made; one sentence says what to ask for instead."""


def require(holds: object, otherwise: str) -> None:
    """Raises WorksheetError, with a sentence, where something does not hold."""
    if not holds:
        raise WorksheetError(otherwise)


SECTION = "section:"
CALLED = {"token": "position", "decision": "position", "word": "token id"}
"""Other words for what a member of an axis is, as the options of `blueprint explain` have them."""


@dataclass(frozen=True)
class Asked:
    """One thing that is asked for, and what it counts beside the others.

    title: the name or symbol of a block, with the members of one cell after an @; or `section:` and the title of a section.
    """

    title: str
    weight: float = 1.0


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", title="blank")
    what: Annotated[
        str,
        Field(
            min_length=1,
            description="A row (advantages), a cell (advantages@episode=1,token=5) or a section (section:GAE).",
            examples=["advantages", "advantages@episode=1,token=5", "section:Reward"],
        ),
    ]
    weight: Annotated[
        float, Field(gt=0, le=1e9, allow_inf_nan=False, description="What it counts beside the others.")
    ] = 1.0


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", title="blanks of a worksheet")
    blanks: Annotated[list[_Entry], Field(min_length=1, description="What is left blank, a table [[blanks]] for each.")]


def schema() -> dict[str, Any]:
    """Returns the JSON Schema of files of blanks, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_File.model_json_schema()}


def asked_from(path: str | Path) -> list[Asked]:
    """Reads a file of blanks. Raises WorksheetError, in one sentence, for one that cannot be read or means nothing."""
    try:
        found = _File.model_validate(tomllib.loads(content_of(Path(path)).decode("utf-8-sig")), strict=False)
    except OSError as error:
        raise WorksheetError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise WorksheetError(f"{path} is not in UTF-8: save it so") from error
    except ValidationError as error:
        raise WorksheetError(f"{path}: {_complaint(error)}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets of thousands of levels
        raise WorksheetError(f"{path} is no TOML: {error}") from error
    return [Asked(each.what, each.weight) for each in found.blanks]


def _complaint(error: ValidationError) -> str:
    """Says where a file of blanks first differs from what one looks like, and how to write it."""
    first = error.errors()[0]
    where = ".".join(str(part + 1 if isinstance(part, int) else part) for part in first["loc"])
    return f'{where}: {first["msg"].lower()}; write [[blanks]] and below it what = "…", weight = 1'


@dataclass(frozen=True)
class Meant:
    """What was meant: a cell, a row or a whole section of blocks, by the name that it has from now on."""

    title: str
    blocks: tuple[Block, ...]
    places: tuple[int, ...] | None = None

    @property
    def is_row(self) -> bool:
        """Whether a row was asked for by its name."""
        return not self.title.startswith(SECTION)


def meant(asked: Asked, book: Book) -> Meant:
    """Finds what is asked for. Raises WorksheetError, with the nearest names, if there is no such thing."""
    title = asked.title.strip()
    if title.casefold().startswith(SECTION):
        return _section(title[len(SECTION) :].strip(), book)
    name, at, members = title.partition("@")
    try:
        block = book.block_named(name.strip())
        named = _members(block, members, book) if at else {}
        places = places_named(block, named, book.blueprint.names, book.values) if at else None
    except NotationError as error:
        raise WorksheetError(f"{asked.title}: {error}") from error
    no_blank = {
        "is typed, not computed: ask for what is computed from it": block.typed,
        "is words: a blank is a number": block.text,
        "may be off, which is no number: ask for what reads it": block.limit,
        "only repeats another row: ask for the row that it repeats": block.link,
    }
    for says, holds in no_blank.items():
        require(not holds, f"{asked.title} {says}")
    ended = book.values.ended.get(block, {})
    why = book.values.why.get(block)
    require(
        not (ended if places is None else places in ended),
        f"{asked.title} has no number: {why}; ask for a cell that has one",
    )
    return Meant(block.name if places is None else cell_title(Cell(block, places)), (block,), places)


def cell_title(cell: Cell) -> str:
    """Names a cell by its block and the numbers of its members: `height@n=1,t=5`."""
    members = (f"{axis.letter}={place + axis.start}" for axis, place in zip(cell.block.axes, cell.places, strict=True))
    return cell.block.name + ("@" + ",".join(members) if cell.places else "")


def _members(block: Block, text: str, book: Book) -> dict[str, str]:
    members: dict[str, str] = {}
    for part in text.split(","):
        named, equals, member = map(str.strip, part.partition("="))
        require(equals and member, f"{block.name}@{text}: write members as letter=number, such as {_usage(block)}")
        letter = _letter(block, named, book)
        require(letter not in members, f"{block.name}@{text} says twice which {letter}: leave one out")
        members[letter] = member
    return members


def _letter(block: Block, named: str, book: Book) -> str:
    """Returns the letter of the axis that a word means: the letter itself, or what a member is, in this workbook or in all."""
    word = CALLED.get(named.casefold(), named.casefold())
    here = {axis.letter: book.blueprint.called(axis).meaning for axis in block.axes}
    words = ((axis.letter, axis.letter, axis.meaning, here[axis.letter]) for axis in block.axes)
    found = [letter for letter, *names in words if word in map(str.casefold, names)]
    has = f"it has {', '.join(f'{letter} ({meaning})' for letter, meaning in here.items()) or 'a single number'}"
    require(found, f"{block.name} has no {named}: {has}")
    return found[0]


def _usage(block: Block) -> str:
    return (
        f"{block.name}@{','.join(f'{axis.letter}={axis.start}' for axis in block.axes)}" if block.axes else block.name
    )


def _section(title: str, book: Book) -> Meant:
    """Finds the section whose title is asked for, or the only one that has it in its title."""
    listed = [(sheet, section) for sheet in book.blueprint.sheets for section in sheet.sections if computed(section)]
    exact = [each for each in listed if each[1].title.casefold() == title.casefold()]
    found = exact or [each for each in listed if title.casefold() in each[1].title.casefold()]
    graph = Graph(book.blueprint)
    needed = graph.above(graph.result)
    found = [each for each in found if needed.intersection(computed(each[1]))] or found
    require(len(found) < 2, f"{SECTION}{title} may be {' or '.join(map(_called, found))}: write more of the title")
    if not found:
        titles = {section.title.casefold(): section.title for _, section in listed}
        near = [titles[each] for each in get_close_matches(title.casefold(), titles, 3, 0.4)]
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(titles.values())}"
        raise WorksheetError(f"there is no section {title!r} in which something is computed: {hint}")
    return Meant(f"{SECTION}{found[0][1].title}", tuple(computed(found[0][1])))


def _called(found: tuple[Sheet, Section]) -> str:
    return f"“{found[1].title}” on {found[0].title}"


def computed(section: Section) -> list[Block]:
    """Lists the blocks of a section of which cells can be blanks."""
    blocks = (block for item in section.items for block in blocks_of(item))
    return [block for block in blocks if not (block.typed or block.text or block.link or block.limit)]
