"""Classic PPO: several environments run step by step, rewards are given, and episodes may end anywhere."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "classic PPO",
    levels={"classic": "rollout:LEVEL"},
    build="workbook:classic_ppo",
    presets="rollout:classic_presets",
    settings="rollout:CLASSIC",
    saved={"classic": ("terminated", "rollout:numbers_in")},
    gradient="workbook:MOVED",
    whole={"actions": ("old.logits", "a whole number from 0 to {last}, as there are {count} actions")},
    misconceptions="blueprint.workbooks.common.misconceptions:MISCONCEPTIONS",
)
