"""Checking: saved workbooks held against the outside witness, cell by cell, and what a difference is due to."""
