"""The settings of classic PPO, under the names by which the shared definitions read them."""

from __future__ import annotations

from dataclasses import replace

from blueprint.workbooks.classic_ppo.axes import n, t
from blueprint.workbooks.common.conventions.data import LIVE
from blueprint.workbooks.common.definitions.choices import Choices, fixed
from blueprint.workbooks.common.definitions.value import L2
from blueprint.workbooks.common.labels import labels
from blueprint.workbooks.common.settings import Settings

SHARED = {"advantage.eps_form": "whiten_form", "value.combine": "value_combine", "value.factor": "value_factor"}
"""What a convention is called here that RLHF has, too."""

CALLED = {
    "value.square": "value.distance",
    "value.error_clipped": "value.clipped.error",
    "value.size_clipped": "value.clipped.size",
    "value.square_clipped": "value.clipped.distance",
    "value.word_loss": "value.step_loss",
}
"""What blocks are called here that have a name in RLHF."""


SHOWN = Choices({}, {}, n=n, t=t, labels=labels(own=__package__), called=CALLED)
"""Along what rows lie, and what they are called; nothing to be chosen."""


def use_of(chosen: Settings, norm: str = L2) -> Choices:
    """Returns the settings in use, along environments and steps; what RLHF alone can choose is fixed. norm: of the value loss."""
    made = fixed(chosen, LIVE)
    used = {**made.used, "loss.clip_range_high": chosen.used["clip_range"] + chosen.used["clip_more"]}
    used |= {name: chosen.used[own] for name, own in SHARED.items()}
    switch = {**made.switch, **{name: chosen.switch[own] for name, own in SHARED.items() if own in chosen.switch}}
    return replace(SHOWN, used=used, switch=switch, labels=labels(norm, __package__))
