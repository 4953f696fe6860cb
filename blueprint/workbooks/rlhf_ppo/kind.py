"""The record of RLHF PPO."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.workbooks.kind import Kind

if TYPE_CHECKING:
    from blueprint.page.outline import Blueprint
    from blueprint.workbooks.common.sheets.beside import Witnessed


def _build(numbers: Any, witnessed: Witnessed | None) -> Blueprint:
    # Each level is imported where it is needed: a build needs one of them, and all together take as long as its start.
    from blueprint.workbooks.rlhf_ppo.inputs.result import TokenNumbers, WeightNumbers

    if isinstance(numbers, WeightNumbers):
        from blueprint.workbooks.rlhf_ppo.weights_level import weights_level

        return weights_level(numbers, witnessed)
    if isinstance(numbers, TokenNumbers):
        from blueprint.workbooks.rlhf_ppo.token_level import token_level

        return token_level(numbers, witnessed)
    from blueprint.workbooks.rlhf_ppo.logits_level import logits_level

    return logits_level(numbers, witnessed)


HERE = Path(__file__).parent
KIND = Kind(
    "rlhf_ppo",
    "RLHF PPO",
    {
        "weights": "blueprint.workbooks.rlhf_ppo.inputs.files:WeightFile",
        "logits": "blueprint.workbooks.rlhf_ppo.inputs.files:LogitFile",
        "per-token": "blueprint.workbooks.rlhf_ppo.inputs.files:TokenFile",
    },
    _build,
    presets="blueprint.workbooks.common.conventions.data:rlhf",
    settings="blueprint.workbooks.common.conventions.data:LIVE",
    saved={
        "logits": ("end_word", "blueprint.workbooks.rlhf_ppo.saved:of_logits"),
        "weights": ("old.E", "blueprint.workbooks.rlhf_ppo.saved:of_weights"),
        "tokens": ("reward.score", "blueprint.workbooks.rlhf_ppo.saved:of_tokens"),
    },
    numbers=HERE / "numbers",
    notes=(HERE.parent / "common" / "notes",),
    models=HERE.parent / "common" / "guides" / "models.toml",
    measured="blueprint.workbooks.rlhf_ppo.measured:is_default",
    witness="blueprint.workbooks.rlhf_ppo.witness:WITNESS",
)
