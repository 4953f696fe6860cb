"""What is in use: a blueprint in which of every choice that a setting decides only the alternative taken is left.

A worksheet asks for the steps of one method. The rows of all others would be other ways to its numbers (of one pair sorted
rewards are the rewards), and none of them could be left out as long as a choice reads them.
"""

from collections.abc import Mapping

from blueprint.language import Block, Constant, Expr, Op, Ref, Values, again, rebuilt, walk
from blueprint.page.outline import Blueprint, with_copies

USED = "in use"
"""The fact under which a file says which alternatives it has."""
Taken = Mapping[str, int]
"""By the name of a number that decides a choice which alternative it takes, counted from 0."""


def taken(blueprint: Blueprint, values: Values) -> dict[str, int]:
    """Returns which alternative each choice takes that a setting decides."""
    return {block.name: int(values.cell(block)) for block in _deciding(blueprint)}


def in_use(blueprint: Blueprint, taken: Taken) -> Blueprint:
    """Returns the blueprint, its computed blocks copied, with the alternatives that are taken in place of the choices."""
    if not taken:
        return blueprint
    equations = {
        definition: _taken(definition.expr, taken) for block in blueprint.blocks() for definition in block.definitions
    }
    copies = again([block for block in blueprint.blocks() if not block.typed], {}, equations=equations)
    return with_copies(blueprint, copies)


def written(taken: Taken) -> str:
    """Writes down which alternatives are taken, in the order of `taken`, as a file says it of itself in few letters."""
    return " ".join(map(str, taken.values()))


def read(text: str, blueprint: Blueprint) -> dict[str, int]:
    """Reads what was written down; nothing where it is of another number of choices, as of another version."""
    numbers, deciding = text.split(), _deciding(blueprint)
    if len(numbers) != len(deciding) or not all(map(str.isdecimal, numbers)):
        return {}
    return {block.name: int(number) for block, number in zip(deciding, numbers, strict=True)}


def _deciding(blueprint: Blueprint) -> list[Block]:
    """Lists the numbers that decide choices, by name: single numbers, each computed from a setting."""
    found: set[Block] = set()
    for definition in (each for block in blueprint.blocks() for each in block.definitions):
        for node in walk(definition.expr):
            match node:
                case Op("choose", (Ref(number, ()), *_)):
                    found.add(number)
    return sorted(found, key=lambda block: block.name)


def _taken(expr: Expr, taken: Taken) -> Expr:
    match expr:
        case Op("choose", (Ref(number, ()), *rows)) if number.name in taken and taken[number.name] < len(rows):
            return _taken(rows[taken[number.name]], taken)
        case Op("where", (Op("equal", (Ref(number, ()), Constant(value))), then, otherwise)) if number.name in taken:
            return _taken(then if taken[number.name] == value else otherwise, taken)
    return rebuilt(expr, lambda inner: _taken(inner, taken))
