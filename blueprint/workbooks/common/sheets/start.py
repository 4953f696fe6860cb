"""Start: what this is, the loss and its parts, where every piece stands, and how the numbers flow; of a workbook that is one lesson
too.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from blueprint.inputs.catalogue import data_in
from blueprint.language import Block, Expr, Op, Reduce, Ref, walk
from blueprint.page.outline import Box, Flow, Judged, Note, Piece, Sample, Section, Sheet, Tour, Unchanged
from blueprint.workbooks.common.sheets.walk import Rows

if TYPE_CHECKING:
    from blueprint.workbooks.common.sheets.conventions import Chosen

TEXTS = data_in(Path(__file__).parents[1] / "start.toml")
"""What every first sheet says, and what it says where a kind of workbook says nothing else."""


ON, BACK, UP, DOWN, LINE, DASH = "→", "←", "↗", "↘", "───────────", "──"


def with_(title: str, block: Block) -> Box:
    """Names what else enters the box above."""
    return Box(f"with {title}", block, small=True)


def way_back(line: Sequence[tuple[str, str]], rows: Mapping[str, Block]) -> tuple[Box | str, ...]:
    """Draws where the gradient flows, from right to left.

    line: from left to right the title of each box, and the name of the row to which it leads.
    """
    return tuple(part for title, name in line for part in (BACK, Box(title, rows[name])))[1:]


NEITHER = "one number for the batch"
TOTAL = "sum of the parts below it"
WEIGHTED = "weighted sum over the tokens"


def with_origins(pieces: list[Piece]) -> list[Piece]:
    """Says of each piece that has not said so itself what its value is a mean or a sum of."""
    return [replace(piece, of=piece.of or averaged(piece.shown) or NEITHER) for piece in pieces]


def adding_up(pieces: list[Piece], sums: Mapping[str, tuple[str, ...]], sign: str = "+") -> list[Piece]:
    """Says of pieces that one of them is the sum of others: they show as many decimals as it needs to be right.

    sums: by the name of each sum those of its parts. sign: − where it is a difference.
    """
    shown = {piece.shown.name: piece.shown for piece in pieces}
    for total, parts in sums.items():
        if shown.keys() >= {total, *parts}:
            among = tuple(shown[name] for name in (total, *parts))
            pieces = [
                replace(each, among=among, sign=sign) if each.shown.name in (total, *parts) else each for each in pieces
            ]
    return pieces


def averaged(shown: Block) -> str:
    """Returns what a number is a mean or a sum of; "" if it is neither."""
    if shown.typed or shown.text or shown.axes:
        return ""
    return _said(shown.definitions[-1].expr)


def _said(expr: Expr) -> str:
    match expr:
        case Op("neg", (Op("mul", (Ref(), Ref())) as product,)):
            return "−" * bool(_said(product)) + _said(product)
        case Op("neg", (inner,)):
            return "− " * bool(_said(inner)) + _said(inner)
        case Op("div", (Reduce("sum"), below)):
            counts = [node.block.name for node in walk(below) if isinstance(node, Ref)]
            return f"mean over {TEXTS['over'][counts[0]]}" if counts and counts[0] in TEXTS["over"] else ""
        case Op("maximum", (Reduce("sum"), _)):
            return "how many tokens: Σ of the mask"
        case Reduce("sum", _, Ref()):
            return "sum over the tokens shown"
        case Reduce("sum") | Op("mul", (Ref(), Reduce("sum"))):
            return WEIGHTED
        case Op("mul", (Ref(coefficient), Ref(inner))) if averaged(inner):
            return f"{coefficient.symbol} times a {'weighted sum' if averaged(inner) == WEIGHTED else 'mean'}"
    return ""


ABOUT, VERDICT, LOSS = "What this is", "Does everything add up?", "The loss"
MAP = "The map: each box leads to its row, and each sheet leads back here"
"""Titles of its sections: verdict, loss and map are the first ones, and are seen without scrolling on a small laptop."""
WIDTHS = (10, 22, 4, 19, 4, 17, 3, 16, 3, 16, 17)
"""Together they leave room for symbols and names on a small laptop, and on a sheet of paper held upright."""
COLUMNS = ("value", "a mean or sum of", "", "stands on", "", "equation", "", "", "", "meaning")
LEGEND = tuple(Sample(*each) for each in TEXTS["legend"])
LOGGED = "Against what the library logged"


class Says(NamedTuple):
    """Sentences that differ from one kind of workbook to another: how to read it, what a value is, where to choose.

    found, where: what is to be known before anything else, under a heading of its own, and the rows that show it. legend,
    signs, checking: what its colours and signs mean, and how it is checked.
    """

    reading: tuple[str, ...] = tuple(TEXTS["reading"])
    means: str = TEXTS["means"]
    choices: str = TEXTS["choices"]
    heading: str = TEXTS["heading"]
    which: str = TEXTS["which"]
    found: tuple[str, ...] = ()
    where: tuple[Piece, ...] = ()
    legend: tuple[Sample, ...] = LEGEND
    signs: tuple[str, ...] = tuple(TEXTS["signs"])
    checking: tuple[str, ...] = tuple(TEXTS["checking"])


class Made(NamedTuple):
    """What the first sheet says of the workbook: title and text of its numbers, the facts of its making, its sentences."""

    title: str
    about: str
    facts: Mapping[str, str]
    says: Says = Says()


def facts_of(numbers: str, level: str) -> dict[str, str]:
    """Returns the facts that stand in every file, by name: from what it was made, and by which version."""
    return {"version": version("rlhf-blueprint"), "numbers": numbers, "level": level, "preset": "default"}


def made_by(facts: Mapping[str, str]) -> str:
    """Says what a workbook was made by and from."""
    begins = TEXTS["begins"].get(facts["level"])
    told = {**facts, "level": f"begins at {begins}" if begins else f"level {facts['level']}"}  # of a kind of one's own
    return "made by " + " · ".join(text if name == "level" else f"{name} {text}" for name, text in told.items())


def how_to_check(asked: Block, made: str, checking: Sequence[str] = tuple(TEXTS["checking"])) -> Section:
    """Says how the file is checked. asked: a number whose cell is the example of what can be explained. made: by what."""
    notes = (*map(Note, checking), Note(TEXTS["digits"]), Note(TEXTS["explain"], asked), Note(made))
    return Section("How to check this file", notes, printed=False)


def start_sheet(
    told: Made, parts: list[Piece], pieces: list[Piece], flow: Flow, verdict: Block, choices: tuple[Piece, ...] = ()
) -> Sheet:
    """Outlines the first sheet.

    parts: the total loss and what it is made of. pieces: every piece in the order of derivation. choices: which PPO it is.
    """
    among = tuple(part.shown for part in parts)  # a total and its parts, which add up
    summed = tuple(replace(part, among=among) for part in with_origins(parts))
    sections = [
        judged(verdict),
        *([Section(LOSS, summed, COLUMNS)] if parts else []),
        Section(MAP, (flow,)),
        Section(ABOUT, tuple(map(Note, told.says.reading))),
        *([Section(told.says.which, (*choices, Note(told.says.choices)))] if choices else []),
        Section("The pieces, in the order of computation", (*with_origins(pieces), Note(told.says.means)), COLUMNS),
        Section("The sheets", (Tour(),), printed=False),  # on paper Start ends with the pieces, and is one page
        Section("Colours", told.says.legend, printed=False),
        Section("Signs", tuple(map(Note, told.says.signs)), printed=False),
        how_to_check((parts or pieces)[0].about, made_by(told.facts), told.says.checking),
    ]
    if told.says.found:
        sections.insert(1, Section(LOGGED, (*map(Note, told.says.found), *with_origins([*told.says.where])), COLUMNS))
    return first_sheet(f"{told.title}: {told.about}", sections, told.says.heading)


def judged(verdict: Block) -> Section:
    """Outlines what the first sheet says first: whether all checks are well, and whether anything was changed."""
    return Section(VERDICT, (Judged("all checks", verdict), Unchanged("inputs: unchanged since the file was made")))


def first_sheet(lead: str, sections: Sequence[Section], heading: str) -> Sheet:
    """Outlines Start of its sections; its rows are low, so that the first ones are seen at once."""
    return Sheet("Start", lead, tuple(sections), widths=WIDTHS, heading=heading, first=None, tight=True)


def conventions_in_use(chosen: "Chosen", shown: Mapping[str, str]) -> tuple[Piece, ...]:
    """Lists the preset and the conventions in use. shown: settings by the titles they get; those there are none of are left out."""
    used = {title: chosen.settings.used[key] for title, key in shown.items() if key in chosen.settings.used}
    return tuple(
        Piece(title, row, row, equation=False) for title, row in {"preset in use": chosen.table.chosen, **used}.items()
    )


def in_line(*boxes: Box) -> tuple[Box | str, ...]:
    """Draws boxes with an arrow from each to the next."""
    return tuple(part for box in boxes for part in (ON, box))[1:]


def lines_of_flow(lines: Sequence[Sequence[tuple[str, str]]], rows: Rows) -> list[tuple[Box | str, ...]]:
    """Draws lines of boxes. lines: from left to right the title of each box, and the name of the row to which it leads."""
    return [in_line(*(Box(title, rows[name]) for title, name in line)) for line in lines]


def first_of(names: str, rows: Rows) -> Block:
    """Returns the first row that there is of several names, between which stand blanks."""
    *others, last = names.split()
    return rows[next((name for name in others if name in rows), last)]


@dataclass(frozen=True)
class Opening:
    """What the first sheet of a kind shows, as `start.toml` of its folder says it.

    parts, pieces: a line each of title, number that is shown, row to which its link leads, and what it is a mean or sum of; of
    several names the first that is there counts. plain: rows whose equations list all that could be chosen: there is no room for
    them. differences: by the name of each those two of which it is one; sums: the same of sums. said: by row a sentence in place
    of its meaning. shown: conventions by the titles they get. flow: the lines of the map, and behind how many empty cells which
    arrow leads to the next one. back: where the gradient flows. cells: the map cell by cell: a text, or the title of a box and
    its row; what begins with "with" is small.
    """

    says: Says
    pieces: Sequence[Sequence[str]]
    parts: Sequence[Sequence[str]] = ()
    shown: Mapping[str, str] = field(default_factory=dict)
    flow: Sequence[Mapping[str, Any]] = ()
    back: Mapping[str, Any] = field(default_factory=dict)
    cells: Sequence[Sequence[str | Sequence[str]]] = ()
    plain: Sequence[str] = ()
    differences: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    said: Mapping[str, str] = field(default_factory=dict)

    def listed(self, lines: Sequence[Sequence[str]], rows: Rows, without: Collection[str] = ()) -> list[Piece]:
        """Lists parts or pieces. without: numbers that are not known."""
        found = []
        for title, shown, names, *of in lines:
            if shown not in without:
                row = first_of(names, rows)
                says, plain = self.said.get(row.name, ""), row.name in self.plain
                found.append(Piece(title, first_of(shown, rows), row, equation=not plain, of="".join(of), says=says))
        return adding_up(adding_up(found, self.differences, "−"), self.sums)

    def map(self, rows: Rows) -> Flow:
        """Draws the way from what is given to the loss, and the way back."""
        lines: list[tuple[Box | str, ...]] = [
            tuple(
                each
                if isinstance(each, str)
                else Box(each[0], first_of(each[1], rows), small=each[0].startswith("with "))
                for each in line
            )
            for line in self.cells
        ]
        for line in self.flow:
            lines += lines_of_flow([line["boxes"]], rows)
            if "arrow" in line:
                lines.append((*[""] * line["empty"], line["arrow"]))
        return Flow((*lines, *([way_back(self.back["boxes"], rows)] if self.back else [])))


def opening_in(folder: Path, file: str = "start.toml") -> Opening:
    """Reads `start.toml` of a folder, or of a level that has its own."""
    found = dict(data_in(folder / file))
    says: dict[str, Any] = {key: found.pop(key) for key in Says._fields if key in found}
    several = {key: tuple(texts) for key, texts in says.items() if isinstance(texts, list)}
    return Opening(Says(**says | several), **found)
