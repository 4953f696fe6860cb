"""The sheets of RLHF PPO, each with a column for every position."""
