"""A reward model: scores of whole responses, learned from which of two was preferred."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "a reward model",
    levels={"rankings": "schema:RANKINGS", "scores": "schema:SCORES"},
    build={"rankings": "workbook:weights_level", "scores": "workbook:scores_level"},
    saved={"rankings": "ranked.word", "scores": "scored.word"},
    settings="schema:REWARD_MODEL",
    presets="schema:rm_presets",
    gradient="workbook:MOVED",
)
