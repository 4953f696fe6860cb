"""OpenRLHF 0.11.2 without a critic: the run of openrlhf_0_11.py, with four responses to a prompt and one of its CRITIC_FREE."""

import openrlhf_0_11  # noqa: F401  # it runs as it is read
