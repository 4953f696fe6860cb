"""Rollouts of classic PPO, computed again: which of the numbers that were logged went wrong first, and why."""
