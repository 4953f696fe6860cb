"""Direct preference: DPO and its relatives, on pairs of a chosen and a rejected response."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "DPO",
    levels={"choices": "schema:CHOICES", "preferences": "schema:PREFERENCES", "pair-logprobs": "schema:PAIR_LOGPROBS"},
    build={
        "choices": "workbook:weights_level",
        "preferences": "workbook:logits_level",
        "pair-logprobs": "workbook:logprobs_level",
    },
    saved={
        "choices": "mismatched.response",
        "preferences": "mismatched.policy.logits",
        "pair-logprobs": "mismatched.ratio",
    },
    settings="schema:DPO",
    presets="schema:dpo_presets",
    comparison="sheets:COMPARISON",
    gradient="workbook:with_gradients",
    whole={"mask": (1, "1 for a token of the response or 0 for any other")},
)
