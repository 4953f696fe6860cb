"""A bandit: pulls of a few arms, one after the other, of which each changes what the next one is likely to be."""
