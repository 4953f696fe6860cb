"""A minibatch of a real training run, computed again: its loss, and which of the numbers that were logged went wrong."""

from blueprint.replay.choose import Chosen, choose
from blueprint.replay.lines import Line
from blueprint.replay.recompute import Replay, replay
from blueprint.replay.report import data_of, text_of
from blueprint.replay.settings import known_device
from blueprint.replay.single import verify_one
from blueprint.replay.step import Part, StepVerdict, verify_batches, verify_step
from blueprint.replay.step_report import data_of_step, text_of_step
from blueprint.replay.verify import Verdict, verify

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
