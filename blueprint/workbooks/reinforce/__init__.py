"""REINFORCE: the gradient of the expected reward, estimated from draws, with and without a baseline."""
