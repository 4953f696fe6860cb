"""A whole small RLHF run: fine-tuning, labelers with a flaw, a reward model, PPO for several KL coefficients, many runs at once.

What is optimised is on one page, `papers/many_runs.py`; any iteration is a workbook (`export.py`), and what a run could come to at
best is known exactly (`optimum.py`).
"""
