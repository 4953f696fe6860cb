"""The gradient of the loss, to the scores of the actions and the values, with which the numbers begin."""

from blueprint.workbooks.classic_ppo.rollout import CALLED
from blueprint.workbooks.common import Backward

MOVED = Backward(
    policy=(("policy.logits",),),
    critic=(("values.new",),),
    called={**CALLED, "policy.written": "actions", "critic.values": "values.new"},
)
