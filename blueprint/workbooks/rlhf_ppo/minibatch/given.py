"""What is typed of a minibatch: what the dump says of the words shown, what the rest of the batch adds to them, and what the
library logged; and these numbers as a file's.

What the rest of the batch adds was computed from the whole dump, in float64, by the conventions as they were then. A window cannot
know it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import takewhile

from blueprint.inputs import Array, Numbers
from blueprint.language import Axis, Block, Max, Sum, block, less, link, typed
from blueprint.page.outline import Item, Line, Note, Piece, Row, Section, Sheet, key
from blueprint.reopening.saved import Saved
from blueprint.workbooks.common import InView, defined, n, t
from blueprint.workbooks.common.conventions import PLAIN, Conventions, rlhf

Blocks = Mapping[str, Block]

SHOWN = 2
"""Decimals of what is typed; a typed number may show two more, and real ones do: the four that computed rows have."""

ROWS = {
    "slot.column": ("col", "column of the dump, from 0; −1: none", 0, ""),
    "word_written": ("writes", "token, or its id", 4, ""),
    "mask": ("m", "mask: 1 on the response", 0, "0 or 1"),
    "slots": ("S", "1 in every position, padding included", 0, "0 or 1"),
    "old.logprobs": ("log π_old", "log-prob under the old policy", SHOWN, "≤ 0"),
    "policy.logprobs": ("log π_θ", "log-prob under the new policy", SHOWN, "≤ 0"),
    "reference.logprobs": ("log π_ref", "log-prob under the reference", SHOWN, "≤ 0"),
    "old_critic.values": ("V_old", "old critic's value before the token", SHOWN, ""),
    "critic.values": ("V", "new critic's value before the token", SHOWN, ""),
    "policy.entropy": ("H", "entropy of the new policy", SHOWN, "≥ 0"),
    "score.placed": ("score", "score of each token, as given", SHOWN, ""),
    "rewards": ("r", "reward of each token, as given", SHOWN, ""),
    "advantages_used": ("Â_used", "advantage, as given", SHOWN, ""),
    "returns": ("R", "return, as given", SHOWN, ""),
}
RESPONSES = {
    "episode.number": ("no", "number of the response in the dump, from 0", 0, ""),
    "response.length": ("len_n", "tokens of the response", 0, ""),
    "response.ended": ("ended_n", "1 if it ended in the end token", 0, ""),
    "response.padded": ("padded_n", "1 if a position was left over", 0, ""),
    "score.given": ("s_n", "score of the response", SHOWN, ""),
    "policy.weight.length": ("n_π", "counted tokens of a response, policy loss", 0, ""),
    "value.weight.length": ("n_V", "counted tokens of a response, value loss", 0, ""),
    "after.words": ("more", "1 if tokens follow behind the last column", 0, ""),
    "after.ahead": ("V_after", "value that enters behind the last column", SHOWN, ""),
    "after.advantages": ("A_after", "advantage that enters there", SHOWN, ""),
}
BATCH = {
    "response.most": ("T_most", "positions of the longest response", 0, ""),
    "advantage.count": ("N_A", "advantages counted", 0, ""),
    "advantage.mean": ("μ_A", "mean of the advantages", SHOWN, ""),
    "advantage.variance": ("σ²_A", "variance of the advantages", SHOWN, ""),
    "reward.count": ("N_r", "rewards counted", 0, ""),
    "reward.mean": ("μ_r", "mean of the rewards", SHOWN, ""),
    "reward.variance": ("σ²_r", "variance of the rewards", SHOWN, ""),
    "policy.words": ("N_π", "tokens counted, policy loss", 0, ""),
    "policy.responses": ("B_π_all", "responses counted, policy loss", 0, ""),
    "value.words": ("N_V", "tokens counted, value loss", 0, ""),
    "value.responses": ("B_V_all", "responses counted, value loss", 0, ""),
    "loss.mean_ratio": ("ρ_mean", "mean ratio over what counts as response", SHOWN, ""),
    "rest.policy": ("rest_π", "Σ w·U_min of tokens not shown", SHOWN, ""),
    "rest.value": ("rest_V", "Σ w·v_loss of tokens not shown", SHOWN, ""),
    "rest.entropy": ("rest_H", "Σ w·H of tokens not shown", SHOWN, ""),
    "rest.kl": ("rest_KL", "Σ w·KL of tokens not shown", SHOWN, ""),
}
"""Rows of words, numbers of responses, numbers of the batch, by the names of their blocks: symbol, meaning, decimals, unit."""

LEAD = "what the dump says of the tokens shown here, as it stands there; everything else follows from it"
WHERE = (
    "The columns are those of the dump's own arrays, counted from 0; where a response is longer, a part of it is shown."
)
BEHIND = "What stands behind the last token is read only where a convention says so."
BATCH_LEAD = "what the tokens that are not shown here add: counted and summed up over the whole minibatch, then typed"
STALE = (
    "These numbers belong to the dump and to the conventions as delivered. Choose others, and what is computed above them "
    "changes here but not in the tokens that are not shown: import the dump again with that preset."
)


def given_of(names: Collection[str]) -> Blocks:
    """Makes the typed blocks whose names are among those of the numbers."""
    return _typed(ROWS, (n, t), {"word_written", *names}) | _typed(RESPONSES, (n,), names) | _typed(BATCH, (), names)


def _typed(
    table: Mapping[str, tuple[str, str, int, str]], axes: tuple[Axis, ...], names: Collection[str]
) -> dict[str, Block]:
    return {
        name: typed(
            name, axes, symbol, meaning, unit=unit, decimals=decimals, text=name == "word_written",
            edges=(t.last + 1,) if name == "slots" else (),
        )
        for name, (symbol, meaning, decimals, unit) in table.items()
        if name in names
    }  # fmt: skip


def dump_sheet(given: Blocks, notes: tuple[str, ...]) -> Sheet:
    """Outlines what the dump says. notes: where it comes from, and what the dump has not."""
    ends = listed(given, "mask", "slots", "response.length", "response.ended", "response.padded")
    where: tuple[Item, ...] = (
        *listed(given, "episode.number", "slot.column"),
        Row(given["word_written"], "text"),
        *ends,
    )
    probs = listed(given, "old.logprobs", "policy.logprobs", "reference.logprobs", "policy.entropy")
    values = listed(given, "old_critic.values", "critic.values")
    scored = listed(given, "score.given", "score.placed", "rewards", "advantages_used", "returns")
    sections = (
        Section("Where these tokens stand", (*map(Note, notes), Note(WHERE), *where)),
        Section("Log-probs and entropy", probs),
        *([Section("Values", (Note(BEHIND), *values))] if values else []),
        *([Section("What was scored", scored)] if scored else []),
    )
    return Sheet("Dump", LEAD, sections, (n, t))


def batch_sheet(given: Blocks, words: Block, means: Blocks) -> Sheet:
    """Outlines what is typed of the whole batch, and means over the words shown (their number), for the first sheet."""
    statistics = _lines(*listed(given, *(name for name in BATCH if name.startswith(("advantage.", "reward.")))))
    counts = listed(
        given, "policy.words", "policy.responses", "value.words", "value.responses", "response.most", "loss.mean_ratio"
    )
    rest = [block for name, block in given.items() if name.startswith("rest.")]
    after = listed(
        given, "policy.weight.length", "value.weight.length", "after.words", "after.ahead", "after.advantages"
    )
    sections = (
        Section("Statistics by which the advantages and the rewards are whitened", (Note(STALE), *statistics)),
        Section("Counts", _lines(*counts)),
        Section("Of each response shown: its tokens, and what enters behind the last column", after),
        Section("What the tokens that are not shown add", _lines(*rest)),
        Section("Means over the tokens shown, for the first sheet", (words, *means.values())),
    )
    return Sheet("Batch", BATCH_LEAD, sections, (n, t))


def _lines(*blocks: Block) -> tuple[Item, ...]:
    return tuple(Line((each,), "line") for each in blocks)


def listed(blocks: Blocks, *names: str) -> tuple[Block, ...]:
    """Lists the blocks of these names that there are."""
    return tuple(blocks[name] for name in names if name in blocks)


LIBRARY_LEAD = "what the library logged beside what its own numbers come to: look for the first row that differs"
HOW = "A row that deviates may follow from one above it: look at the first. Rounding is allowed, that of the dump's format."
LOGGED = "logged."
"""What begins the names of what the library logged."""
LOGGED_NUMBERS = {
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
LOGGED_ROWS = {
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
    for name, (called, where) in LOGGED_ROWS.items():
        if LOGGED + name in names and name in computed and not computed[name].typed:
            section, piece = _row(name, called, computed[name], computed[where])
            sections.append(section)
            pieces.append(piece)
    if lines := [_line(name, names, computed) for name in LOGGED_NUMBERS if LOGGED + name in names]:
        sections.append(
            Section(
                "Numbers of the whole batch",
                tuple(lines),
                ("recomputed", "logged", "difference", "allowed", "deviates"),
            )
        )
    first, *others = sections or [Section("Nothing was logged", (Note("The dump has no tensor to compare."),))]
    first = Section(first.title, (Note(HOW), *first.items), first.columns)
    return Sheet("Library", LIBRARY_LEAD, (first, *others), (n, t), here.rows, here.mask), tuple(pieces)


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
    (symbol, told), of_batch = LOGGED_NUMBERS[name], f"batch.{name}"
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


@dataclass(frozen=True, eq=False, kw_only=True)
class MinibatchNumbers(Numbers):
    """Hold all numbers of a minibatch; no numbers file holds them.

    Attributes:
        words: what stands for the word of each column, (episodes, columns).
        typed: by the name of its block, every other number: rows (episodes, columns), numbers of responses (episodes,),
            numbers of the whole batch (). Which rows are there decides where the workbook begins.
        conventions: the preset in use; ppo: the settings in which the run differs from it.
        focus: the column of the first response, from 1, that one looks at first.
        notes: sentences on where the numbers come from, and on what the dump has not.
    """

    kind: str = "rlhf_ppo"
    level: str = "minibatch"
    words: tuple[tuple[str, ...], ...]
    typed: Mapping[str, Array]
    conventions: Conventions = PLAIN
    focus: int = 1
    notes: tuple[str, ...] = ()


FIRST_BLOCK = "episode.number"
"""The block below the sentences; only workbooks of a minibatch have it."""


def numbers_in(file: Saved) -> MinibatchNumbers:
    """Return numbers of a file's sizes with every typed block that it has: which rows are there decides what is computed.

    Raises:
        ReadError: for what is typed, which no numbers file holds.
    """
    if not file.blank:
        raise file.refusal(
            "shows a part of a training minibatch, which numbers files do not hold: "
            "its numbers are those of the dump (blueprint import), and rebuild keeps them"
        )
    words, mask = file.rows("word_written"), file.array("mask", 2)
    if mask.shape != (len(words), len(words[0])):
        raise file.refusal("says not on its Contents sheet how tokens and mask lie: it was changed")
    typed = [name for name, found in file.file.places.items() if found.kind == "typed" and name != "word_written"]
    typed = [name for name in typed if ".grad." not in name]  # comes with the gradients
    return MinibatchNumbers(
        **file.head(),
        words=words,
        typed={name: file.array(name) for name in typed},
        ppo={},
        conventions=Conventions(True, file.preset(rlhf())),
        notes=_notes(file),
    )


def _notes(file: Saved) -> tuple[str, ...]:
    """Return the sentences between the heading above a minibatch's first block and the one that every such sheet has."""
    found = file.file.block(FIRST_BLOCK)
    texts = {(row, column): text for row, column, text in file.file.words_on(found.sheet, found.top) if row < found.top}
    last, column = next((place for place, text in texts.items() if text == WHERE), (0, 0))
    above = (texts.get((row, column), "") for row in range(last - 1, 0, -1))
    return tuple(takewhile(lambda text: text and not text.startswith("1  "), above))[::-1]
