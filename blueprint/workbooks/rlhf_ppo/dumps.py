"""Dumps of training steps of RLHF: a dump that belongs to no other kind is read as one of these."""

from blueprint.dumps import PPO_NAMES, DumpKind, minibatch_from
from blueprint.workbooks.common.conventions import rlhf

DUMPS = DumpKind("a step of RLHF", rlhf, minibatch_from, names=PPO_NAMES, algorithms=("ppo", "gae"))
