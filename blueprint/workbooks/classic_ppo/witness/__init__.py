"""Classic PPO: environments run step by step, rewards are given, and an episode may end at any step of a row.

Written from the papers and from what the libraries do: CleanRL ppo.py, Stable-Baselines3 (common/buffers.py, ppo/ppo.py),
TorchRL (objectives/ppo.py, value/functional.py), rlax (multistep.py).
"""
