"""Where the RL objective, the DPO loss and the optimal policy meet, over all responses of a language small enough to enumerate."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "the optimum of PPO and DPO", "enumerated", "way.step")
