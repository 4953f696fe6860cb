"""One's own data, as CSV, JSON or JSONL: how files are read, whose columns have whichever names, and what stands in a cell."""

from blueprint.workbooks.common.own_data.cells import (
    UNKNOWN,
    flag_of,
    listed,
    number_of,
    numbers_of,
    spelled,
    text_of,
    tokens_of,
)
from blueprint.workbooks.common.own_data.choosing import asked_for, choose, chosen_rows, heading
from blueprint.workbooks.common.own_data.columns import (
    check_needed,
    check_there,
    named_in,
    names_of,
    said_of,
    some_cells,
    told_in,
)
from blueprint.workbooks.common.own_data.pairs import Pair, pair_of
from blueprint.workbooks.common.own_data.records import Record, Spoken, records_in
from blueprint.workbooks.common.own_data.vocabulary import END, drawn, plain, vocabulary_of
from blueprint.workbooks.common.own_data.written import UNALIGNED, Written, in_all, within, written_of

__all__ = [
    "END", "UNALIGNED", "UNKNOWN", "Pair", "Record", "Spoken", "Written", "asked_for", "check_needed", "check_there",
    "choose", "chosen_rows", "drawn", "flag_of", "heading", "in_all", "listed", "named_in", "names_of", "number_of",
    "numbers_of", "pair_of", "plain", "records_in", "said_of", "some_cells", "spelled", "text_of", "tokens_of", "told_in",
    "vocabulary_of", "within", "written_of",
]  # fmt: skip
