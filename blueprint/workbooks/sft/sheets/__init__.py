"""Sheets of supervised fine-tuning that are no steps."""
