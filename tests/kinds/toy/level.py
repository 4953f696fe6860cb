"""Level "pairs": the log-probs of every token of two answers to each prompt."""

from pathlib import Path

from blueprint.inputs import Level, Part, settings_in
from blueprint.inputs.entries import LogProb

SETTINGS = settings_in(Path(__file__).parent).settings
LEVEL = Level(
    "toy",
    "pairs",
    "log-probs of pairs of answers are given",
    parts=(
        Part("pairs.logprobs", LogProb, ("pair", "side", "token"), "a list per pair: the chosen answer, then the rejected one"),
    ),
    tables={"preference": "settings; one that is left out is as in the preset", "pairs": "what is given of each pair"},
    settings=SETTINGS,
    of_settings="preference",
    limits={"pair": (1, 64), "side": (2, 2), "token": (1, 100)},
)  # fmt: skip
