"""The settings of classic PPO, under the names by which the shared definitions read them."""

from __future__ import annotations

from blueprint.workbooks.classic_ppo.axes import n, t
from blueprint.workbooks.common.definitions.choices import Choices
from blueprint.workbooks.common.labels import labels
from blueprint.workbooks.common.settings import Settings

SHARED = {"advantage.eps_form": "whiten_form"}
"""What a convention is called here that RLHF has, too."""


def use_of(chosen: Settings) -> Choices:
    """Returns the settings in use, along environments and steps."""
    switch = {**chosen.switch, **{name: chosen.switch[own] for name, own in SHARED.items()}}
    return Choices(chosen.used, switch, n=n, t=t, labels=labels(own=__package__))
