"""One's own data, as CSV, JSON or JSONL: how files are read, whose columns have whichever names, and what stands in a cell."""

from blueprint.workbooks.common.own_data.cells import (
    END,
    UNALIGNED,
    UNKNOWN,
    Pair,
    Written,
    drawn,
    flag_of,
    in_all,
    listed,
    number_of,
    numbers_of,
    pair_of,
    plain,
    spelled,
    text_of,
    tokens_of,
    vocabulary_of,
    within,
    written_of,
)
from blueprint.workbooks.common.own_data.files import (
    Record,
    Spoken,
    asked_for,
    check_needed,
    check_there,
    choose,
    chosen_rows,
    heading,
    named_in,
    names_of,
    records_in,
    said_of,
    some_cells,
    told_in,
)

__all__ = [
    "END", "UNALIGNED", "UNKNOWN", "Pair", "Record", "Spoken", "Written", "asked_for", "check_needed", "check_there",
    "choose", "chosen_rows", "drawn", "flag_of", "heading", "in_all", "listed", "named_in", "names_of", "number_of",
    "numbers_of", "pair_of", "plain", "records_in", "said_of", "some_cells", "spelled", "text_of", "tokens_of", "told_in",
    "vocabulary_of", "within", "written_of",
]  # fmt: skip
