"""Tests of the labs; those that need gymnasium are skipped, with a sentence, where the extra `lab` is not installed."""
