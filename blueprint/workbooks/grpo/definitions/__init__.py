"""The definitions of GRPO and its family, a function of blocks for each step."""
