"""What the settings of classic PPO are called, and what each preset is."""

from blueprint.workbooks.classic_ppo.presets import classic_presets

TOLD: dict[str, tuple[str, str, int]] = {
    "gamma": ("γ", "discount of later rewards", 3),
    "gae_lambda": ("λ", "reach of GAE", 3),
    "clip_range": ("ε", "clip: the ratio counts from 1 − ε …", 3),
    "clip_more": ("ε_more", "… to 1 + ε + this", 3),
    "value_clip_range": ("ε_V", "clip: how far the value may move", 3),
    "value_factor": ("f", "factor of the value loss", 3),
    "vf_coef": ("c1", "weight of the value loss", 3),
    "ent_coef": ("c2", "weight of the entropy bonus", 3),
    "whiten_eps": ("ε_w", "keeps whitening from dividing by 0", 10),
    "bootstrap": ("stop_is", "which end cuts V(next) off", 0),
    "whiten_advantages": ("Â_is", "whether the loss uses whitened advantages", 0),
    "whiten_form": ("σ_is", "divide by σ + ε_w, or by the larger one", 0),
    "value_combine": ("V_is", "the larger distance, or the clipped alone", 0),
    "value_norm": ("norm_is", "norm of the value loss (see section 5)", 0),
}
"""By key: (symbol, meaning, decimals)."""


def preset_lines() -> list[str]:
    """Returns a sentence on every preset: what it is, why its numbers differ, and where that was read."""
    return [
        f"{preset.name}: {preset.title}, {preset.version}. {preset.why} ({preset.source})"
        for preset in classic_presets().presets.values()
    ]
