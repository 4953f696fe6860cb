"""Level "per-token" of RLHF PPO: log-probs, values and scores of every response word are given."""

from blueprint.inputs import LONGEST, ROWS, Draft, Level, Numbers, Part
from blueprint.inputs.entries import LogProb, Number, Ratio, Token
from blueprint.workbooks.common.conventions.data import LIVE, PRESET_DEFAULT
from blueprint.workbooks.rlhf_ppo.inputs.conventions import TABLES, check_plain

_PER_WORD = ("episode", "word")


def _numbers(draft: Draft) -> Numbers:
    check_plain(draft.settings)
    return draft.numbers(draft.fitted())


LEVEL = Level(
    "rlhf_ppo",
    "per-token",
    "no model is run, nothing is drawn",
    parts=(
        Part("per_token.words", Token, _PER_WORD, "an episode per row, a column per word of the response", noun="word"),
        Part("per_token.logprobs_old", LogProb, _PER_WORD, "log-probs of the policy that wrote, in the shape of words"),
        Part("per_token.logprobs_ref", LogProb, _PER_WORD, "log-probs of the reference, in the shape of words"),
        Part("per_token.values", Number, _PER_WORD, "the critic's values, in the shape of words"),
        Part("per_token.scores", Number, _PER_WORD, "scores, in the shape of words; usually 0 but on the last one"),
        Part("cases.advantages", Number, ("case",), "a number per case", example=[2.0, -2.0]),
        Part("cases.ratios", Ratio, ("case",), "a number per case", example=[1.5, 0.5]),
    ),
    tables={
        "ppo": TABLES["ppo"],
        "per_token": "what is given for every response word",
        "cases": "may be left out: pairs for the table of the clipped loss",
    },
    optional=("cases",),
    settings=PRESET_DEFAULT,
    accepts={key: setting for key, setting in LIVE.items() if "." not in key},
    limits={"episode": ROWS, "word": (1, LONGEST)},
    ragged=("word",),
    make=_numbers,
)
