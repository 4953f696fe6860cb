"""Deviations: the sheet's numbers against the witness's, quantity by quantity, in the order of derivation; before them which rows
can be compared, which errors are right, and how blanks count that somebody filled in.

Two honest computations may be further apart where large numbers stood on the way: a value of −1e10 leaves a return of 1 with
the rounding of 1e10, and so everything that follows from it, since the sheet adds in another order than torch. So what
follows from a row of words may differ by a part of that row's largest number.

Nothing goes on from an error in a spreadsheet, while torch goes on from infinity: one divided by it is 0. So an error is right
where torch has no finite number, and where the formula reads a cell whose error is right.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from blueprint.checking.checked_file import At, Checked
from blueprint.language import Array
from blueprint.page.grid import defined_name
from blueprint.page.parse_cell import is_error
from blueprint.page.read import Spot
from blueprint.page.saved_file import read_by
from blueprint.quoting import unquoted
from blueprint.reopening.fresh import of_witness


def comparable(
    file: Checked, witness: Mapping[str, Array], without: str | None
) -> tuple[dict[str, Array], dict[str, str]]:
    """Returns the rows of the witness that can be compared with a file's blocks, and what cannot be, each with the reason.

    without: how the names of quantities begin that are not compared this time.
    """
    rows = {
        name: row for name, row in with_repeats(file, witness).items() if not (without and name.startswith(without))
    }
    missed = dict(_missed(file, rows, without))
    return {name: row for name, row in rows.items() if name in file.places and name not in missed}, missed


def with_repeats(file: Checked, witness: Mapping[str, Array]) -> dict[str, Array]:
    """Adds what only repeats another block, behind that block: it must be the same, wherever it stands."""
    repeats: dict[str, list[str]] = {}
    for name, found in file.places.items():
        if found.kind == "link" and name not in witness:
            repeats.setdefault(next(iter(found.reads), ""), []).append(name)
    typed = {name: file.arrays[name] for name in repeats if name in file.places and file.places[name].kind == "typed"}
    rows: dict[str, Array] = {}
    for name, array in (typed | dict(witness)).items():
        waiting = [name]
        while waiting:
            rows[waiting[0]] = array
            waiting += repeats.get(waiting.pop(0), [])
    return {name: row for name, row in rows.items() if name not in typed}


def _missed(file: Checked, rows: Mapping[str, Array], without: str | None) -> Iterator[tuple[str, str]]:
    for name, row in rows.items():
        if name not in file.places and not file.compared.why and not file.left_out(name):
            yield name, "the Contents sheet has no such name: it was changed, or its line is another's"
        elif name in file.places and (why := _unlike(file, name, row)):
            yield name, why
    for name, found in file.places.items():
        left_out = (without and name.startswith(without)) or of_witness(name, file.places)
        if found.called != defined_name(name):
            yield name, f"its range is called {unquoted(found.called)}, as that of another name would be"
        elif found.kind != "typed" and name not in rows and not left_out:
            yield name, f"{file.range(name)}: torch computes nothing of this name"


def _unlike(file: Checked, name: str, row: Array) -> str:
    """Says in what a block is another kind of thing than the witness's row; "" if in nothing."""
    shape, words = file.arrays[name].shape, file.places[name].words
    if shape != row.shape:
        return f"the Contents sheet says that it lies as {shape}, expected {row.shape}"
    unlike = words != (row.dtype == object)
    return f"the Contents sheet says that it holds {'words' if words else 'numbers'}" if unlike else ""


Cell = tuple[str, int, int]
"""Sheet, row and column, as a formula means it: without regard to case."""


def right_errors(file: Checked, witness: Mapping[str, Array]) -> dict[str, set[At]]:
    """Returns by quantity the cells that rightly show an error."""
    shown = {spot for name in witness if name in file.places for spot in _error_shown(file, name)}
    right = {spot for spot in shown if _is_none(witness[spot.name], spot.at)}
    cells, left = {_cell_of_error(file, spot) for spot in right}, shown - right
    while more := {spot for spot in left if cells and _reads(file, spot, cells)}:
        right, left = right | more, left - more
        cells |= {_cell_of_error(file, spot) for spot in more}
    found: dict[str, set[At]] = {}
    for spot in right:
        found.setdefault(spot.name, set()).add(spot.at)
    return found


