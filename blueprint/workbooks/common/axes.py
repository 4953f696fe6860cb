"""The directions of RLHF PPO. They are the only module-level part of the notation; everything else is a function."""

from blueprint.language import Axis, join

n = Axis("n", "episode", start=1)
t = Axis("t", "decision", start=1)
v = Axis("v", "word id")
k = Axis("k", "embedding of the word", start=1)
j = Axis("j", "hidden state before the word", start=1)
one = Axis("bias", "bias", start=1, size=1)
i = join("i", "input", k, j, one)
case = Axis("c", "case", start=1)
