"""The record of DPO and its relatives."""

from pathlib import Path

from blueprint.workbooks.kind import Kind

HERE = Path(__file__).parent
KIND = Kind(
    "dpo",
    "DPO",
    {
        "choices": "blueprint.workbooks.dpo.schema:CHOICES",
        "preferences": "blueprint.workbooks.dpo.schema:PREFERENCES",
        "pair-logprobs": "blueprint.workbooks.dpo.schema:PAIR_LOGPROBS",
    },
    {
        "choices": "blueprint.workbooks.dpo.levels:weights_level",
        "preferences": "blueprint.workbooks.dpo.levels:logits_level",
        "pair-logprobs": "blueprint.workbooks.dpo.levels:logprobs_level",
    },
    presets="blueprint.workbooks.dpo.schema:dpo_presets",
    settings="blueprint.workbooks.dpo.schema:DPO",
    saved={
        "choices": "mismatched.response",
        "preferences": "mismatched.policy.logits",
        "pair-logprobs": "mismatched.ratio",
    },
    rows="blueprint.workbooks.dpo.own_data:tables_from",
    numbers=HERE / "numbers",
    paper="blueprint.workbooks.dpo.paper:PAGE",
    misconceptions="blueprint.workbooks.dpo.misconceptions:MISCONCEPTIONS",
    notes=(HERE / "notes.toml",),
    dumps="blueprint.workbooks.dpo.dumps:DUMPS",
    verifier="blueprint.workbooks.dpo.verifying:VERIFIER",
    models=HERE / "models.toml",
    one_page=HERE / "one_page.toml",
    comparison="blueprint.workbooks.dpo.comparison:COMPARISON",
    gradient="blueprint.workbooks.dpo.workbook:with_gradients",
    whole={"mask": (1, "1 for a token of the response or 0 for any other")},
    derivation=(
        "policy.logprobs",
        "policy.logp",
        "reference.logp",
        "chosen.ratio",
        "rejected.ratio",
        "margin",
        "margin.argument",
        "chosen.reward",
        "rejected.reward",
        "loss.pair",
        "preference_loss",
        "epoch2.policy.logp",
        "epoch2.chosen.ratio",
        "epoch2.rejected.ratio",
        "epoch2.margin",
        "epoch2.chosen.reward",
        "epoch2.loss.pair",
        "epoch2.preference_loss",
    ),
    topics={
        "margin": ("policy.logp", "reference.logp", "chosen.ratio", "rejected.ratio", "margin"),
        "loss": ("margin.argument", "loss.pair", "preference_loss"),
        "reward": ("chosen.reward", "rejected.reward"),
    },
)
