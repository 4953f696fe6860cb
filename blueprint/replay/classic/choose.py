"""The settings to hold a rollout against: a preset, what the file says over it, and what the user says over both."""

from __future__ import annotations

from collections.abc import Sequence

from blueprint.minibatch.classic import Rollout
from blueprint.numbers import classic_presets
from blueprint.replay.choose import Chosen, chosen_of


def choose(rollout: Rollout, preset: str | None = None, overrides: Sequence[str] = ()) -> Chosen:
    """Chooses the preset that is named, else that of the file's library; overrides such as `ppo.gamma=0.98` go over it.

    Raises MinibatchError for an unknown preset, a file that does not say its library, or an override that is none.
    """
    return chosen_of(classic_presets(), rollout, preset, overrides)
