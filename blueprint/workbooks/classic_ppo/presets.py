"""Hold the settings of classic PPO as data, and read what four libraries do with them."""

from functools import cache
from pathlib import Path
from types import MappingProxyType

from blueprint.inputs.catalogue import Catalogue, catalogue
from blueprint.inputs.setting import OFF, Setting

# A coefficient may be any size that still leaves the other terms of the loss visible.
_LARGEST_COEFFICIENT = 100.0

# The default is CleanRL's ppo.py.
CLASSIC = MappingProxyType(
    {
        "gamma": Setting(0.99),
        "gae_lambda": Setting(0.95),
        "clip_range": Setting(0.2),
        "clip_more": Setting(0.0, high=_LARGEST_COEFFICIENT),
        "value_clip_range": Setting(0.2, high=OFF),
        "value_factor": Setting(0.5, high=_LARGEST_COEFFICIENT),
        "vf_coef": Setting(0.5, high=_LARGEST_COEFFICIENT),
        "ent_coef": Setting(0.01, high=_LARGEST_COEFFICIENT),
        # Not 0: where all advantages agree σ is 0, and 0/0 would stand in every cell.
        "whiten_eps": Setting(1e-8, low=1e-12),
        "bootstrap": Setting("done", words=("done", "terminated")),
        "whiten_advantages": Setting("on", words=("on", "off")),
        "whiten_form": Setting("std_plus", words=("std_plus", "std_max")),
        "value_combine": Setting("max", words=("max", "clipped_only")),
        "value_norm": Setting("l2", words=("l2", "smooth_l1")),
    }
)


@cache
def classic_presets() -> Catalogue:
    """Read the presets of classic PPO: the default, CleanRL, Stable-Baselines3, TorchRL and rlax."""
    return catalogue(Path(__file__).parent, CLASSIC)
