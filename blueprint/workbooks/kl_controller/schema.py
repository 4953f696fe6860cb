"""Describe and check the numbers of level "controller": what an adaptive KL controller is fed, update after update."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, WithJsonSchema

from blueprint.inputs.errors import check_count, counted, refusal
from blueprint.inputs.kinds import About, Matrix, Title, Whole
from blueprint.inputs.limits import LIMITS, LONGEST_TEXT
from blueprint.inputs.result import Ragged, Settings
from blueprint.inputs.setting import settings_in
from blueprint.inputs.table import Table, entry, table_of

CONTROLLER = settings_in(Path(__file__).parent).settings

if TYPE_CHECKING:
    ControllerSettings = Table  # a type checker cannot read a table that is built from data
else:
    ControllerSettings = table_of("ControllerSettings", CONTROLLER)


def _length(words: int) -> int:
    if words < 1:
        raise ValueError("a length of at least 1 word")
    return words


Length = Annotated[Whole, AfterValidator(_length), WithJsonSchema({"type": "integer", "minimum": 1})]


class Responses(Table):
    """A row per update, an entry per response: its KL to the reference summed over its words, and how many it has."""

    kl_sums: Matrix = entry("KL to the reference, summed over the words of a response", needed=True)
    lengths: list[list[Length]] = entry("words of a response, in the shape of kl_sums", needed=True)


class ControllerFile(Table):
    """A file of level "controller": it begins at the KL of whole responses, and nothing is drawn."""

    level: Literal["controller"] = entry("where the numbers begin: what the KL controller is fed", needed=True)
    title: Title = entry("heads the workbook; else the file's name", "")
    about: About = entry("a sentence below the title", "")
    controller: ControllerSettings = ControllerSettings.empty()
    responses: Responses = entry("a row per update, an entry per response", needed=True)


@dataclass(frozen=True)
class ControllerNumbers:
    """Hold all numbers of level "controller": a row per update, an entry per response.

    Attributes:
        ppo: the settings the file gives, and only those.
        kl_sums: the KL to the reference of each response, summed over its words.
        lengths: how many words each response has.
    """

    kind: ClassVar = "kl_controller"

    name: str
    title: str
    about: str
    ppo: Settings
    kl_sums: Ragged
    lengths: Ragged
    drawn_anew: tuple[str, ...] = ()


def controller_numbers(name: str, file: ControllerFile) -> ControllerNumbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if the tables differ in shape, or there are too many updates or responses.
    """
    sums, lengths = file.responses.kl_sums, file.responses.lengths
    check_count("responses.kl_sums", len(sums), "update", 1, LONGEST_TEXT)
    check_count("responses.kl_sums, row 1", len(sums[0]), "response", *LIMITS["episodes"])
    if len(lengths) != len(sums):
        raise refusal("responses.lengths", counted(len(lengths), "row"), f"{len(sums)}, one per update")
    _check_rows("responses.kl_sums", [len(row) for row in sums], len(sums[0]))
    _check_rows("responses.lengths", [len(row) for row in lengths], len(sums[0]))
    return ControllerNumbers(
        name=name,
        title=file.title or name,
        about=file.about,
        ppo=file.controller.model_dump(exclude_none=True),
        kl_sums=tuple(map(tuple, sums)),
        lengths=tuple(map(tuple, lengths)),
    )


def _check_rows(where: str, found: list[int], expected: int) -> None:
    for number, length in enumerate(found, start=1):
        if length != expected:
            told = f"{expected}, as the first row of kl_sums has"
            raise refusal(f"{where}, row {number}", counted(length, "response"), told)
