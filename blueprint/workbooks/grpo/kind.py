"""The record of GRPO and its family."""

from pathlib import Path

from blueprint.workbooks.kind import Kind

HERE = Path(__file__).parent
KIND = Kind(
    "grpo",
    "GRPO",
    {
        "prompts": "blueprint.workbooks.grpo.prompts:LEVEL",
        "responses": "blueprint.workbooks.grpo.schema:LEVEL",
        "rollouts": "blueprint.workbooks.grpo.rollouts:LEVEL",
    },
    {
        "responses": "blueprint.workbooks.grpo.logits_level:logits_level",
        "prompts": "blueprint.workbooks.grpo.weights_level:weights_level",
        "rollouts": "blueprint.workbooks.grpo.rollouts_level:rollouts_level",
    },
    presets="blueprint.workbooks.grpo.schema:grpo_presets",
    settings="blueprint.workbooks.grpo.schema:GRPO",
    saved={
        "prompts": ("answer", "blueprint.workbooks.grpo.prompts:numbers_in"),
        "responses": ("engine.logits", "blueprint.workbooks.grpo.schema:numbers_in"),
        "rollouts": ("greedy", "blueprint.workbooks.grpo.rollouts:numbers_in"),
    },
    rows="blueprint.workbooks.grpo.own_data:tables_from",
    paper="blueprint.workbooks.grpo.paper:PAGE",
    misconceptions="blueprint.workbooks.grpo.misconceptions:MISCONCEPTIONS",
    numbers=HERE / "numbers",
    dumps="blueprint.workbooks.grpo.dumps.read:DUMPS",
    verifier="blueprint.workbooks.grpo.verifying:VERIFIER",
    notes=(HERE / "notes.toml",),
    models=HERE / "models.toml",
    one_page=HERE / "one_page.toml",
    comparison="blueprint.workbooks.grpo.comparison:COMPARISON",
    gradient="blueprint.workbooks.grpo.backward:with_gradients",
    whole={"mask": (1, "1 for a token of the response or 0 for any other")},
    derivation=(
        "kl_new.k3",
        "kl_loss",
        "group.reward",
        "group.mean",
        "group.deviation",
        "group.advantage",
        "log_ratio",
        "ratio",
        "ratio.clipped",
        "surrogate.unclipped",
        "surrogate",
        "policy.token_loss",
        "policy_loss",
    ),
    topics={
        "group": ("group.reward", "group.mean", "group.deviation", "group.advantage"),
        "clip": ("log_ratio", "ratio", "ratio.clipped", "surrogate.unclipped", "surrogate", "policy_loss"),
        "kl": ("kl_new.k1", "kl_new.k3", "kl_loss"),
    },
)
