"""The settings of classic PPO, under the names by which the shared definitions read them."""

from __future__ import annotations

from dataclasses import replace

from blueprint.workbooks.classic_ppo.axes import n, t
from blueprint.workbooks.common.conventions.data import LIVE
from blueprint.workbooks.common.definitions.choices import Choices, fixed
from blueprint.workbooks.common.labels import labels
from blueprint.workbooks.common.settings import Settings

SHARED = {"advantage.eps_form": "whiten_form"}
"""What a convention is called here that RLHF has, too."""


SHOWN = Choices({}, {}, n=n, t=t, labels=labels(own=__package__))
"""Along what rows lie, and what they are called; nothing to be chosen."""


def use_of(chosen: Settings) -> Choices:
    """Returns the settings in use, along environments and steps; what RLHF alone can choose is fixed."""
    made = fixed(chosen, LIVE)
    used = {**made.used, "loss.clip_range_high": chosen.used["clip_range"] + chosen.used["clip_more"]}
    switch = {**made.switch, **{name: chosen.switch[own] for name, own in SHARED.items()}}
    return replace(SHOWN, used=used, switch=switch)
