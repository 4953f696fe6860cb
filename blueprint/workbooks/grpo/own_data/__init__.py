"""One's own responses and rewards, as CSV, JSON or JSONL: read, put into groups, and written as the tables of a numbers file."""

from blueprint.workbooks.grpo.own_data.tables import tables_from

__all__ = ["tables_from"]
