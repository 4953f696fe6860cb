"""The outside witness: the numbers of a workbook once more, in torch, from the papers' mathematics.

It shares no code with the definitions from which the workbook is written. Needs the extra `torch`. `ppo` is the one
computation of which every kind of workbook has its options.
"""

from blueprint.witness.batch import UPPER, Batch
from blueprint.witness.checks import add_clip_curve, add_dots, shown_words
from blueprint.witness.losses import between, lowest_ratio, surrogates
from blueprint.witness.metrics import explained
from blueprint.witness.options import NUMBERS, WORDS, Options, Texts, picked
from blueprint.witness.rewards import estimates, within
from blueprint.witness.rows import Rows, add_settings, add_verdicts
from blueprint.witness.settings import (
    TABLE,
    Array,
    File,
    Setting,
    WitnessError,
    alternative,
    block,
    column,
    held,
    ids,
    is_word,
    numbers,
    of_preset,
    place_of,
    single,
)
from blueprint.witness.sums import WHOLE, Spread, Sums, Tiled, Whole
from blueprint.witness.tensors import (
    Held,
    Named,
    distribution_rows,
    kl_rows,
    logprobs,
    masked_mean,
    masked_sums,
    sums_from,
    wide,
    with_end,
    with_start,
)
from blueprint.witness.totals import summed_rows
from blueprint.witness.witness import (
    TIE,
    KindWitness,
    Record,
    Tie,
    Witnessed,
    chosen_device,
    chosen_dtype,
    ieee_products,
    shapes,
    witness,
)

__all__ = [
    "NUMBERS",
    "TABLE",
    "TIE",
    "UPPER",
    "WHOLE",
    "WORDS",
    "Array",
    "Batch",
    "File",
    "Held",
    "KindWitness",
    "Named",
    "Options",
    "Record",
    "Rows",
    "Setting",
    "Spread",
    "Sums",
    "Texts",
    "Tie",
    "Tiled",
    "Whole",
    "WitnessError",
    "Witnessed",
    "add_clip_curve",
    "add_dots",
    "add_settings",
    "add_verdicts",
    "alternative",
    "between",
    "block",
    "chosen_device",
    "chosen_dtype",
    "column",
    "distribution_rows",
    "estimates",
    "explained",
    "held",
    "ids",
    "ieee_products",
    "is_word",
    "kl_rows",
    "logprobs",
    "lowest_ratio",
    "masked_mean",
    "masked_sums",
    "numbers",
    "of_preset",
    "picked",
    "place_of",
    "shapes",
    "shown_words",
    "single",
    "summed_rows",
    "sums_from",
    "surrogates",
    "wide",
    "with_end",
    "with_start",
    "within",
    "witness",
]
