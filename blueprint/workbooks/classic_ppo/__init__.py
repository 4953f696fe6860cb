"""Classic PPO: several environments run step by step, rewards are given, and episodes may end anywhere."""
