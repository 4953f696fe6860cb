"""The workbooks: a folder for each kind, and what kinds share in `common`. A kind is imported when it is asked for."""

from blueprint.workbooks.kind import Kind, KindError
from blueprint.workbooks.registry import add_kind, blueprint_of, kind_named, kind_of, kinds

__all__ = ["Kind", "KindError", "add_kind", "blueprint_of", "kind_named", "kind_of", "kinds"]
