"""The record of RLHF PPO."""

from pathlib import Path

from blueprint.workbooks.kind import Kind

HERE = Path(__file__).parent
KIND = Kind(
    "rlhf_ppo",
    "RLHF PPO",
    {
        "weights": "blueprint.workbooks.rlhf_ppo.levels:WEIGHTS_LEVEL",
        "logits": "blueprint.workbooks.rlhf_ppo.levels:LOGITS",
        "per-token": "blueprint.workbooks.rlhf_ppo.levels:PER_TOKEN",
    },
    {
        "weights": "blueprint.workbooks.rlhf_ppo.build:weights_level",
        "logits": "blueprint.workbooks.rlhf_ppo.build:logits_level",
        "per-token": "blueprint.workbooks.rlhf_ppo.token_level:token_level",
        "minibatch": "blueprint.workbooks.rlhf_ppo.minibatch.build:minibatch_level",
    },
    presets="blueprint.workbooks.common.conventions:rlhf",
    settings="blueprint.workbooks.common.conventions:LIVE",
    saved={
        "logits": ("end_word", "blueprint.workbooks.rlhf_ppo.saved:of_logits"),
        "weights": ("old_critic.E", "blueprint.workbooks.rlhf_ppo.saved:of_weights"),
        "tokens": ("reward.score", "blueprint.workbooks.rlhf_ppo.saved:of_tokens"),
        "minibatch": ("episode.number", "blueprint.workbooks.rlhf_ppo.minibatch.given:numbers_in"),
    },
    numbers=HERE / "numbers",
    notes=(HERE.parent / "common" / "notes", HERE / "minibatch" / "notes.toml"),
    models=HERE.parent / "common" / "guides" / "models.toml",
    one_page=HERE.parent / "common" / "guides" / "one_page.toml",
    dumps="blueprint.workbooks.rlhf_ppo.dumps:DUMPS",
    verifier="blueprint.workbooks.rlhf_ppo.verifying:VERIFIER",
    paper="blueprint.workbooks.rlhf_ppo.paper:PAGE",
    comparison="blueprint.workbooks.rlhf_ppo.libraries:COMPARISON",
    gradient="blueprint.workbooks.rlhf_ppo.epochs:with_gradients",
    whole="blueprint.workbooks.common.conventions:RESPONSE",
    misconceptions="blueprint.workbooks.common.misconceptions:MISCONCEPTIONS",
    derivation=(
        "kl.used",
        "rewards",
        "td_errors",
        "advantages",
        "returns",
        "ratio",
        "ratio.clipped",
        "surrogate",
        "policy_loss",
        "value_loss",
        "entropy",
        "total_loss",
    ),
    topics={
        "kl": ("kl.k1", "kl.used", "reward.penalty", "rewards"),
        "gae": ("td_errors", "advantages", "returns"),
        "whitening": ("advantage.mean", "advantage.centred", "advantage.variance", "advantage.whitened"),
        "clip": ("ratio", "ratio.clipped", "surrogate.unclipped", "surrogate.clipped", "surrogate", "policy_loss"),
        "value": ("value.error", "value.clipped", "value.square", "value.word_loss", "value_loss"),
    },
)
