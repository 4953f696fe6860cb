"""The record of REINFORCE."""

from pathlib import Path

from blueprint.workbooks.kind import Kind

HERE = Path(__file__).parent
KIND = Kind(
    "reinforce",
    "REINFORCE",
    {"bandit": "blueprint.workbooks.reinforce.build:LEVEL"},
    "blueprint.workbooks.reinforce.build:reinforce",
    settings="blueprint.workbooks.reinforce.build:REINFORCE",
    numbers=HERE / "numbers",
    saved={"bandit": "draws.uniform"},
    notes=(HERE / "notes.toml",),
    one_page=HERE / "one_page.toml",
    paper="blueprint.workbooks.reinforce.paper:PAGE",
    misconceptions="blueprint.workbooks.reinforce.definitions:MISCONCEPTIONS",
    derivation=(
        "policy.p",
        "slope",
        "slope.square",
        "expected_reward",
        "gradient",
        "gradient.square",
        "advantage",
        "gradient.with",
        "variance.without",
        "baseline.optimal",
        "variance.with",
        "variance.share",
    ),
)
