"""The settings to hold a rollout against: a preset, what the file says over it, and what the user says over both."""

from __future__ import annotations

from collections.abc import Sequence

from blueprint.dumps.classic import Rollout
from blueprint.verifying.choose import Chosen, chosen_of
from blueprint.workbooks.classic_ppo.presets import classic_presets


def choose(rollout: Rollout, preset: str | None = None, overrides: Sequence[str] = ()) -> Chosen:
    """Chooses the preset that is named, else that of the file's library; overrides such as `ppo.gamma=0.98` go over it.

    Raises MinibatchError for an unknown preset, a file that does not say its library, or an override that is none.
    """
    return chosen_of(classic_presets(), rollout, preset, overrides)
