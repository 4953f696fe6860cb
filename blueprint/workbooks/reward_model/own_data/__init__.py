"""One's own pairs and rankings, as CSV, JSON or JSONL: read, and written as the tables of a numbers file."""

from blueprint.workbooks.reward_model.own_data.tables import tables_from

__all__ = ["tables_from"]
