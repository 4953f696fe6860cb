"""Classic PPO: several environments run step by step, rewards are given, and episodes may end anywhere."""

from blueprint.ppo.classic.build import classic_ppo

__all__ = ["classic_ppo"]
