"""The record of the optimum that PPO and DPO share."""

from pathlib import Path

from blueprint.workbooks.kind import Kind

HERE = Path(__file__).parent
KIND = Kind(
    "optimum",
    "the optimum of PPO and DPO",
    {"enumerated": "blueprint.workbooks.optimum.build:LEVEL"},
    "blueprint.workbooks.optimum.build:optimum_of",
    settings="blueprint.workbooks.optimum.build:OPTIMUM",
    numbers=HERE / "numbers",
    saved={"enumerated": "way.step"},
    notes=(HERE / "notes.toml",),
    one_page=HERE / "one_page.toml",
    paper="blueprint.workbooks.optimum.paper:PAGE",
    misconceptions="blueprint.workbooks.optimum.definitions:MISCONCEPTIONS",
    derivation=(
        "reference.logp",
        "response.p",
        "optimum.logsumexp",
        "optimum.p",
        "policy.p",
        "policy.log_ratio",
        "kl.reference",
        "objective",
        "objective.best",
        "implicit.reward",
        "prefers.p",
        "pair.margin",
        "pair.loss",
        "dpo_loss",
    ),
)
