"""One's own data, as CSV, JSON or JSONL: how files are read, whose columns have whichever names, and what stands in a cell."""
