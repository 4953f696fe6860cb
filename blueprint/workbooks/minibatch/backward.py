"""The gradient of the loss, to the log-probs, the entropy and the values that a dump gives of the words shown."""

from blueprint.workbooks.common import Backward

MOVED = Backward(policy=(("policy.logprobs", "policy.entropy"),), critic=(("critic.values",),))
