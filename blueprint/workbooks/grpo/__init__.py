"""GRPO and its family: several responses to a prompt, no critic."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "GRPO",
    levels={"prompts": "schema:PROMPTS", "responses": "schema:RESPONSES", "rollouts": "schema:ROLLOUTS"},
    build={"responses": "levels:logits_level", "prompts": "levels:weights_level", "rollouts": "levels:rollouts_level"},
    saved={"prompts": "answer", "responses": "engine.logits", "rollouts": "greedy"},
    settings="schema:GRPO",
    presets="schema:grpo_presets",
    comparison="sheets:COMPARISON",
    gradient="workbook:with_gradients",
    whole={"mask": (1, "1 for a token of the response or 0 for any other")},
)
