"""Dumps of real training runs, computed again: their losses, and which of the numbers that were logged went wrong."""

from blueprint.verifying.choose import Chosen, choose
from blueprint.verifying.kind import verifier_of
from blueprint.verifying.lines import Line
from blueprint.verifying.recompute import Replay, replay
from blueprint.verifying.report import data_of, text_of
from blueprint.verifying.settings import known_device
from blueprint.verifying.step import read_dumps, verify_dumps, verify_one, verify_step
from blueprint.verifying.step_report import data_of_step, text_of_step
from blueprint.verifying.verdict import Part, StepVerdict, Verdict, VerifyOptions
from blueprint.verifying.verify import verify

__all__ = [
    "Chosen",
    "Line",
    "Part",
    "Replay",
    "StepVerdict",
    "Verdict",
    "VerifyOptions",
    "choose",
    "data_of",
    "data_of_step",
    "known_device",
    "read_dumps",
    "replay",
    "text_of",
    "text_of_step",
    "verifier_of",
    "verify",
    "verify_dumps",
    "verify_one",
    "verify_step",
]
