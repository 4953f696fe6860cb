"""`blueprint verify` of a rollout of classic PPO: it has one verified, and prints. No maths."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, NoReturn

from blueprint.commands.console import say
from blueprint.commands.refusals import Refused

if TYPE_CHECKING:
    from blueprint.dumps.classic import Rollout
    from blueprint.verifying import Chosen
    from blueprint.verifying.classic import Verdict

DIFFERENCE = 1


def verify_rollout(
    rollout: Rollout, preset: str | None, overrides: tuple[str, ...], tolerance: float, device: str, as_json: bool
) -> NoReturn:
    """Verifies a rollout, prints what it comes to, and ends with the exit code that says it."""
    if device != "cpu":
        raise Refused(
            f"--device {device}: a rollout of classic PPO is computed on the processor, in float64; leave it out"
        )
    chosen, verdict = verified(rollout, preset, overrides, tolerance)
    say(_json(chosen, verdict) if as_json else told(chosen, verdict))
    sys.exit(0 if verdict.agrees else DIFFERENCE)


def verified(
    rollout: Rollout, preset: str | None, overrides: tuple[str, ...], tolerance: float = 1.0
) -> tuple[Chosen, Verdict]:
    """Chooses the settings and verifies a rollout; refuses a preset or an override that is none."""
    from blueprint.dumps import MinibatchError
    from blueprint.verifying.classic import choose, verify

    try:
        chosen = choose(rollout, preset, overrides)
    except MinibatchError as error:
        raise Refused(str(error)) from error
    return chosen, verify(rollout, chosen.values, chosen.preset.name, tolerance)


def told(chosen: Chosen, verdict: Verdict) -> str:
    """Prints the preset and the verdict."""
    from blueprint.verifying.classic import text_of

    return f"{chosen}\n\n{text_of(verdict)}"


def _json(chosen: Chosen, verdict: Verdict) -> str:
    from blueprint.verifying.classic import data_of

    said = {"why": chosen.why, "differs_from_preset": list(chosen.differs)}
    return json.dumps(data_of(verdict) | said, ensure_ascii=False, indent=1, allow_nan=False)
