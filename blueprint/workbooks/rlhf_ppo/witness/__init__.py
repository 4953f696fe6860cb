"""RLHF PPO in torch, from what is typed: weights and draws, or logits and values, or log-probs and rewards.

Every slot of a response has its log-prob and its value, padding included; what counts as response is a convention. A plain
workbook is one of the default options that has no slots but the words.
"""

from blueprint.witness import TABLE, File, KindWitness, held, shapes
from blueprint.workbooks.rlhf_ppo.witness.compute import compute

MODELS = ("old.E", "old.W", "old_critic.E", "old_critic.W")
LIVE = ("old.logits", "vocabulary", TABLE, "library.names")


def group_key(file: File) -> object:
    """Returns what files must share: settings at hand, gradients and steps that they show, and sizes of the models.

    With live conventions that is the shape of all.
    """
    back = frozenset(name for name in file if ".grad" in name or name.startswith("update"))
    return back, _sizes(file)


def _sizes(file: File) -> object:
    if TABLE in file:
        names = ("rollout.draw" if "old.W" in file else "mask", *(LIVE[1:] if "old.W" in file else LIVE))
        return held(file), shapes(file, *MODELS), shapes(file, *names)
    return held(file), shapes(file, *MODELS, "case.ratio")


WITNESS = KindWitness(
    ("old_critic.W", "reward_model.score", "reward.score"), ("rollout.draw", "mask"), compute, group_key
)
