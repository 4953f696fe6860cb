"""The generating engine's log-probs beside the trainer's: of the same policy and tokens, so they are apart by precision alone.

The trainer's are the old ones, which it computed of the responses before its first update. An engine has kernels, and often a
precision, of its own; what that explains is in `two_forwards.py`. What it does not explain makes the policy that is trained
another one than the policy that wrote the responses (vllm #48305, TRL #6789, verl #2996): a difference is told by what it is
like.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from blueprint.dumps import OLDER, Array, Minibatch
from blueprint.inputs import counted
from blueprint.verifying.compare import AGREES, BESIDE, DIFFERS, TOO_COARSE, Compared, Line, first_spot
from blueprint.verifying.two_forwards import (
    CERTAIN,
    EXPLAINS,
    FEWEST_IN_COMMON,
    FEWEST_ROWS,
    MOSTLY,
    USUAL,
    Gap,
    Pattern,
    TwoForwards,
    forward,
    gap,
    limits,
    of_the_engine,
    permuted,
    rms,
    shifted,
    sloped,
    some_rows,
)

ENGINES, TRAINERS = "logprobs_rollout", "logprobs_old"
USUALLY = "bfloat16"
"""What engines compute in, unless somebody asked them for more; no file says it."""
SMALLEST = USUAL["float32"]
"""A difference of every token that is larger is looked at, also where noise may be larger still."""
FAR_SHARE, MOST_STALE = 0.4, 0.5
"""How many tokens of a tail must be far off: of those of another text some are near by chance. And how many rows may be stale."""


@dataclass(frozen=True)
class Room:
    """How far two forwards usually are apart at most, and ever, in nats; dtype: of the trainer; why: how that is known."""

    usual: float
    most: float
    dtype: str
    why: str

    def __str__(self) -> str:
        """Says both."""
        engine = "" if self.dtype == USUALLY else f", an engine in {USUALLY}"
        return (
            f"forwards in {self.dtype} ({self.why}) usually differ by up to {self.usual:.2g}{engine} and never by more than "
            f"{self.most:.2g}"
        )


def beside_the_trainer(batch: Minibatch) -> TwoForwards:
    """Judges the engine's log-probs; where that cannot be, a note says why."""
    if ENGINES not in batch.tensors or not batch.mask.any():
        return TwoForwards()
    called = batch.called.get(ENGINES, ENGINES)
    if why := _not_judged(batch):
        return TwoForwards(notes=(f"{called}, the generating engine's log-probs, are not judged: {why}",))
    found = gap(batch, TRAINERS, ENGINES, "trainer's")
    assert found is not None
    room, like = _room(batch, found), tuple[Pattern, ...]()
    row_off, says = found.has_a_row_off(room.most), AGREES
    if row_off or not found.size() <= min(room.usual, SMALLEST):
        like = _patterns(batch, found, room)
        if row_off or found.size() > room.most or any(each.telling for each in like):
            says = DIFFERS
        elif not found.size() <= room.usual or found.has_a_row_off(room.most, FEWEST_IN_COMMON):
            says = TOO_COARSE
    said = () if says == AGREES else tuple(_sentences(batch, found, room, [each.said for each in like]))
    return TwoForwards((_line(batch, found, room, says),), said)


def _not_judged(batch: Minibatch) -> str:
    """Returns why nothing can be said of them, "" where it can."""
    if batch.rollout_from == OLDER:
        return "the engine had older weights, as the file says"
    if TRAINERS not in batch.tensors:
        return "the file has no log-probs of the trainer from before its update"
    if engine := of_the_engine(batch):
        return engine
    same = batch.called.get(TRAINERS, TRAINERS) == batch.called.get("logprobs_new")
    if same and batch.place is not None and batch.place.before_first_update is False:
        return "the trainer's are those of a policy that was updated since"
    return ""


def _room(batch: Minibatch, found: Gap) -> Room:
    """Returns what precision explains: usually that of the trainer, at most that of an engine in bfloat16."""
    dtype, why = forward(batch, {})
    usual, most = limits(found, dtype)
    return Room(usual, max(most, limits(found, USUALLY)[1]), dtype, why)


def _patterns(batch: Minibatch, found: Gap, room: Room) -> tuple[Pattern, ...]:
    """Returns what a difference is like; nothing if it is scattered evenly."""
    moved = [*shifted(found), *permuted(batch, found), *_backwards(found)]
    if moved:
        return tuple(moved)
    constant = list(_constant(found))
    if constant or not (found.size() > room.usual or found.has_a_row_off(room.most, FEWEST_IN_COMMON)):
        return tuple(constant)
    return tuple(list(_tails(batch, found, room)) or [*_stale(batch, found, room), *sloped(batch, found)])


def _stale(batch: Minibatch, found: Gap, room: Room) -> Iterator[Pattern]:
    """Yields what the differing rows are like; if most differ, only telling patterns."""
    few = (found.of_rows() > room.usual).mean() <= MOST_STALE
    for each in some_rows(batch, found, room.usual):
        if each.telling or few:
            yield each if each.telling else Pattern(f"{each.said}: as of older weights, or of another response", False)


