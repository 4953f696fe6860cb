"""Reinforcement learning before language models: an agent in an environment, trained by the loss of `papers/classic_ppo.py`.

The environment is gymnasium's cart-pole. PPO, A2C and REINFORCE are settings of one loss; any minibatch of any iteration is a
workbook of the kind `classic` (`export.py`).
"""
