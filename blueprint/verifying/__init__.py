"""A minibatch of a real training run, computed again: its loss, and which of the numbers that were logged went wrong."""

from blueprint.verifying.choose import Chosen, choose
from blueprint.verifying.lines import Line
from blueprint.verifying.recompute import Replay, replay
from blueprint.verifying.report import data_of, text_of
from blueprint.verifying.settings import known_device
from blueprint.verifying.single import verify_one
from blueprint.verifying.step import Part, StepVerdict, verify_batches, verify_step
from blueprint.verifying.step_report import data_of_step, text_of_step
from blueprint.verifying.verify import Verdict, verify

__all__ = [
    "Chosen",
    "Line",
    "Part",
    "Replay",
    "StepVerdict",
    "Verdict",
    "choose",
    "data_of",
    "data_of_step",
    "known_device",
    "replay",
    "text_of",
    "text_of_step",
    "verify",
    "verify_batches",
    "verify_one",
    "verify_step",
]
