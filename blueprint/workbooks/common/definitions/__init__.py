"""The definitions, a function of blocks for each step of the paper."""
