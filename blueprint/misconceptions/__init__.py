"""Misconceptions: mistakes that are often made in a row, as data, and what they give on the numbers at hand."""

from blueprint.misconceptions.diagnosing import Diagnosis, diagnose, half_unit, shortened, too_short
from blueprint.misconceptions.evaluating import Arrays, Rewritten, Shown
from blueprint.misconceptions.rewriting import (
    Change,
    Misconception,
    Names,
    applied,
    at,
    base_2,
    becomes,
    counting,
    crossed,
    equation,
    halves,
    instead,
    minus_one,
    of,
    operand,
    operation,
    row,
    swapped,
    times,
    turned,
    upside_down,
    whole,
    without,
    zero,
)
from blueprint.misconceptions.wrong_numbers import Rows, Wrong, further_values, misconceptions_of, wrong_values

__all__ = [
    "Arrays", "Change", "Diagnosis", "Misconception", "Names", "Rewritten", "Rows", "Shown", "Wrong", "applied", "at",
    "base_2", "becomes", "counting", "crossed", "diagnose", "equation", "further_values", "half_unit", "halves", "instead",
    "minus_one", "misconceptions_of", "of", "operand", "operation", "row", "shortened", "swapped", "times", "too_short", "turned",
    "upside_down", "whole", "without", "wrong_values", "zero",
]  # fmt: skip