def _error_shown(file: Checked, name: str) -> Iterator[Spot]:
    """Yields the cells of a quantity that show an error."""
    array, odd = file.arrays[name], file.odd.get(name, {})
    cells = zip(np.ndindex(array.shape), array.flat, strict=True) if file.places[name].words else odd.items()
    yield from (Spot(name, at) for at, text in cells if is_error(text))


def _is_none(row: Array, at: At) -> bool:
    """Says whether torch has no finite number in a cell; of words it says nothing."""
    return row.dtype != object and all(map(int.__lt__, at, row.shape)) and not np.isfinite(row[at])


def _cell_of_error(file: Checked, spot: Spot) -> Cell:
    place = file.places[spot.name]
    return (place.sheet.casefold(), *place.address(spot.at))


def _reads(file: Checked, spot: Spot, cells: set[Cell]) -> bool:
    """Says whether the formula of a cell reads one of others."""
    place = file.places[spot.name]
    formula = file.formula(place.sheet, *place.address(spot.at)) or ""
    return any(
        sheet == area.sheet.casefold() and area.top <= row <= area.bottom and area.left <= column <= area.right
        for area in read_by(formula, place.sheet, file.named)
        for sheet, row, column in cells
    )


HALF_A_UNIT = 1 + 1e-9
"""Half a unit of the last digit, as a spreadsheet rounds: 0.25 shown with one digit is 0.3."""


@dataclass(frozen=True)
class Answer:
    """What became of one blank.

    blank:   its defined name, `blank_01`. cells: where they stand.
    empty:   how many of its cells are empty. wrong: those in which something else is filled in than torch has.
    carried: those among them that are right for what was filled in elsewhere: the mistake lies before them.
    """

    blank: str
    cells: tuple[str, ...]
    empty: int
    wrong: tuple[Spot, ...]
    carried: tuple[Spot, ...]

    @property
    def says(self) -> str:
        """What became of it, in a word or two; a blank of which cells are empty is not filled in."""
        wrong = "differs" if set(self.wrong) - set(self.carried) else "carried" if self.wrong else "agrees"
        return wrong if self.wrong or not self.empty else "not filled in"


def held_against(file: Checked, witness: Mapping[str, Array]) -> tuple[Checked, dict[str, Array]]:
    """Returns a worksheet as it is compared, and the numbers with which: of a workbook without blanks both as they are.

    An answer that is right to the digits that its cell shows is as good as torch's. Behind a blank the sheet goes on with what
    was filled in, which the definitions do, too. What is open shows what is meant: it neither agrees nor deviates.
    """
    if file.book is None:
        return file, dict(witness)
    meant, shown = ({name: np.array(array) for name, array in each.items()} for each in (witness, file.arrays))
    blocks, values = file.book.blocks, file.book.values.arrays
    for name, at in file.blanks.behind:
        if name in meant and name in blocks and values[blocks[name]].shape == meant[name].shape:
            meant[name][at] = values[blocks[name]][at]
    for name, at in file.blanks.cells:
        if name in meant and _right(file, Spot(name, at), witness[name][at]):
            meant[name][at] = shown[name][at]
    for name, cells in file.blanks.open.items():
        for at in cells if name in meant and meant[name].shape == shown[name].shape else ():
            shown[name][at] = meant[name][at] = witness[name][at]
    return file.showing(shown), meant


def _right(file: Checked, spot: Spot, answer: float) -> bool:
    """Says whether a number is filled in that is an answer, to half a unit of the last digit that the cell shows."""
    block = file.book.blocks.get(spot.name) if file.book else None
    decimals = 0 if block is None else block.about.decimals
    return bool(abs(file.arrays[spot.name][spot.at] - answer) <= HALF_A_UNIT * 0.5 * 10.0**-decimals)


def answers(file: Checked, witness: Mapping[str, Array]) -> tuple[Answer, ...]:
    """Says what became of every blank."""
    return tuple(_answer(file, witness, *each) for each in file.blanks.blanks.items())


def _answer(file: Checked, witness: Mapping[str, Array], name: str, spots: tuple[Spot, ...]) -> Answer:
    filled = [spot for spot in spots if spot not in file.blanks.empty and spot.name in witness]
    wrong = tuple(spot for spot in filled if not _right(file, spot, witness[spot.name][spot.at]))
    cells = tuple(file.cell(*spot) for spot in spots)
    return Answer(name, cells, len(spots) - len(filled), wrong, tuple(_carried(file, wrong)))


