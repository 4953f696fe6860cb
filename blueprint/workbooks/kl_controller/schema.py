"""Level "controller": what an adaptive KL controller is fed, update after update."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from blueprint.inputs import LONGEST, ROWS, Level, Numbers, Part, settings_in
from blueprint.inputs.entries import Number, Positive

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved

CONTROLLER = settings_in(Path(__file__).parent).settings
LEVEL = Level(
    "kl_controller",
    "controller",
    "what the KL controller is fed",
    parts=(
        Part(
            "responses.kl_sums",
            Number,
            ("update", "response"),
            "KL to the reference, summed over the tokens of a response",
        ),
        Part("responses.lengths", Positive, ("update", "response"), "tokens of a response, in the shape of kl_sums"),
    ),
    tables={
        "controller": "settings; one that is left out is as in the preset",
        "responses": "a row per update, an entry per response",
    },
    settings=CONTROLLER,
    of_settings="controller",
    limits={"update": (1, LONGEST), "response": ROWS},
)


def numbers_in(file: "Saved") -> Numbers:
    """Return what is typed in a file, or, of a blank one, numbers of its sizes."""
    lengths = np.array(file.whole("responses.length"))
    parts = {"responses.kl_sums": file.array("responses.kl", 2), "responses.lengths": lengths}
    return Numbers(kind="kl_controller", level="controller", **file.head(), ppo=file.settings(), parts=parts)
