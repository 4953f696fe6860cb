"""The record of classic PPO."""

from pathlib import Path

from blueprint.workbooks.kind import Kind

HERE = Path(__file__).parent
KIND = Kind(
    "classic_ppo",
    "classic PPO",
    {"classic": "blueprint.workbooks.classic_ppo.rollout:LEVEL"},
    "blueprint.workbooks.classic_ppo.build:classic_ppo",
    presets="blueprint.workbooks.classic_ppo.rollout:classic_presets",
    settings="blueprint.workbooks.classic_ppo.rollout:CLASSIC",
    saved={"classic": ("terminated", "blueprint.workbooks.classic_ppo.rollout:numbers_in")},
    numbers=HERE / "numbers",
    notes=(HERE / "notes.toml",),
    models=HERE / "models.toml",
    one_page=HERE / "one_page.toml",
    dumps="blueprint.workbooks.classic_ppo.dumps:DUMPS",
    verifier="blueprint.workbooks.classic_ppo.verifying:VERIFIER",
    paper="blueprint.workbooks.classic_ppo.paper:PAGE",
    gradient="blueprint.workbooks.classic_ppo.build:MOVED",
    whole={"actions": ("old.logits", "a whole number from 0 to {last}, as there are {count} actions")},
    misconceptions="blueprint.workbooks.common.misconceptions:MISCONCEPTIONS",
    derivation=(
        "td_errors",
        "advantages",
        "returns",
        "advantages_used",
        "ratio",
        "ratio.clipped",
        "surrogate",
        "policy_loss",
        "value.step_loss",
        "value_loss",
        "entropy",
        "total_loss",
    ),
    topics={
        "gae": ("td_errors", "advantages", "returns"),
        "clip": ("ratio", "ratio.clipped", "surrogate", "policy_loss"),
        "value": ("value.step_loss", "value_loss"),
    },
)
