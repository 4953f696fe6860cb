"""RLHF PPO: from weights, from logits, or from log-probs on, to the loss; plain, or with every convention a switch."""
