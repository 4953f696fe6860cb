"""The record of a real minibatch."""

from pathlib import Path

from blueprint.workbooks.kind import Kind

HERE = Path(__file__).parent
KIND = Kind(
    "minibatch",
    "a real minibatch",
    {},
    "blueprint.workbooks.minibatch.level:minibatch_level",
    saved={"minibatch": ("episode.number", "blueprint.workbooks.minibatch.given:numbers_in")},
    settings="blueprint.workbooks.common.conventions:LIVE",
    notes=(HERE.parent / "common" / "notes", HERE / "notes.toml"),
    models=HERE.parent / "common" / "guides" / "models.toml",
    one_page=HERE.parent / "common" / "guides" / "one_page.toml",
    dumps="blueprint.workbooks.minibatch.dumps:DUMPS",
    verifier="blueprint.workbooks.minibatch.verifying:VERIFIER",
    paper="blueprint.workbooks.minibatch.paper:PAGE",
    whole="blueprint.workbooks.common.conventions:RESPONSE",
    gradient="blueprint.workbooks.minibatch.level:MOVED",
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
)
