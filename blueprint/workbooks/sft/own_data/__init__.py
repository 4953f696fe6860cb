"""One's own demonstrations, as CSV, JSON or JSONL: read, and written as the tables of a numbers file."""

from blueprint.workbooks.sft.own_data.tables import tables_from

__all__ = ["tables_from"]
