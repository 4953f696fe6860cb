"""Spellings: one table per language (spreadsheet, text, LaTeX, numbers put in), one walker that applies them."""
