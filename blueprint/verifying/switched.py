"""Equations under many settings without deriving them again: of the rows that have every word, those that a word leaves as they are
are the same blocks under all of them.

A search for causes asks for hundreds of settings of which each moves a few rows. What is shared has its order of computation, its
compiled equations and its numbers once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import is_
from typing import Any

from blueprint.inputs.catalogue import OFF, Setting
from blueprint.language import Block, Constant, Expr, Op, Ref, equal, rebuilt, walk
from blueprint.language.blocks import Definition
from blueprint.language.nodes import Lookup
from blueprint.language.schedule import read_by
from blueprint.verifying.settings import Settings
from blueprint.workbooks.common import Rows
from blueprint.workbooks.common.definitions.writing_rows import Fixed

Said = Mapping[str, str | bool]
"""By setting its word; of a limit, whether it is off."""
MOST = 1 << 15
"""So many blocks are remembered at most; then all is made anew."""


class Settled(Fixed):
    """A switch that stands at one word; a condition may ask for it."""

    def says(self, word: str) -> Expr:  # type: ignore[override]  # 0 and 1 are no conditions
        """Returns a condition that holds where the word is the one."""
        return equal(int(word == self.word), 1)


class Switched:
    """The rows of a kind by name, `live` as where every word can be chosen, under any settings."""

    def __init__(self, live: Rows, settings: Mapping[str, Setting]):
        self.live, self.settings = live, settings
        self._pruned: dict[tuple[Block, tuple[str | bool, ...]], Block] = {}
        self._mapped: dict[tuple[Block, tuple[int, ...]], Block] = {}
        self.compiled: dict[Any, Any] = {}
        self.reads: dict[Block, tuple[Block, ...]] = {}
        self._asked = {block: self._decides(block) for block in self._every()}

    @property
    def full(self) -> bool:
        """Whether too many blocks are remembered."""
        return len(self._mapped) > MOST

    def rows(self, settings: Settings) -> Rows:
        """Returns the rows by name under some settings; those that no other word moves are the same blocks."""
        said, done = said_by(self.settings, settings), dict[Block, Block]()
        return {name: self._of(block, said, done) for name, block in self.live.items()}

    def numbers(self) -> list[Block]:
        """Returns the settings as rows read them: numbers, and words by their place among those that there are."""
        found = (block for block in self._asked if block.name in self.settings and not block.definitions)
        return [*dict.fromkeys(block for block in found if self.live.get(block.name) is not block)]

    def _every(self) -> list[Block]:
        """Lists the rows and everything that they read."""
        blocks = dict.fromkeys(self.live.values())
        for block in (ahead := [*blocks]):
            new = [each for each in dict.fromkeys(read_by(block)) if each not in blocks]
            ahead += new
            blocks |= dict.fromkeys(new)
        return [*blocks]

    def _decides(self, block: Block) -> tuple[str, ...]:
        """Returns the settings whose words or limits decide what the equation of a row is."""
        reads = {each.name for each in read_by(block) if not each.definitions}
        return tuple(key for key, record in self.settings.items() if key in reads and (record.words or record.limit))

    def _of(self, live: Block, said: Said, done: dict[Block, Block]) -> Block:
        """Returns a row under settings; done: those that are known already."""
        if not live.definitions:
            return live
        waiting = [live]
        while waiting:
            block = waiting[-1]
            if block in done:
                waiting.pop()
                continue
            pruned = self._settled(block, said)
            reads = [each for each in self._made(pruned) if each is not block]
            if missing := [each for each in reads if each not in done]:
                waiting += missing
                continue
            done[block] = self._with(pruned, block, reads, [done[each] for each in reads])
            waiting.pop()
        return done[live]

    def _settled(self, block: Block, said: Said) -> Block:
        """Returns a row with the branches that words and limits take, which reads rows that are not settled yet."""
        words = tuple(said[key] for key in self._asked.get(block, ()))
        if not words:
            return block
        if (block, words) not in self._pruned:
            exprs = [settled(each.expr, said, self.settings) for each in block.definitions]
            self._pruned[block, words] = _copy(block, exprs)
        return self._pruned[block, words]

    def _made(self, block: Block) -> list[Block]:
        """Returns the blocks with an equation that a block reads, each once."""
        if block not in self.reads:
            self.reads[block] = tuple(dict.fromkeys(read_by(block)))
        return [each for each in self.reads[block] if each.definitions]

    def _with(self, pruned: Block, own: Block, reads: Sequence[Block], instead: Sequence[Block]) -> Block:
        """Returns a row that reads other blocks, and itself where it read itself."""
        if pruned is own and all(map(is_, reads, instead)):
            return own
        key = (pruned, tuple(map(id, instead)))
        if key not in self._mapped:
            made = self._mapped[key] = _copy(pruned, ())
            other = {**dict(zip(reads, instead, strict=True)), own: made}
            exprs = [_reading(each.expr, other) for each in pruned.definitions]
            made.definitions = [
                Definition(each.target, expr) for each, expr in zip(pruned.definitions, exprs, strict=True)
            ]
        return self._mapped[key]


def said_by(records: Mapping[str, Setting], settings: Settings) -> dict[str, str | bool]:
    """Returns what settings say that equations are made of: numbers are none of it, they are read."""
    found = dict[str, str | bool]()
    for key, record in records.items():
        if record.words:
            found[key] = str(settings[key])
        elif record.limit:
            found[key] = float(settings[key]) == OFF
    return found


def _copy(block: Block, exprs: Collection[Expr]) -> Block:
    made = Block(block.name, block.axes, block.about, link=block.link)
    made.edges, made.limit, made.text = set(block.edges), block.limit, block.text
    made.definitions = [Definition(of.target, expr) for of, expr in zip(block.definitions, exprs, strict=False)]
    return made


def settled(expr: Expr, said: Said, settings: Mapping[str, Setting]) -> Expr:
    """Returns an expression with the branches that are taken, whatever numbers there are."""
    match expr:
        case Op("choose", (Ref(block), *parts), labels) if block.name in said and not block.definitions:
            return settled(parts[labels.index(str(said[block.name]))], said, settings)
        case Op("where", (Op("equal", (Ref(block), Constant(at))), then, other)) if (
            block.name in said and not block.definitions and settings[block.name].words
        ):
            taken = then if settings[block.name].words[int(at)] == said[block.name] else other
            return settled(taken, said, settings)
        case Op("where", (Op("is_off", (Ref(block),)), then, other)) if block.name in said and not block.definitions:
            return settled(then if said[block.name] else other, said, settings)
    return rebuilt(expr, lambda inner: settled(inner, said, settings))


def _reading(expr: Expr, other: Mapping[Block, Block]) -> Expr:
    """Returns an expression that reads other blocks."""
    if isinstance(expr, Ref):
        at = tuple(Lookup(i.axis, _reading(i.id, other)) if isinstance(i, Lookup) else i for i in expr.at)
        return Ref(other.get(expr.block, expr.block), at)
    return rebuilt(expr, lambda inner: _reading(inner, other))


def code_of(block: Block, settings: Settings, records: Mapping[str, Setting]) -> float:
    """Returns a setting as rows read it: its number, or the place of its word."""
    words = records[block.name].words
    return float(words.index(str(settings[block.name]))) if words else float(settings[block.name])


def read_under(expr: Expr, settings: Settings) -> Iterator[Block]:
    """Yields the blocks that an equation reads; of a choice by a setting, the setting, and what its word in force says."""
    if (
        isinstance(expr, Op)
        and expr.name == "choose"
        and isinstance(by := expr.args[0], Ref)
        and by.block.name in settings
    ):
        yield by.block
        word = str(settings[by.block.name])
        chosen = [part for label, part in zip(expr.labels, expr.args[1:], strict=True) if label == word]
        for part in chosen or expr.args[1:]:
            yield from read_under(part, settings)
    elif isinstance(expr, Op):
        for part in expr.args:
            yield from read_under(part, settings)
    else:
        yield from (node.block for node in walk(expr) if isinstance(node, Ref))
