"""The record of the adaptive KL controller."""

from pathlib import Path

from blueprint.workbooks.kind import Kind

KIND = Kind(
    "kl_controller",
    "the adaptive KL controller",
    {"controller": "blueprint.workbooks.kl_controller.build:LEVEL"},
    "blueprint.workbooks.kl_controller.build:kl_controller",
    settings="blueprint.workbooks.kl_controller.build:CONTROLLER",
    numbers=Path(__file__).parent / "numbers",
    one_page=Path(__file__).parent / "one_page.toml",
    saved={"controller": "responses.kl"},
    paper="blueprint.workbooks.kl_controller.paper:PAGE",
    misconceptions="blueprint.workbooks.kl_controller.build:MISCONCEPTIONS",
    derivation=(
        "kl.seq_sum",
        "kl.token_mean",
        "kl.fed",
        "error.raw",
        "error",
        "factor",
        "kl_coef.after",
        "final_kl_coef",
    ),
)
