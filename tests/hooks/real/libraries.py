"""Which runs there are: what a library's environment needs, which hooks go into it, and what the run is called with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """A run of a library. package: its folder in site-packages; needs: for pip; hooks: of the page; arguments: of the
    script, one call for each; alone: the library itself without what it asks for (DeepSpeed, vLLM, gigabytes of them); source:
    a git repository that has the folder, at the commit that `library` ends with, where pip has none; rollouts: whether the
    files are rollouts of classic PPO, which are verified one by one; groups: whether they are steps of GRPO and its family; pairs:
    whether they are pairs of a chosen and a rejected response."""

    package: str
    library: str
    needs: tuple[str, ...]
    hooks: tuple[str, ...]
    arguments: tuple[str, ...]
    alone: bool = False
    source: str = ""
    rollouts: bool = False
    groups: bool = False
    pairs: bool = False


_TORCH = ("torch==2.13.0", "safetensors")

_VERL = (
    *_TORCH, "transformers>=5.5.3,<5.11", "accelerate", "codetiming", "datasets", "dill", "hydra-core", "pandas", "peft",
    "pybind11", "torchdata", "tensordict>=0.8,<=0.10,!=0.9.0", "ray>=2.41", "psutil", "cachetools",
)  # fmt: skip

RUNS = {
    "trl_1_12": Run("trl", "trl==1.12.0", _TORCH, ("TRL",), ("float32", "bfloat16")),
    "trl_grpo": Run(
        "trl", "trl==1.16.0", _TORCH, ("TRL GRPO, rewards", "TRL GRPO"),
        ("dapo", "grpo", "dr_grpo", "bnpo", "sequence", "cispo", "first", "batch", "functions", "masked", "cut", "uneven",
         "quantile", "bonus", "apart"),
        groups=True,
    ),
    "trl_rloo": Run(
        "trl", "trl==1.16.0", _TORCH, ("TRL RLOO, rewards", "TRL RLOO"), ("kl", "normalized"), groups=True,
    ),
    "trl_dpo": Run(
        "trl", "trl==1.16.0", _TORCH, ("TRL DPO",),
        ("sigmoid", "bfloat16", "ipo", "norm", "robust", "sft", "mixed", "shared", "weighted", "precomputed", "alike"), pairs=True,
    ),
    "trl_reward": Run("trl", "trl==1.16.0", _TORCH, ("TRL reward",), ("plain", "margin", "pad_eos", "bfloat16"), pairs=True),
    "trl_kto": Run(
        "trl", "trl==1.16.0", _TORCH, ("TRL KTO",), ("kto", "weights", "apo", "bfloat16", "precomputed", "one_sided"), pairs=True,
    ),
    "trl_sft": Run(
        "trl", "trl==1.16.0", _TORCH, ("TRL SFT",), ("completion", "text", "dft", "packed", "padding_free", "smoothed", "bfloat16"),
        pairs=True,
    ),
    "trl_0_11": Run(
        "trl", "trl==0.11.4", (*_TORCH, "transformers==4.45.2", "rich"), ("TRL 0.11",), ("float32", "bfloat16")
    ),
    "openrlhf_0_11": Run(
        "openrlhf",
        "openrlhf==0.11.2",
        (*_TORCH, "transformers==5.15.0", "accelerate", "einops", "datasets", "peft"),
        ("OpenRLHF",),
        ("reward", "loss", "responses"),
        alone=True,
    ),
    "openrlhf_grpo": Run(
        "openrlhf", "openrlhf==0.11.2", (*_TORCH, "transformers==5.15.0", "accelerate", "einops", "datasets", "peft"),
        ("OpenRLHF", "OpenRLHF, groups"), ("group_norm", "rloo", "dr_grpo", "whitened", "gspo", "engine"), alone=True, groups=True,
    ),
    "sb3": Run(
        "stable_baselines3", "stable-baselines3==2.9.2", (*_TORCH, "gymnasium"), ("SB3, buffer", "SB3, time limits", "SB3"),
        ("free", "clipped"), rollouts=True,
    ),
    "cleanrl": Run(
        "cleanrl", "cleanrl fe8d8a0", (*_TORCH, "gymnasium", "tyro", "tensorboard"), ("CleanRL",), ("free", "clipped"),
        source="https://github.com/vwxyzjn/cleanrl", rollouts=True,
    ),
    "verl_0_9": Run(
        "verl", "verl==0.9.1",
        _VERL,
        ("verl", "verl, on a worker", "verl, which minibatch", "verl, which microbatch"),
        ("token-mean", "seq-mean-token-mean", "seq-mean-token-sum-norm"), alone=True,
    ),
    "verl_grpo": Run(
        "verl", "verl==0.9.1", _VERL, ("verl",),
        ("grpo", "grpo_without_std", "rloo", "opo", "remax", "gpg", "reinforce_plus_plus"), alone=True, groups=True,
    ),
}  # fmt: skip
"""By name, which is also that of a script in `runs`."""