def _carried(file: Checked, wrong: tuple[Spot, ...]) -> Iterator[Spot]:
    """Yields the wrong cells in which stands what their equation comes to from the cells as they are filled in."""
    for spot in wrong:
        block = file.book.blocks.get(spot.name) if file.book else None
        if file.book and block in file.book.values.own and _right(file, spot, file.book.values.own[block][spot.at]):
            yield spot


TOLERANCES = {"float64": 1e-12, "float32": 2e-5}
"""Two honest computations differ by rounding, which grows with the largest number of a row, not with each number: a
difference counts above tolerance · (1 + max|row|). float32 has 24 bits, and the longest chain here some hundred steps."""

SHARE = 0.01
"""Of the tolerance: 1e-14 in float64, the rounding of some forty additions. Below 100 a number widens nothing."""
WORDS = "t"
"""The letter of the axis along which sums run; settings and tables of presets have other axes, or none."""
CHECKS, WORST = "check.", ".worst"
DIRECTION, RATES = ".direction.", ("optimiser.lr", "optimiser.critic_lr")
WHITENED = {
    "reward.whitened": "reward.divisor",
    "advantage.whitened": "advantage.divisor",
    "library.reward.whitened": "library.reward.divisor",
    "library.advantage.whitened": "library.advantage.divisor",
    "explained_variance.old": "returns.variance",
    "explained_variance.new": "returns.variance",
}
"""What divides by how far a row spreads, and the row that says what was divided by; plain files have no such row."""


@dataclass(frozen=True)
class Deviation:
    """How one quantity compares: cells, the largest difference, where (edge cells counted), and what is allowed.

    differing: every cell that is further away than that. open: how many cells more there are, which are empty blanks or wait.
    """

    name: str
    cells: int
    largest: float
    at: tuple[int, ...]
    allowed: float
    differing: tuple[tuple[int, ...], ...]
    open: int = 0

    @property
    def agrees(self) -> bool:
        """Whether every cell is near enough."""
        return not self.differing


def compare(
    sheet: Mapping[str, Array],
    witness: Mapping[str, Array],
    tolerance: float,
    wider: Mapping[str, float],
    odd: Mapping[str, Collection[tuple[int, ...]]] | None = None,
    carried: Mapping[str, float] | None = None,
    right: Mapping[str, Collection[tuple[int, ...]]] | None = None,
) -> list[Deviation]:
    """Compares every quantity that both have, in the witness's order.

    wider: by quantity, how many times more than usual may differ (whitening divides by a small σ). odd: by quantity,
    cells that show no number at all, which is right only of an error where torch has none either. carried: by quantity, what
    may differ at least. right: by quantity, the cells that rightly show an error.
    """
    least, errors, ended = carried or {}, odd or {}, right or {}
    return [
        _compared(
            name,
            sheet[name],
            theirs,
            tolerance * wider.get(name, 1.0),
            least.get(name, 0.0),
            {at: at in ended.get(name, ()) for at in (*errors.get(name, ()), *ended.get(name, ()))},
        )
        for name, theirs in witness.items()
        if name in sheet
    ]


def _compared(
    name: str, ours: Array, theirs: Array, relative: float, least: float, odd: Mapping[tuple[int, ...], bool]
) -> Deviation:
    """Compares one quantity; odd: its cells that show no number, and whether that is right."""
    allowed = 0.0
    if ours.dtype == object or theirs.dtype == object:
        distance = np.asarray(ours != theirs).astype(float)
        for at in (at for at, right in odd.items() if right):
            distance[at] = 0.0
    else:
        allowed = allowed_of(theirs, relative, least)
        # A limit that is off is infinite on both sides, and infinity less infinity is no number.
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        with np.errstate(invalid="ignore"):
            distance = np.where(same, 0.0, np.nan_to_num(np.abs(ours - theirs), nan=np.inf, posinf=np.inf))
        for at, right in odd.items():
            distance[at] = 0.0 if right else np.inf
    where = np.unravel_index(int(np.argmax(distance)), distance.shape) if distance.size else ()
    differing = tuple(map(tuple, np.argwhere(distance > allowed).tolist()))
    return Deviation(
        name, int(distance.size), float(distance.max(initial=0.0)), tuple(map(int, where)), allowed, differing
    )


