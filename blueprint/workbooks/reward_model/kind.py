"""The record of reward models."""

from pathlib import Path

from blueprint.workbooks.kind import Kind

HERE = Path(__file__).parent
KIND = Kind(
    "reward_model",
    "a reward model",
    {
        "rankings": "blueprint.workbooks.reward_model.workbook:RANKINGS",
        "scores": "blueprint.workbooks.reward_model.workbook:SCORES",
    },
    {
        "rankings": "blueprint.workbooks.reward_model.workbook:weights_level",
        "scores": "blueprint.workbooks.reward_model.workbook:scores_level",
    },
    presets="blueprint.workbooks.reward_model.schema:rm_presets",
    settings="blueprint.workbooks.reward_model.schema:REWARD_MODEL",
    rows="blueprint.workbooks.reward_model.own_data:tables_from",
    saved={"rankings": "ranked.word", "scores": "scored.word"},
    numbers=HERE / "numbers",
    dumps="blueprint.workbooks.reward_model.dumps:DUMPS",
    verifier="blueprint.workbooks.reward_model.verifying:VERIFIER",
    paper="blueprint.workbooks.reward_model.paper:PAGE",
    misconceptions="blueprint.workbooks.reward_model.misconceptions:MISCONCEPTIONS",
    notes=(HERE / "notes.toml",),
    models=HERE / "models.toml",
    one_page=HERE / "one_page.toml",
    gradient="blueprint.workbooks.reward_model.workbook:MOVED",
    derivation=(
        "reward_model.out",
        "score",
        "chosen.score",
        "rejected.score",
        "difference",
        "probability",
        "weight.pair",
        "loss.pair",
        "preference_loss",
        "rewards.margins",
        "argument.grad",
        "score.grad",
        "total_loss",
    ),
    topics={
        "margin": ("chosen.score", "rejected.score", "difference", "probability"),
        "loss": ("probability", "loss.pair", "preference_loss", "total_loss"),
    },
)
