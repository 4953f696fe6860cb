"""What the page "Which GRPO is it?" says."""

from pathlib import Path

from blueprint.workbooks.common.conventions import Values, comparison_in
from blueprint.workbooks.common.numbers_file import EVERY_WORD
from blueprint.workbooks.grpo.schema import GRPO, ONLY_RUN

SAYS_NOTHING = {
    "kl.place": ("none",), "group.std": ("none",), "advantage.whiten": ("none",), "rollout.level": ("none",),
    "rollout.reject": ("off",), "reward.overlong": ("off",),
}  # fmt: skip
"""Settings with the words by which their parts say nothing."""
WITH_RATIO = ("clip", "cispo", "ratio", "sapo", "gmpo", "vespo")
ONLY_WITH = (
    ("loss.objective", ("clip",), ("loss.dual_clip", "loss.delta")),
    ("loss.objective", ("clip", "cispo", "gmpo"), ("loss.clip_low", "loss.clip_high")),
    ("loss.objective", WITH_RATIO, ("ratio.level", "ratio.length_eps")),
    (
        "loss.objective",
        ("clip", "cispo", "ratio", "sapo"),
        ("ratio.clamp",),
    ),  # others take log-ratios that nothing holds
    ("ratio.level", ("token",), ("ratio.clamp",)),
    ("ratio.level", ("own_token",), ("ratio.sequence_most",)),
    ("loss.aggregation", ("token_mean",), ("loss.at_least",)),
)
"""A setting, and with which of its words alone others say something."""


def silent(values: Values) -> tuple[str, ...]:
    """Lists the conventions that say nothing: parts of what is not done, ratios and clips of a loss that has none."""
    found = [key for key, each in GRPO.items() if values.get(each.part_of) in SAYS_NOTHING.get(each.part_of, ())]
    return tuple(
        dict.fromkeys([*found, *(key for by, words, keys in ONLY_WITH if values[by] not in words for key in keys)])
    )


COMPARISON = comparison_in(Path(__file__).parent, of_the_batch=ONLY_RUN, silent=silent, parts={EVERY_WORD: True})
