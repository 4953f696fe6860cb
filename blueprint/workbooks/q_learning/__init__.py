"""Q-learning on a small grid: every step a column, every move's value after each of them."""
