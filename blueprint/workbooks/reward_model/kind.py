"""The record of reward models."""

from pathlib import Path

from blueprint.workbooks.kind import Kind

HERE = Path(__file__).parent
KIND = Kind(
    "reward_model",
    "a reward model",
    {"scores": "blueprint.workbooks.reward_model.scores_level:LEVEL"},
    {"scores": "blueprint.workbooks.reward_model.scores_level:scores_level"},
    presets="blueprint.workbooks.reward_model.schema:rm_presets",
    settings="blueprint.workbooks.reward_model.schema:REWARD_MODEL",
    saved={"scores": ("head.score", "blueprint.workbooks.reward_model.scores_level:numbers_in")},
    rows="blueprint.workbooks.reward_model.own_data:tables_from",
    numbers=HERE / "numbers",
    dumps="blueprint.workbooks.reward_model.dumps.read:DUMPS",
    verifier="blueprint.workbooks.reward_model.verifying:VERIFIER",
    models=HERE / "models.toml",
    gradient="blueprint.workbooks.reward_model.backward:MOVED",
)
