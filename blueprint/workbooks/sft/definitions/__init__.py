"""The definitions of supervised fine-tuning, and the order in which they run."""
