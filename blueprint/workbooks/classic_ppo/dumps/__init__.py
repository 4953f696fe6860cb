"""Dumps of classic PPO: a rollout of environments side by side, and one minibatch of its steps, under neutral names."""
