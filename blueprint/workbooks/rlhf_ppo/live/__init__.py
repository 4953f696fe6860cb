"""RLHF PPO with every convention a switch: the same sheets, with the rows of all conventions."""
