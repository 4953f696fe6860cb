"""Dumps of real training runs, computed again: their losses, and which of the numbers that were logged went wrong."""

from blueprint.verifying.broadcast import tries as of_broadcast
from blueprint.verifying.compare import (
    DIFFERS,
    NEEDS_OTHERS,
    OF_RESPONSES,
    Axes,
    Compared,
    Line,
    StepLine,
    compare_number,
    distance,
    first_line,
    first_of,
    first_spot,
    folded,
    following,
    lines_of,
    once_each,
    settled,
    step_lines,
)
from blueprint.verifying.definitions import Changes, Definitions, Kept, Known, changed
from blueprint.verifying.engine import beside_the_trainer
from blueprint.verifying.equations import extremes
from blueprint.verifying.equations import tries as of_equations
from blueprint.verifying.found_places import part_of, places_of
from blueprint.verifying.in_memory import NOTHING as NO_RESULTS
from blueprint.verifying.in_memory import (
    PLAIN,
    Again,
    Given,
    Judge,
    Quantity,
    SmallTrial,
    Try,
    Ways,
    agreeing,
    amid,
    computed,
    given_of,
    sums_of,
    verdict_of,
)
from blueprint.verifying.named import named_first
from blueprint.verifying.other_forms import of_half_words, of_other_words, of_what_is_read
from blueprint.verifying.other_forms import tries as of_other_forms
from blueprint.verifying.other_numbers import Moved, otherwise_by
from blueprint.verifying.other_settings import Conventions, Mistakes, mistakes_in, multiplied
from blueprint.verifying.other_spellings import spelled
from blueprint.verifying.places import Place, Seen, file_called, laid, places_in_part, places_to_try
from blueprint.verifying.progress import Watch, one_thread
from blueprint.verifying.report import data_of, data_of_step, text_of, text_of_step
from blueprint.verifying.rounding import SUMS, TOLERANCES, coarsest, held_in, last_digit
from blueprint.verifying.rows_shown import (
    View,
    check_length,
    computable,
    digits,
    logits_of_two,
    ragged,
    view_of,
    words_of,
)
from blueprint.verifying.settings import (
    SMALLEST_TOLERANCE,
    Chosen,
    Settings,
    VerifyOptions,
    choose,
    known_device,
    shown,
)
from blueprint.verifying.small_kind import (
    DIGITS,
    UNITS,
    SmallKind,
    coefficient,
    counted,
    factor_of,
    from_here_on,
    off_by,
    on_the_line,
    parts_of,
    places,
    straight_line,
    sums,
    typed,
)
from blueprint.verifying.stages import Selection
from blueprint.verifying.step import read_dumps, verify_dumps, verify_one, verify_step
from blueprint.verifying.trials import Judged, Trial, Way, causes_of, judged, verify_parts
from blueprint.verifying.two_changes import Effects, totals_of, two_at_a_time
from blueprint.verifying.two_forwards import TwoForwards, before_first_update
from blueprint.verifying.verdict import (
    NOTHING,
    Agreement,
    Causes,
    Match,
    Otherwise,
    Part,
    Shown,
    StepVerdict,
    Verdict,
    Verifier,
    ViewOptions,
    agreement_of,
    picked,
    verifier_of,
)  # fmt: skip

__all__ = [
    "DIFFERS",
    "DIGITS",
    "NEEDS_OTHERS",
    "NOTHING",
    "NO_RESULTS",
    "OF_RESPONSES",
    "PLAIN",
    "SMALLEST_TOLERANCE",
    "SUMS",
    "TOLERANCES",
    "UNITS",
    "Again",
    "Agreement",
    "Axes",
    "Causes",
    "Changes",
    "Chosen",
    "Compared",
    "Conventions",
    "Definitions",
    "Effects",
    "Given",
    "Judge",
    "Judged",
    "Kept",
    "Known",
    "Line",
    "Match",
    "Mistakes",
    "Moved",
    "Otherwise",
    "Part",
    "Place",
    "Quantity",
    "Seen",
    "Selection",
    "Settings",
    "Shown",
    "SmallKind",
    "SmallTrial",
    "StepLine",
    "StepVerdict",
    "Trial",
    "Try",
    "TwoForwards",
    "Verdict",
    "Verifier",
    "VerifyOptions",
    "View",
    "ViewOptions",
    "Watch",
    "Way",
    "Ways",
    "agreeing",
    "agreement_of",
    "amid",
    "before_first_update",
    "beside_the_trainer",
    "causes_of",
    "changed",
    "check_length",
    "choose",
    "coarsest",
    "coefficient",
    "compare_number",
    "computable",
    "computed",
    "counted",
    "data_of",
    "data_of_step",
    "digits",
    "distance",
    "extremes",
    "factor_of",
    "file_called",
    "first_line",
    "first_of",
    "first_spot",
    "folded",
    "following",
    "from_here_on",
    "given_of",
    "held_in",
    "judged",
    "known_device",
    "laid",
    "last_digit",
    "lines_of",
    "logits_of_two",
    "mistakes_in",
    "multiplied",
    "named_first",
    "of_broadcast",
    "of_equations",
    "of_half_words",
    "of_other_forms",
    "of_other_words",
    "of_what_is_read",
    "off_by",
    "on_the_line",
    "once_each",
    "one_thread",
    "otherwise_by",
    "part_of",
    "parts_of",
    "picked",
    "places",
    "places_in_part",
    "places_of",
    "places_to_try",
    "ragged",
    "read_dumps",
    "settled",
    "shown",
    "spelled",
    "step_lines",
    "straight_line",
    "sums",
    "sums_of",
    "text_of",
    "text_of_step",
    "totals_of",
    "two_at_a_time",
    "typed",
    "verdict_of",
    "verifier_of",
    "verify_dumps",
    "verify_one",
    "verify_parts",
    "verify_step",
    "view_of",
    "words_of",
]

OF_PPO = {"replay": "replay", "verify": "verify"}
"""By a name that a page has imported from here, the module of `workbooks.rlhf_ppo.verifying` in which it stands now."""


def __getattr__(name: str) -> object:
    """Refuses in a sentence what stands with RLHF PPO now. Raises ImportError, with the import to write instead."""
    if name in OF_PPO:
        raise ImportError(
            f"blueprint.verifying.{name} is of RLHF PPO: write "
            f"`from blueprint.workbooks.rlhf_ppo.verifying.{OF_PPO[name]} import {name}`"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
