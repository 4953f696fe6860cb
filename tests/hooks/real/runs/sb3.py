"""Stable-Baselines3 2.9.2, PPO on CartPole: two rollouts of 16 steps in three environments, two epochs of minibatches of 16.

Its one argument says whether values are clipped. Episodes are cut off after 9 steps, so that time limits are seen.
"""

from __future__ import annotations

import sys

import gymnasium
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env


def short() -> gymnasium.Env[object, object]:
    """Makes a CartPole of 9 steps at most."""
    return gymnasium.make("CartPole-v1", max_episode_steps=9)


def main(values: str) -> None:
    """Trains for two rollouts; a learning rate of 0.01 moves the policy far enough to be clipped."""
    torch.manual_seed(0)
    reach = 0.2 if values == "clipped" else None
    envs = make_vec_env(short, n_envs=3, seed=0)
    PPO(
        "MlpPolicy", envs, learning_rate=0.01, n_steps=16, batch_size=16, n_epochs=2, ent_coef=0.01, clip_range_vf=reach, seed=0,
        device="cpu", policy_kwargs={"net_arch": [16]},
    ).learn(96)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
