"""The same run by Stable-Baselines3: its PPO, by the lab's settings, on as many steps, evaluated on the same new environments."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blueprint.labs.agent_and_rollout import CART_POLE, SEEDS_APART, evaluate, need_gymnasium
from blueprint.labs.cart_pole import ADAM_EPS, LAST, Progress, one_thread
from blueprint.labs.settings import LabError, Settings

if TYPE_CHECKING:
    from pandas import DataFrame


def trained(use: Settings, progress: Progress = lambda done: None) -> tuple[DataFrame, DataFrame, NDArray[np.int64]]:
    """Trains PPO of Stable-Baselines3; returns iterations (steps and length), episodes, and how long 100 new ones are.

    Raises LabError for what it has otherwise, in a sentence, and where it is missing.
    """
    check(use)
    import pandas as pd
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    ended: list[tuple[int, int]] = []
    rollouts: list[dict[str, float]] = []

    class Watch(BaseCallback):
        """Notes every episode that ends."""

        def _on_step(self) -> bool:
            for told in self.locals["infos"]:
                if "episode" in told:
                    ended.append((self.num_timesteps, int(told["episode"]["l"])))
            return True

        def _on_rollout_end(self) -> None:
            before = [float(length) for _, length in ended[-LAST:]] or [np.nan]
            rollouts.append({"iteration": len(rollouts), "steps": self.num_timesteps, "length": float(np.mean(before))})
            progress(use.batch)

    with one_thread():
        environments = make_vec_env(CART_POLE, n_envs=use.environments, seed=use.seed * SEEDS_APART)
        model = PPO("MlpPolicy", environments, seed=use.seed, device="cpu", **_arguments(use))
        model.learn(use.steps // use.batch * use.batch, callback=Watch())
        environments.close()

        def policy(observed: NDArray[Any]) -> NDArray[Any]:
            actions: NDArray[Any] = model.predict(observed, deterministic=False)[0]
            return actions

        lengths = evaluate(policy, use.seed)
    return pd.DataFrame(rollouts), pd.DataFrame(ended, columns=["steps", "length"]), lengths


def _arguments(use: Settings) -> dict[str, Any]:
    """Returns the settings under the names of Stable-Baselines3; its value loss has no ½, so the coefficient has it."""

    def falling(value: float, schedule: str) -> Any:
        return (lambda left: value * left) if schedule == "linear" else value

    size = use.batch if use.minibatch == "all" else use.minibatch
    return {
        "n_steps": use.rollout_steps,
        "batch_size": size,
        "n_epochs": use.epochs,
        "gamma": use.gamma,
        "gae_lambda": use.gae_lambda,
        "clip_range": falling(float(use.clip_range), use.clip_schedule),
        "clip_range_vf": None,
        "learning_rate": falling(use.lr, use.lr_schedule),
        "ent_coef": use.ent_coef,
        "vf_coef": use.vf_coef / 2,
        "max_grad_norm": use.max_norm,
        "policy_kwargs": {
            "net_arch": {"pi": use.hidden, "vf": use.hidden},
            "ortho_init": use.init == "orthogonal",
            "optimizer_kwargs": {"eps": ADAM_EPS},
        },
    }


def check(use: Settings) -> None:
    """Raises LabError, in a sentence, for settings that it has otherwise, and where it is missing."""
    need_gymnasium()
    if find_spec("stable_baselines3") is None:
        raise LabError(
            '--compare-sb3 needs Stable-Baselines3, which is not installed: python -m pip install ".[torch,lab]"'
        )
    other = {
        "method": use.method != "ppo",
        "shared_trunk": use.shared_trunk,
        "clip_range": use.clip_range == "off",
        "value_clip_range": use.value_clip_range != "off",
        "time_limit": use.time_limit != 500,
    }
    for key, differs in other.items():
        if differs:
            found = getattr(use, key)
            raise LabError(
                f"--compare-sb3 with {key} = {found}: it stands beside PPO with separate networks, a clip of the ratio alone, and "
                "episodes of 500 steps, as `blueprint lab cart-pole --compare-sb3` has them"
            )
