"""The record of supervised fine-tuning."""

from pathlib import Path

from blueprint.workbooks.kind import Kind

HERE = Path(__file__).parent
KIND = Kind(
    "sft",
    "SFT",
    {
        "demonstrations": "blueprint.workbooks.sft.schema:DEMONSTRATIONS",
        "labelled": "blueprint.workbooks.sft.schema:LABELLED",
    },
    {
        "demonstrations": "blueprint.workbooks.sft.workbook:demonstrations_level",
        "labelled": "blueprint.workbooks.sft.workbook:labelled_level",
    },
    presets="blueprint.workbooks.sft.schema:sft_presets",
    settings="blueprint.workbooks.sft.schema:SFT",
    saved={"demonstrations": "demonstrations.number", "labelled": "labelled.number"},
    rows="blueprint.workbooks.sft.own_data:tables_from",
    numbers=HERE / "numbers",
    notes=(HERE / "notes.toml",),
    models=HERE / "models.toml",
    one_page=HERE / "one_page.toml",
    paper="blueprint.workbooks.sft.paper:PAGE",
    gradient="blueprint.workbooks.sft.workbook:MOVED",
    misconceptions="blueprint.workbooks.sft.misconceptions:MISCONCEPTIONS",
    whole={"mask": (1, "1 for a token of the response or 0 for any other")},
    derivation=(
        "policy.logits",
        "policy.p",
        "policy.logprobs",
        "policy.entropy",
        "watch.logp",
        "loss.of_token",
        "loss.of_text",
        "total_loss",
        "policy.logits.grad",
        "policy.Y.grad",
        "update1.norm",
        "update1.policy.Y",
    ),
    topics={
        "loss": ("policy.p", "policy.logprobs", "loss.of_token", "loss.of_text", "total_loss"),
        "gradient": ("policy.logits.grad", "policy.Y.grad", "update1.norm", "update1.policy.Y"),
    },
)
