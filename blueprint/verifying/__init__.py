"""Dumps of real training runs, computed again: their losses, and which of the numbers that were logged went wrong."""

from blueprint.verifying.alike import Again, Judge, Quantity, given_of
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
from blueprint.verifying.picked import agreement_of, picked
from blueprint.verifying.recompute import Replay, replay
from blueprint.verifying.report import data_of, data_of_step, text_of, text_of_step
from blueprint.verifying.settings import Chosen, Settings, VerifyOptions, choose, known_device, shown
from blueprint.verifying.small import NOTHING as NO_RESULTS
from blueprint.verifying.small import PLAIN, Given, SmallTrial, Try, Ways, verdict_of
from blueprint.verifying.step import read_dumps, verify_dumps, verify_one, verify_step
from blueprint.verifying.step_of_trials import Way, verify_parts
from blueprint.verifying.tiled_passes import Watch, one_thread
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
    "NO_RESULTS",
    "PLAIN",
    "SUMS",
    "TOLERANCES",
    "Again",
    "Agreement",
    "Axes",
    "Causes",
    "Chosen",
    "Compared",
    "First",
    "Given",
    "Judge",
    "Judged",
    "Line",
    "Match",
    "Part",
    "Quantity",
    "Replay",
    "Settings",
    "Shown",
    "SmallTrial",
    "StepLine",
    "StepVerdict",
    "Trial",
    "Try",
    "Verdict",
    "Verifier",
    "VerifyOptions",
    "ViewOptions",
    "Watch",
    "Way",
    "Ways",
    "agreement_of",
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
    "given_of",
    "held_in",
    "judged",
    "known_device",
    "last_digit",
    "lines_of",
    "one_thread",
    "picked",
    "read_dumps",
    "replay",
    "settled",
    "shown",
    "step_lines",
    "text_of",
    "text_of_step",
    "verdict_of",
    "verifier_of",
    "verify",
    "verify_dumps",
    "verify_one",
    "verify_parts",
    "verify_step",
]
