"""What the page "Which GRPO is it?" says."""

from pathlib import Path

from blueprint.workbooks.common.conventions import Values, comparison_in
from blueprint.workbooks.common.numbers_file import EVERY_WORD
from blueprint.workbooks.grpo.schema import GRPO, ONLY_RUN

LEVEL, OBJECTIVE, PLACE = "ratio.level", "loss.objective", "kl.place"
SAYS_NOTHING = {
    PLACE: ("none",), "group.std": ("none",), "advantage.whiten": ("none",), "rollout.level": ("none",), "rollout.reject": ("off",),
    "reward.overlong": ("off",),
}  # fmt: skip
"""Settings with the words by which their parts say nothing."""
CLIPPED = ("clip", "cispo", "gmpo")
"""Objectives that clip the ratio."""
OF_RESPONSES = ("gmpo", "vespo")
"""Objectives that take the ratio of a whole response from log-ratios that nothing holds."""


def silent(values: Values) -> tuple[str, ...]:
    """Lists the conventions that say nothing: parts of what is not done, ratios and clips of a loss that has none."""
    found = [key for key, each in GRPO.items() if values.get(each.part_of) in SAYS_NOTHING.get(each.part_of, ())]
    if values[OBJECTIVE] != "clip":
        found += ["loss.dual_clip", "loss.delta"]
    if values[OBJECTIVE] not in CLIPPED:
        found += ["loss.clip_low", "loss.clip_high"]
    if values[LEVEL] != "token" or values[OBJECTIVE] in OF_RESPONSES:
        found += ["ratio.clamp"]
    if values["loss.aggregation"] != "token_mean":
        found += ["loss.at_least"]
    if values[LEVEL] != "own_token":
        found += ["ratio.sequence_most"]
    if values[OBJECTIVE] == "reinforce":
        found += ["ratio.clamp", "ratio.level", "ratio.length_eps"]
    return tuple(dict.fromkeys(found))


COMPARISON = comparison_in(Path(__file__).parent, of_the_batch=ONLY_RUN, silent=silent, parts={EVERY_WORD: True})
