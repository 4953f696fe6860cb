"""Definitions: a function of blocks for each step, from log-probs of two responses to the loss of a pair."""