def allowed_of(theirs: Array, relative: float, least: float) -> float:
    """Returns the distance allowed of the witness's numbers: relative to 1 plus the largest of them, and at least so much."""
    return max(least, relative * (1.0 + _largest(theirs)))


def _largest(array: Array) -> float:
    return float(np.abs(array[np.isfinite(array)]).max(initial=0.0))


def widened(witness: Mapping[str, Array], followers: Mapping[str, Iterable[str]]) -> dict[str, float]:
    """Returns how much wider the tolerance is for what is whitened and what follows from it: 1/σ, each time.

    followers: by whitened quantity, what follows from it. Of libraries the smallest σ counts.
    """
    found: dict[str, float] = {}
    for whitened, names in followers.items():
        wider = max(1.0, 1.0 / _deviation(witness, whitened))
        for name in {whitened, *names}:
            found[name] = found.get(name, 1.0) * wider
    return found


def _deviation(witness: Mapping[str, Array], whitened: str) -> float:
    """Returns the smallest number that a whitened quantity was divided by; 1 for σ = 0, where nothing is left to divide."""
    if WHITENED[whitened] in witness:
        return float(np.min(witness[WHITENED[whitened]])) or 1.0
    return float(np.sqrt(witness.get("advantage.variance", np.ones(())))) or 1.0


def carried(file: Checked, witness: Mapping[str, Array], tolerance: float) -> dict[str, float]:
    """Returns, by quantity, how much it may differ because of large numbers in what it follows from.

    The numbers are those typed and torch's: what a sheet shows must not widen what it is allowed.
    """
    found: dict[str, float] = {}
    for name, place in file.places.items():
        array = file.arrays[name] if place.kind == "typed" else witness.get(name)
        runs = any(along.letter == WORDS for along in place.shape)
        # Ids and masks are whole numbers, which nothing rounds.
        if array is not None and array.dtype != object and runs and np.any(array[np.isfinite(array)] % 1):
            least = tolerance * SHARE * _largest(array)
            for reader in file.followers(name) if least > tolerance else ():
                found[reader] = max(found.get(reader, 0.0), least)
    for name, least in _directions(file, witness, tolerance * SHARE):
        rate = max(float(file.arrays[rate]) for rate in RATES if rate in file.arrays)
        for reader in (name, *file.followers(name)):
            found[reader] = max(found.get(reader, 0.0), least if reader == name else least * rate)
    return found


def _directions(file: Checked, witness: Mapping[str, Array], rounding: float) -> Iterator[tuple[str, float]]:
    """Lists the directions of an optimiser, and how far apart they may be: the rounding of a gradient, divided as the gradient was.

    A gradient whose terms cancel is nothing but rounding, and Adam divides it by ε. One of 0 on both sides is no rounding.
    """
    for name in witness:
        step, _, weight = name.partition(DIRECTION)
        if weight and name in file.places:
            squares = witness[f"{step}.v.{weight}"]
            shown = file.arrays.get(f"{step}.v.{weight}", squares)
            rounded = (squares > 0) | ((shown > 0) & (shown <= rounding**2))
            sizes = np.sqrt(squares[rounded] / (1.0 - witness[f"{step}.power2"]))
            divisors = sizes + file.arrays["optimiser.eps"]
            yield name, rounding / float(divisors.min(initial=np.inf))


def undecided(file: Checked, lines: list[Deviation]) -> set[str]:
    """Returns the checks of the sheet that rounding alone decides: what they may differ by is more than they tolerate."""
    stems = {line.name.removesuffix(WORST): line for line in lines if line.name.endswith(WORST) and line.agrees}
    tolerances = {stem: file.arrays.get(f"{stem}.tolerance") for stem in stems}
    return {stem for stem, tolerance in tolerances.items() if tolerance is not None and tolerance < stems[stem].allowed}


def left_open(line: Deviation, stems: set[str]) -> bool:
    """Says whether a line only tells how checks came out that rounding decides: a verdict, their number, or all of them."""
    stem, _, last = line.name.rpartition(".")
    is_verdict = line.name == f"{CHECKS}master" or (last == "verdict" and stem in stems)
    is_count = last == "failed" and line.largest <= len(stems)
    return bool(stems) and not line.agrees and line.name.startswith(CHECKS) and (is_verdict or is_count)
