"""Numbers files of RLHF PPO at its three levels: described, checked, completed from the seed."""