def _backwards(found: Gap) -> Iterator[Pattern]:
    """The engine's numbers of a response are the trainer's from its end on."""
    turned = found.new.copy()
    for row, tokens in enumerate(found.tokens):
        turned[row, tokens] = found.new[row, tokens][::-1]
    long = found.tokens & (found.tokens.sum(axis=1, keepdims=True) >= FEWEST_IN_COMMON)
    if long.any() and rms((turned - found.old)[long]) <= EXPLAINS * rms(found.apart[long]):
        yield Pattern("each response is written from its end: its last token stands first", True)


def _constant(found: Gap) -> Iterator[Pattern]:
    """Every token is off by as much, which noise never does: what it adds to some it takes from others."""
    apart = found.apart[found.tokens]
    by, square = float(apart.mean()), float((apart**2).mean())
    rows = [float(row[there].mean()) for row, there in zip(found.apart, found.tokens, strict=True) if there.any()]
    chance = float(np.std(rows)) / np.sqrt(len(rows))
    certain = len(rows) >= FEWEST_ROWS and abs(by) > CERTAIN * chance and by**2 > MOSTLY * square
    if abs(by) > SMALLEST and (certain or rms(apart - by) <= EXPLAINS * abs(by)):
        side = "the trainer" if by > 0 else "the engine"
        yield Pattern(
            f"it is {abs(by):.3g} {'above' if by > 0 else 'below'} the trainer's on every token: as where the other side than "
            f"{side} divides by the mass that top-p, top-k or min-p leave, about {np.exp(-abs(by)):.3g}",
            True,
        )


def _tails(batch: Minibatch, found: Gap, room: Room) -> Iterator[Pattern]:
    """In the rows that are off all is well up to some token, and little behind it."""
    far = (np.abs(found.apart) > room.most) & found.tokens
    starts = dict[int, int]()
    for row in np.flatnonzero(far.any(axis=1)):
        places = np.flatnonzero(found.tokens[row])
        first = int(np.flatnonzero(far[row])[0])
        head, tail = places[places < first], places[places >= first]
        whole = len(head) < FEWEST_IN_COMMON or rms(found.apart[row, head]) > room.usual
        if whole or len(tail) < 2 or far[row, tail].mean() < FAR_SHARE:
            return
        starts[int(row)] = first
    if not starts:
        return
    listed = [
        f"row {row} from column {column}" for row, column in (_place(batch, found, *each) for each in starts.items())
    ]
    of = f"{len(starts)} of {int(found.tokens.any(axis=1).sum())} rows"
    yield Pattern(
        f"only behind some token, in {of} ({', '.join(listed[:3])}{' …' if len(listed) > 3 else ''}): as where a response was "
        "turned into text and into tokens again, and its tail is of other tokens",
        True,
    )


def _place(batch: Minibatch, found: Gap, row: int, column: int) -> tuple[int, int]:
    """Returns row and column of the file."""
    file_row, moved = batch.position(int(found.rows[row]))
    return file_row, moved + column


def _line(batch: Minibatch, found: Gap, room: Room, says: str) -> Line:
    """Returns the line of the tensor: what differs is how many tokens are further apart than forwards usually are."""
    wrong = found.loud & (np.abs(found.apart) > room.usual)
    wrong, differs = wrong if wrong.any() else found.loud, says == DIFFERS
    compared = Compared(
        ENGINES, TRAINERS, BESIDE, int(found.tokens.sum()), int(wrong.sum()) if differs else 0, found.size(),
        room.usual if says == AGREES else room.most,
        first_spot(batch, wrong, found.new, found.old, found.rows) if differs else None, size=np.inf, dtype=room.dtype,
    )  # fmt: skip
    why = f"it is {found.size():.2g} from the trainer's, which precision may explain, and so may a small fault"
    return Line(batch.called.get(ENGINES, ENGINES), compared, says, why=why)


def _sentences(batch: Minibatch, found: Gap, room: Room, like: list[str]) -> Iterator[str]:
    """Yields how far both are apart by token, response and position, and what that is like."""
    name, old = (batch.called.get(each, each) for each in (ENGINES, TRAINERS))
    tokens, loud = int(found.tokens.sum()), int(found.loud.sum())
    differ = f"{loud:,} of {counted(tokens, 'token')} {'differs' if loud == 1 else 'differ'}"
    yield f"{name} should be {old}, of the same policy, but {differ}, by {found.size():.2g} (root mean square); {room}."
    apart = np.abs(np.where(found.tokens, found.apart, 0.0))
    row, column = (int(each) for each in np.unravel_index(apart.argmax(), apart.shape))
    of_rows, of_columns = found.of_rows(), _of_columns(found)
    worst_row, worst_column = int(of_rows.argmax()), int(of_columns.argmax())
    at, by_row = _place(batch, found, row, column), _place(batch, found, worst_row, 0)[0]
    yield (
        f"  {name}: the largest of a token is {apart[row, column]:.2g} (row {at[0]}, column {at[1]}), of a response "
        f"{of_rows[worst_row]:.2g} (row {by_row}), of a position {of_columns[worst_column]:.2g} (column {worst_column})."
    )
    for said in like or [
        "it is scattered over rows and tokens, as by a coarser precision of the engine, or by older weights"
    ]:
        yield f"  {name}: {said}."


def _of_columns(found: Gap) -> Array:
    """Returns the root mean square difference of each position, [T]; 0 where no response has a token."""
    squares = np.where(found.tokens, found.apart**2, 0.0).sum(axis=0)
    return np.asarray(np.sqrt(squares / np.maximum(found.tokens.sum(axis=0), 1)))
