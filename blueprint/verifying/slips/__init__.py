"""Slips: mistakes in one quantity alone, as data, each a small function of the file's own rows before that quantity."""
