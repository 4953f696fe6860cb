"""Misconceptions: mistakes that are often made in a row, as data, and what they give on the numbers at hand."""

from blueprint.misconceptions.names import Change, Names
from blueprint.misconceptions.record import Misconception, of
from blueprint.misconceptions.rewriting import (
    applied,
    at,
    base_2,
    becomes,
    crossed,
    equation,
    halves,
    instead,
    minus_one,
    operand,
    operation,
    row,
    swapped,
    times,
    turned,
    whole,
    without,
    zero,
)
from blueprint.misconceptions.wrong import Wrong, misconceptions_of, wrong_values

__all__ = [
    "Change", "Misconception", "Names", "Wrong", "applied", "at", "base_2", "becomes", "crossed", "equation", "halves",
    "instead", "minus_one", "misconceptions_of", "of", "operand", "operation", "row", "swapped", "times", "turned", "whole",
    "without", "wrong_values", "zero",
]  # fmt: skip
