"""The record of RLHF PPO; no numbers file holds a minibatch, whose numbers are those of a dump."""

from pathlib import Path

from blueprint.workbooks.kind import kind_in

HERE = Path(__file__).parent
COMMON = HERE.parent / "common"
CONVENTIONS = "blueprint.workbooks.common.conventions"
KIND = kind_in(
    __file__,
    "RLHF PPO",
    levels={"weights": "levels:WEIGHTS_LEVEL", "logits": "levels:LOGITS", "per-token": "levels:PER_TOKEN"},
    build={
        "weights": "build:weights_level",
        "logits": "build:logits_level",
        "per-token": "token_level:token_level",
        "minibatch": "minibatch.build:minibatch_level",
    },
    presets=f"{CONVENTIONS}:rlhf",
    settings=f"{CONVENTIONS}:LIVE",
    saved={
        "logits": ("end_word", "levels:of_logits"),
        "weights": ("old_critic.E", "levels:of_weights"),
        "tokens": ("reward.score", "levels:of_tokens"),
        "minibatch": ("episode.number", "minibatch.given:numbers_in"),
    },
    notes=(COMMON / "notes", HERE / "minibatch" / "notes.toml"),
    models=COMMON / "guides" / "models.toml",
    one_page=COMMON / "guides" / "one_page.toml",
    comparison="sheets:COMPARISON",
    gradient="epochs:with_gradients",
    whole=f"{CONVENTIONS}:RESPONSE",
    misconceptions="blueprint.workbooks.common.misconceptions:MISCONCEPTIONS",
)
