"""RLHF PPO: from weights, from logits, or from log-probs on, to the loss; plain, or with every convention a switch.

A minibatch has no numbers file: its numbers come from a dump.
"""

from pathlib import Path

from blueprint.workbooks.kind import kind_in

HERE = Path(__file__).parent
COMMON = HERE.parent / "common"
CONVENTIONS = "blueprint.workbooks.common.conventions"
KIND = kind_in(
    __file__,
    "RLHF PPO",
    levels={"weights": "schema:WEIGHTS_LEVEL", "logits": "schema:LOGITS", "per-token": "schema:PER_TOKEN"},
    build={
        "weights": "workbook:weights_level",
        "logits": "workbook:logits_level",
        "per-token": "token_level:token_level",
        "minibatch": "minibatch.workbook:minibatch_level",
    },
    presets=f"{CONVENTIONS}:rlhf",
    settings=f"{CONVENTIONS}:LIVE",
    saved={
        "logits": ("end_word", "schema:of_logits"),
        "weights": ("old_critic.E", "schema:of_weights"),
        "tokens": ("reward.score", "schema:of_tokens"),
        "minibatch": ("episode.number", "minibatch.given:numbers_in"),
    },
    notes=(COMMON / "notes", HERE / "minibatch" / "notes.toml"),
    models=COMMON / "guides" / "models.toml",
    one_page=COMMON / "guides" / "one_page.toml",
    comparison="sheets:COMPARISON",
    gradient="gradients_and_epochs:with_gradients",
    whole=f"{CONVENTIONS}:RESPONSE",
    misconceptions="blueprint.workbooks.common.misconceptions:MISCONCEPTIONS",
)
