"""The directions of classic PPO. They are not those of RLHF: a row of steps is an environment, and may hold several episodes."""

from blueprint.language import Axis

n = Axis("n", "environment", start=1)
t = Axis("t", "step", start=1)
a = Axis("a", "action")
