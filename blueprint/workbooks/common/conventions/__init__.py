"""The conventions in which libraries differ: as data, as settings, and as definitions that follow them."""
