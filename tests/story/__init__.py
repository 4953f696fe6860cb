"""The page docs/from-rl-to-rlhf.md: its numbers out of workbooks, its pictures drawn. `python -m tests.story` writes them."""
