"""Supervised fine-tuning: a policy learns to write demonstrated responses, token by token."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "SFT",
    levels={"demonstrations": "schema:DEMONSTRATIONS", "labelled": "schema:LABELLED"},
    build={"demonstrations": "workbook:demonstrations_level", "labelled": "workbook:labelled_level"},
    saved={"demonstrations": "demonstrations.number", "labelled": "labelled.number"},
    settings="schema:SFT",
    presets="schema:sft_presets",
    gradient="workbook:MOVED",
    whole={"mask": (1, "1 for a token of the response or 0 for any other")},
)
