"""Where the RL objective, the DPO loss and the optimal policy meet, over all responses of a language small enough to enumerate."""
