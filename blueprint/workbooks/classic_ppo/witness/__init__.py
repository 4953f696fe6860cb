"""Classic PPO: environments run step by step, rewards are given, and an episode may end at any step of a row.

Written from the papers and from what the libraries do: CleanRL ppo.py, Stable-Baselines3 (common/buffers.py, ppo/ppo.py),
TorchRL (objectives/ppo.py, value/functional.py), rlax (multistep.py).
"""

from blueprint.witness import KindWitness
from blueprint.witness.settings import File, block, held
from blueprint.witness.witness import shapes
from blueprint.workbooks.classic_ppo.witness.compute import compute


def group_key(file: File) -> object:
    """Returns what files must share: their settings, all shapes, and the norm whose rows they were built with."""
    same = shapes(file, "actions", "old.logits", "policy.logits", "presets.names")
    return held(file), same, str(block(file, "value_norm.built"))


WITNESS = KindWitness(("values.old",), ("actions",), compute, group_key)
