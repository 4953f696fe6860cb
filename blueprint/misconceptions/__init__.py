"""Misconceptions: mistakes that are often made in a row, as data, and what they give on the numbers at hand."""

from blueprint.misconceptions.diagnosing import Diagnosis, diagnose, half_unit
from blueprint.misconceptions.evaluating import Rewritten
from blueprint.misconceptions.names import Change, Names
from blueprint.misconceptions.record import Misconception, of
from blueprint.misconceptions.rewriting import (
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
from blueprint.misconceptions.shortened import shortened
from blueprint.misconceptions.shown import Arrays, Shown
from blueprint.misconceptions.wrong import Rows, Wrong, further_values, misconceptions_of, wrong_values

__all__ = [
    "Arrays", "Change", "Diagnosis", "Misconception", "Names", "Rewritten", "Rows", "Shown", "Wrong", "applied", "at",
    "base_2", "becomes", "counting", "crossed", "diagnose", "equation", "further_values", "half_unit", "halves", "instead",
    "minus_one", "misconceptions_of", "of", "operand", "operation", "row", "shortened", "swapped", "times", "turned",
    "upside_down", "whole", "without", "wrong_values", "zero",
]  # fmt: skip
