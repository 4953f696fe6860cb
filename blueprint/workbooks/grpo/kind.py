"""The record of GRPO and its family."""

from pathlib import Path

from blueprint.workbooks.kind import Kind

HERE = Path(__file__).parent
KIND = Kind(
    "grpo",
    "GRPO",
    {
        "prompts": "blueprint.workbooks.grpo.schema:PROMPTS",
        "responses": "blueprint.workbooks.grpo.schema:RESPONSES",
        "rollouts": "blueprint.workbooks.grpo.schema:ROLLOUTS",
    },
    {
        "responses": "blueprint.workbooks.grpo.levels:logits_level",
        "prompts": "blueprint.workbooks.grpo.levels:weights_level",
        "rollouts": "blueprint.workbooks.grpo.levels:rollouts_level",
    },
    presets="blueprint.workbooks.grpo.schema:grpo_presets",
    settings="blueprint.workbooks.grpo.schema:GRPO",
    saved={"prompts": "answer", "responses": "engine.logits", "rollouts": "greedy"},
    rows="blueprint.workbooks.grpo.own_data:tables_from",
    paper="blueprint.workbooks.grpo.paper:PAGE",
    misconceptions="blueprint.workbooks.grpo.misconceptions:MISCONCEPTIONS",
    numbers=HERE / "numbers",
    dumps="blueprint.workbooks.grpo.dumps:DUMPS",
    verifier="blueprint.workbooks.grpo.verifying:VERIFIER",
    notes=(HERE / "notes.toml",),
    models=HERE / "models.toml",
    one_page=HERE / "one_page.toml",
    comparison="blueprint.workbooks.grpo.comparison:COMPARISON",
    gradient="blueprint.workbooks.grpo.workbook:with_gradients",
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
