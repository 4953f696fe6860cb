"""Formulas that are the same but for a setting: where the formula of a row is asked for, such a row shows how to write it."""

from blueprint.language import Block, Constant, Expr, Op, Reduce, Ref, walk

STEPS = 2
"""How many operations a formula has at least that can be told from others."""


def same_formula(asked: Block, other: Block) -> bool:
    """Tells whether a block has the formula of another one, on the same rows, with other settings at most."""
    definitions = list(zip(asked.definitions, other.definitions, strict=False))
    return (
        asked is not other
        and len(asked.definitions) == len(other.definitions)
        and all(
            tuple(map(str, own.target)) == tuple(map(str, its.target)) and _same(own.expr, its.expr, asked, other)
            for own, its in definitions
        )
        and any(sum(isinstance(node, Op) for node in walk(own.expr)) >= STEPS for own, _ in definitions)
    )


def _same(own: Expr, its: Expr, asked: Block, other: Block) -> bool:
    match own, its:
        case Ref(block, at), Ref(read, where):
            alike = _origin(block) is _origin(read) or (block is asked and read is other)
            return tuple(map(str, at)) == tuple(map(str, where)) and (alike or not (block.axes or read.axes))
        case Op(name, args), Op(called, others):
            pairs = zip(args, others, strict=False)
            return name == called and len(args) == len(others) and all(_same(a, b, asked, other) for a, b in pairs)
        case Reduce(name, axes, body), Reduce(called, along, inner):
            return name == called and axes == along and _same(body, inner, asked, other)
        case Constant(value), Constant(number):
            return value == number
    return False


def _origin(block: Block) -> Block:
    """Returns the block that a link repeats, link after link; any other block itself."""
    while block.link:
        block = next(node.block for node in walk(block.definitions[-1].expr) if isinstance(node, Ref))
    return block
