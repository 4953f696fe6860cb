"""Supervised fine-tuning: a policy learns to write demonstrated responses, token by token."""
