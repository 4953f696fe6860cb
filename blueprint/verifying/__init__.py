"""Dumps of real training runs, computed again: their losses, and which of the numbers that were logged went wrong."""

from blueprint.verifying.compare import Axes, Compared, compare_number, distance, first_spot
from blueprint.verifying.first import First, before_first_update
from blueprint.verifying.lines import (
    DIFFERS,
    NEEDS_OTHERS,
    Line,
    StepLine,
    first_line,
    first_of,
    following,
    lines_of,
    settled,
    step_lines,
)
from blueprint.verifying.recompute import Replay, replay
from blueprint.verifying.report import data_of, data_of_step, text_of, text_of_step
from blueprint.verifying.settings import Chosen, Settings, VerifyOptions, choose, known_device, shown
from blueprint.verifying.step import read_dumps, verify_dumps, verify_one, verify_step
from blueprint.verifying.tiled_passes import Watch
from blueprint.verifying.tolerances import SUMS, TOLERANCES, coarsest, held_in, last_digit
from blueprint.verifying.trials import Judged, Trial, causes_of, judged
from blueprint.verifying.verdict import (
    NOTHING,
    Agreement,
    Causes,
    Match,
    Part,
    Shown,
    StepVerdict,
    Verdict,
    Verifier,
    ViewOptions,
    verifier_of,
)  # fmt: skip
from blueprint.verifying.verify import verify

__all__ = [
    "DIFFERS",
    "NEEDS_OTHERS",
    "NOTHING",
    "SUMS",
    "TOLERANCES",
    "Agreement",
    "Axes",
    "Causes",
    "Chosen",
    "Compared",
    "First",
    "Judged",
    "Line",
    "Match",
    "Part",
    "Replay",
    "Settings",
    "Shown",
    "StepLine",
    "StepVerdict",
    "Trial",
    "Verdict",
    "Verifier",
    "VerifyOptions",
    "ViewOptions",
    "Watch",
    "before_first_update",
    "causes_of",
    "choose",
    "coarsest",
    "compare_number",
    "data_of",
    "data_of_step",
    "distance",
    "first_line",
    "first_of",
    "first_spot",
    "following",
    "held_in",
    "judged",
    "known_device",
    "last_digit",
    "lines_of",
    "read_dumps",
    "replay",
    "settled",
    "shown",
    "step_lines",
    "text_of",
    "text_of_step",
    "verifier_of",
    "verify",
    "verify_dumps",
    "verify_one",
    "verify_step",
]
