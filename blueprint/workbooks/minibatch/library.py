"""What the library logged, beside what follows from its own numbers: rows word by word, and numbers of the whole batch."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from blueprint.language import Block, Max, Sum, block, less, link, typed
from blueprint.page.outline import Item, Line, Note, Piece, Section, Sheet, key
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.sheets.head import InView
from blueprint.workbooks.minibatch.batch import SHOWN, number
from blueprint.workbooks.minibatch.signal import Signal

LEAD = "what the library logged beside what its own numbers come to: look for the first row that differs"
HOW = "A row that deviates may follow from one above it: look at the first. Rounding is allowed, that of the dump's format."
LOGGED = "logged."
"""What begins the names of what the library logged."""
WHOLE = {
    "policy_loss": ("L_policy", "policy loss"),
    "value_loss": ("L_value", "value loss"),
    "entropy": ("H_mean", "entropy"),
    "kl_loss": ("L_KL", "KL to the reference"),
    "adds.value_loss": ("value_part", "value loss, weighted"),
    "adds.kl_loss": ("ref_KL_part", "KL to the reference, weighted"),
    "clip_fraction.dual": ("cf_dual", "share at the dual clip's floor"),
    "clip_fraction.value": ("cf_V", "share of clipped values"),
    "total_loss": ("L", "total loss"),
    "clip_fraction.used": ("cf", "clip fraction"),
    "approx_kl.used": ("aKL", "approximate KL"),
    "loss.mean_ratio": ("ρ_mean", "mean ratio"),
    "ratio.mean": ("ρ_watch", "mean ratio, watched"),
    "ev.used": ("EV", "explained variance"),
    "kl.statistic": ("KL_ref", "KL per response"),
    "entropy.watched": ("H_watch", "entropy, watched"),
}
"""Numbers of the batch that a library may log: symbol and meaning, by the names of the rows that they are held against."""


SHORT = {
    "score.placed": "scores", "rewards.raw": "raw rewards", "rewards": "rewards", "advantages": "raw advantages",
    "returns": "returns", "advantages_used": "advantages",
}  # fmt: skip
"""What rows are called in a word or two."""


class Library(NamedTuple):
    """The sheet, and for the first one how many words of each row deviate."""

    sheet: Sheet
    pieces: tuple[Piece, ...]


class Beside(NamedTuple):
    """A row of ours on this sheet, the library's, how far apart they are, what rounding allows, and where it is more.

    worst, far: the largest distance of the words shown, and how many of them deviate.
    """

    ours: Block
    theirs: Block
    off: Block
    allowed: Block
    deviates: Block
    worst: Block
    far: Block


def rows_of(made: Signal) -> dict[str, Block]:
    """Returns our rows by the names under which a library's are held against them, as far as they are computed here."""
    steps = made.made
    rows = {
        "score.placed": steps.placed,
        "rewards.raw": steps.rewards.raw if steps.rewards else None,
        "rewards": made.rewards,
        "advantages": steps.gae.advantages if steps.gae else None,
        "returns": steps.gae.returns if steps.gae else None,
        "advantages_used": steps.used,
    }
    return {name: row for name, row in rows.items() if row is not None and not row.typed}


def library_sheet(names: Collection[str], made: Signal, numbers: Mapping[str, Block], head: InView) -> Library:
    """Outlines what was logged, of which `names` are there. numbers: those of the whole batch that are computed here."""
    here = head.on("beside")
    sections: list[Section] = []
    pieces = []
    for name, ours in rows_of(made).items():
        if LOGGED + name in names:
            beside = _beside(name, ours, _where(name, made))
            title = ours.about.meaning
            rows = (*beside[:3], key(beside.deviates), beside.worst, key(beside.far))
            sections.append(Section(title, (Line((beside.allowed,), "fixed"), *rows)))
            pieces.append(Piece(f"{SHORT[name]}: words off", beside.far, beside.deviates))
    lines = _lines(names, numbers)
    if lines:
        headings = ("recomputed", "logged", "difference", "allowed", "deviates")
        sections.append(Section("Numbers of the whole batch", lines, headings))
    first = sections[0] if sections else Section("Nothing was logged", (Note("The dump has no tensor to compare."),))
    first = Section(first.title, (Note(HOW), *first.items), first.columns)
    sheet = Sheet("Library", LEAD, (first, *sections[1:]), (n, t), here.rows, here.mask)
    return Library(sheet, tuple(pieces))


def _where(name: str, made: Signal) -> Block:
    """Returns where a row means something: scores in every slot, advantages on the response, others where a value is kept."""
    response, kept = made.made.counted
    places = {"score.placed": made.slots, "advantages": response, "advantages_used": response}
    return places.get(name, kept)


def _beside(name: str, ours: Block, where: Block) -> Beside:
    """Sets a row beside the library's. where: (n, t), 1 where they are compared."""
    symbol = ours.symbol
    again = link(f"beside.{name}", ours)
    theirs = typed(
        LOGGED + name, (n, t), f"{symbol}_lib", f"logged: {ours.about.meaning.partition(':')[0]}", decimals=SHOWN
    )
    off = block(f"off.{name}", (n, t), f"off_{symbol}", "distance, where the row is read", decimals=7)
    worst = block(f"off.{name}.worst", (), f"max_off_{symbol}", "largest distance of the words shown", decimals=7)
    off[n, t] = where[n, t] * abs(theirs[n, t] - again[n, t])
    worst[()] = Max((n, t), off[n, t])
    allowed = typed(f"allowed.{name}", (), f"tol_{symbol}", "distance that rounding allows", decimals=7)
    deviates = block(f"deviates.{name}", (n, t), f"dev_{symbol}", "1 where it deviates", unit="0 or 1", decimals=0)
    count = block(f"deviates.{name}.count", (), f"N_dev_{symbol}", "words shown that deviate", decimals=0)
    deviates[n, t] = less(allowed, off[n, t])
    count[()] = Sum((n, t), deviates[n, t])
    return Beside(again, theirs, off, allowed, deviates, worst, count)


def _lines(names: Collection[str], computed: Mapping[str, Block]) -> tuple[Item, ...]:
    """Outlines a line for each number that was logged; what it comes to is typed where only the whole batch could give it."""
    lines = []
    for name, (symbol, told) in WHOLE.items():
        if LOGGED + name in names:
            of_dump, here = f"batch.{name}", f"{told} (whole dump)"
            ours = number(of_dump, symbol, here) if of_dump in names else link(f"beside.{name}", computed[name])
            theirs = number(LOGGED + name, f"{symbol}_lib", f"logged: {told}")
            off = block(f"off.{name}", (), f"off_{symbol}", f"difference: {told}", decimals=7)
            off[()] = abs(ours - theirs)
            allowed = typed(f"allowed.{name}", (), f"tol_{symbol}", f"allowed: {told}", decimals=7)
            deviates = block(f"deviates.{name}", (), f"dev_{symbol}", f"1 if it deviates: {told}", decimals=0)
            deviates[()] = less(allowed, off)
            lines.append(Line((ours, theirs, off, allowed, deviates)))
    return tuple(lines)
