"""Dumps of training steps of RLHF: what is no dump of another kind is taken for one."""

from blueprint.dumps import PPO_NAMES, DumpKind, minibatch_from
from blueprint.workbooks.common.conventions import rlhf

DUMPS = DumpKind("a step of RLHF", rlhf, minibatch_from, names=PPO_NAMES)
