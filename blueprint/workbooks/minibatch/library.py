"""What the library logged, beside what follows from its own numbers: rows word by word, and numbers of the whole batch."""

from collections.abc import Collection

from blueprint.language import Block, Max, Sum, block, less, link, typed
from blueprint.page.outline import Item, Line, Note, Piece, Section, Sheet, key
from blueprint.workbooks.common import InView, defined, n, t
from blueprint.workbooks.minibatch.given import SHOWN, Blocks

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
ROWS = {
    "score.placed": ("scores", "signal.S"),
    "rewards.raw": ("raw rewards", "kept"),
    "rewards": ("rewards", "kept"),
    "advantages": ("raw advantages", "response"),
    "returns": ("returns", "kept"),
    "advantages_used": ("advantages", "response"),
}
"""Rows that a library may log: what they are called in a word or two, and the row of 0 and 1 that says where they count."""


def library_sheet(names: Collection[str], computed: Blocks, head: InView) -> tuple[Sheet, tuple[Piece, ...]]:
    """Outlines what was logged, of which `names` are there; and for the first sheet how many words of each row deviate.

    computed: every block of the workbook, by its name.
    """
    here, sections, pieces = head.on("beside"), [], []
    for name, (called, where) in ROWS.items():
        if LOGGED + name in names and name in computed and not computed[name].typed:
            section, piece = _row(name, called, computed[name], computed[where])
            sections.append(section)
            pieces.append(piece)
    if lines := [_line(name, names, computed) for name in WHOLE if LOGGED + name in names]:
        sections.append(
            Section(
                "Numbers of the whole batch",
                tuple(lines),
                ("recomputed", "logged", "difference", "allowed", "deviates"),
            )
        )
    first, *others = sections or [Section("Nothing was logged", (Note("The dump has no tensor to compare."),))]
    first = Section(first.title, (Note(HOW), *first.items), first.columns)
    return Sheet("Library", LEAD, (first, *others), (n, t), here.rows, here.mask), tuple(pieces)


def _row(name: str, called: str, ours: Block, where: Block) -> tuple[Section, Piece]:
    """Sets a row beside the library's. where: (n, t), 1 where they are compared."""
    symbol, meaning, again = ours.symbol, ours.about.meaning, link(f"beside.{name}", ours)
    theirs = typed(LOGGED + name, (n, t), f"{symbol}_lib", f"logged: {meaning.partition(':')[0]}", decimals=SHOWN)
    allowed = typed(f"allowed.{name}", (), f"tol_{symbol}", "distance that rounding allows", decimals=7)
    off = defined(
        block(f"off.{name}", (n, t), f"off_{symbol}", "distance, where the row is read", decimals=7),
        where[n, t] * abs(theirs[n, t] - again[n, t]),
    )
    worst = defined(
        block(f"off.{name}.worst", (), f"max_off_{symbol}", "largest distance of the tokens shown", decimals=7),
        Max((n, t), off[n, t]),
    )
    deviates = defined(
        block(f"deviates.{name}", (n, t), f"dev_{symbol}", "1 where it deviates", unit="0 or 1", decimals=0),
        less(allowed, off[n, t]),
    )
    count = defined(
        block(f"deviates.{name}.count", (), f"N_dev_{symbol}", "tokens shown that deviate", decimals=0),
        Sum((n, t), deviates[n, t]),
    )
    rows = (Line((allowed,), "fixed"), again, theirs, off, key(deviates), worst, key(count))
    return Section(meaning, rows), Piece(f"{called}: tokens off", count, deviates)


def _line(name: str, names: Collection[str], computed: Blocks) -> Item:
    """Outlines a number that was logged; what it comes to is typed where only the whole batch could give it."""
    (symbol, told), of_batch = WHOLE[name], f"batch.{name}"
    ours = (
        link(f"beside.{name}", computed[name])
        if of_batch not in names
        else typed(of_batch, (), symbol, f"{told} (whole dump)", decimals=SHOWN)
    )
    theirs = typed(LOGGED + name, (), f"{symbol}_lib", f"logged: {told}", decimals=SHOWN)
    off = defined(block(f"off.{name}", (), f"off_{symbol}", f"difference: {told}", decimals=7), abs(ours - theirs))
    allowed = typed(f"allowed.{name}", (), f"tol_{symbol}", f"allowed: {told}", decimals=7)
    deviates = block(f"deviates.{name}", (), f"dev_{symbol}", f"1 if it deviates: {told}", decimals=0)
    return Line((ours, theirs, off, allowed, defined(deviates, less(allowed, off))))
