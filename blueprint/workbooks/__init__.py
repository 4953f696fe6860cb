"""The workbooks: a folder for each kind, and what kinds share in `common`. A kind is imported when it is asked for."""

from blueprint.workbooks.kind import Kind
from blueprint.workbooks.registry import blueprint_of, kind_named, kind_of

__all__ = ["Kind", "blueprint_of", "kind_named", "kind_of"]
