"""The directions of RLHF PPO, the only module-level part of the notation; and blocks with one equation for all their cells."""

from blueprint.language import Axis, Block, Operand, join

n = Axis("n", "episode", start=1)
t = Axis("t", "decision", start=1)
v = Axis("v", "word id")
k = Axis("k", "embedding of the word", start=1)
j = Axis("j", "hidden state before the word", start=1)
one = Axis("bias", "bias", start=1, size=1)
i = join("i", "input", k, j, one)
case = Axis("c", "case", start=1)


def defined(made: Block, value: Operand) -> Block:
    """Defines a block in all its cells by one equation."""
    made[made.axes] = value
    return made
