"""What the page "Which GRPO is it?" says."""

from blueprint.inputs import OFF
from blueprint.workbooks.common.conventions import Change, Comparison, Values
from blueprint.workbooks.common.numbers_file import EVERY_WORD
from blueprint.workbooks.grpo.schema import GRPO, ONLY_RUN

INTRODUCTION = """\
They are called GRPO, or are named after what they change of it, and each computes another loss from the same batch: the same
responses, scores and log-probs of four models. Every row below shows what one library does by default, as its source says at
the version named, or what a paper writes; `blueprint presets` says where. The loss is what the optimiser minimises. All rows show
a later step on a batch, where new and old policy differ, unless a row says otherwise: on the first step every ratio is 1. No row
is the only correct one, but if you compare two runs you should know which row each of them follows."""
GRADIENTS = """\
The loss is one number. The optimiser does not use this number; it uses the gradient of the loss with respect to what it changes.
The angle is the one between a gradient and the default's on the same batch. At 0° both have the same direction, at 90° they
are perpendicular, and above 90° they partly oppose each other. Adam cancels a constant factor of a gradient; an optimiser does
not correct its direction.

- *A factor* of the whole loss, such as the constant of Dr. GRPO instead of the number of tokens, changes the length of the
  gradient and not the direction. A mean over each response first gives the tokens of short responses more weight, and turns it.
- *A number subtracted from all rewards of a group* changes the loss, and the gradient by a multiple of Σ∇log π, which is 0 on
  average over the responses that the old policy writes (a baseline: Williams 1992, REINFORCE, theorem 1), but not on one batch.
- *Division by a group's spread* gives each group another weight: prompts to which nearly all responses are right, or nearly all
  wrong, count more. In a group of equal rewards every advantage is 0.
- *A clip* makes a token's loss a constant, whose gradient is 0. A narrow clip at the level of the response, as GSPO's, may
  hardly change the loss, and yet remove most of the gradient: compare both columns of the table of single changes.
- *−A·log π* and *CISPO* have a loss whose value has no meaning, because log π is summed instead of a ratio. On the first step
  their gradient is that of the ratio; in later steps they keep the tokens that a clip leaves out."""
SOURCES = """\
More than seventy conventions are switches that recalculate in the finished workbook:

    blueprint build --numbers grpo                              # a small policy answers three sums, four times each
    blueprint build --numbers grpo --gradients --set ppo.update_step=0 -o first_step.xlsx   # every ratio is 1, and it learns
    blueprint build --numbers grpo-batch --preset verl_grpo     # three prompts, four responses each, from logits on
    blueprint build --numbers grpo-batch --compare trl_grpo,verl_grpo,dr_grpo_paper -o three.xlsx   # side by side; or all
    blueprint build --numbers reinforce                         # the first lesson: what a baseline changes, and what it does not

In `grpo` the tiny policy writes the answers. A rule that you can read scores them (a right answer, an end, tokens that cost);
a typed score or a reward model may take its place. `grpo-batch` is the batch on which the critic-free code of seventeen libraries
was run. One set of definitions, and torch, reproduce the recorded runs (GRPO, Dr. GRPO, DAPO, GSPO, CISPO, RLOO, REINFORCE++,
ReMax and others) to 1e-12, with gradients and metrics. Every preset also agrees with torch on eighteen other batches: log-ratios
of 700, one token, empty responses, equal rewards. The puzzles of GRPO (`docs/puzzles-grpo.md`) explain a loss of 0 that learns,
a negative loss, a clip ratio of 0, and equal rewards.

Your own rollouts become a workbook, with log-probs or without them (`docs/own-rollouts.md`); `verify` and `import` read real steps
of TRL, verl and NeMo-RL:

    blueprint numbers rollouts.jsonl --kind grpo -o mine.toml   # prompts, responses, rewards, groups; then build"""
OVER = {
    "prompts": "the policy's weights",
    "responses": "the policy's logits, with which this batch begins",
}
COLUMNS = {
    "loss": "library.total_loss",
    "policy loss": "library.policy_loss",
    "KL adds": "library.adds.kl_loss",
    "clipped below": "library.clip.fraction_low",
    "clipped above": "library.clip.fraction_high",
}
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
NARROW: Values = {LEVEL: "response", "loss.clip_low": 3e-4, "loss.clip_high": 4e-4}
CHANGES = (
    Change("the first step: old is new", {"ratio.old": "new"}),
    Change("the mean over responses of the mean over their tokens", {"loss.aggregation": "seq_mean_token_mean"}),
    Change("the sum over all tokens", {"loss.aggregation": "token_sum"}),
    Change("sums over a constant: responses times 8", {"loss.aggregation": "seq_mean_token_sum", "loss.constant": 8.0}),
    Change("no spread", {"group.std": "none"}),
    Change("no baseline and no spread", {"group.baseline": "none", "group.std": "none"}),
    Change("the mean of the others, no spread (RLOO)", {"group.baseline": "others", "group.std": "none"}),
    Change("advantages whitened over tokens, no group (REINFORCE++)",
           {"group.baseline": "none", "group.std": "none", "advantage.whiten": "tokens"}),
    Change("one ratio for a response, ε = 0.2", {LEVEL: "response"}),
    Change("one ratio for a response, ε = 3e-4 and 4e-4 (GSPO)", NARROW),
    Change("ε_high = 0.28 (DAPO)", {"loss.clip_high": 0.28}),
    Change("dual clip 3", {"loss.dual_clip": 3.0}),
    Change("−A·log π, without a ratio", {OBJECTIVE: "reinforce"}),
    Change("CISPO, ratios up to 5", {OBJECTIVE: "cispo", "loss.clip_low": OFF, "loss.clip_high": 4.0}),
    Change("k3 in the loss, β = 0.04", {PLACE: "loss", "kl.coef": 0.04}),
    Change("k3 in the loss times the ratio, β = 0.04", {PLACE: "loss", "kl.coef": 0.04, "kl.weight": "ratio"}),
    Change("long responses cost (DAPO, eq. 13)", {"reward.overlong": "linear"}),
)  # fmt: skip
DEFECTS = (
    Change("CISPO's cap of 0.2 where none is set", {OBJECTIVE: "cispo", "loss.clip_low": OFF, "loss.clip_high": -0.8},
           "TRL 1.16.0, grpo_trainer.py, _compute_loss, takes epsilon_high for the cap itself; unset it is epsilon, 0.2, so that "
           "every ratio above a fifth counts a fifth. The paper's cap is set by epsilon_high=5."),
    Change("Dr. GRPO with the spread kept", {"loss.aggregation": "seq_mean_token_sum", "loss.constant": 8.0},
           "TRL 1.16.0, loss_type=dr_grpo, changes the average alone; the paper's other half is scale_rewards=none "
           "(2503.20783, section 3), without which easy and hard prompts weigh more, as before."),
    Change("The spread of the others", {"group.baseline": "others", "group.std": "others", "group.zero_std": "skip",
                                        "group.eps": 1e-6},
           "NeMo-RL 7ea279a, grpo/utils, calculate_baseline_and_std_per_prompt, with leave-one-out, its default: a response that "
           "alone is right is compared with others that are all alike, and is not divided, while each of the others is; with the "
           "filter for constant groups it is lost."),
    Change("KL in the reward before the spread, β = 0.001", {PLACE: "reward_token", "kl.coef": 0.001, "kl.estimator": "k1"},
           "verl 0.9.1, ray_trainer.py, apply_kl_penalty with use_kl_in_reward, runs before the group is compared: where all "
           "rewards are equal the KL alone is left, is divided by its own spread, and becomes noise, however small β is."),
    Change("One ratio for the whole batch", {LEVEL: "batch", "loss.aggregation": "seq_mean_token_mean"},
           "torchtune bd2a0fc, dev/grpo/loss.py, GRPOCompletionLoss, sums log-ratios over all responses before it takes e^d: one "
           "product stands for every token of the batch."),
    Change("A constant of the padded width", {"group.std": "none", "loss.aggregation": "seq_mean_token_sum", "loss.constant": 6.0},
           "verl 0.9.1, core_algos.py, agg_loss, seq-mean-token-sum-norm without a scale factor divides by the width of the "
           "padded batch (verl#3741), so that the loss depends on the longest response that happens to be beside."),
)  # fmt: skip
"""Each as a recorded run of the library has it, on top of this workbook's default."""


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


COMPARISON = Comparison(
    "Which GRPO is it?", INTRODUCTION, COLUMNS, OVER, GRADIENTS, ONLY_RUN, silent, {EVERY_WORD: True}, ("compare=default",),
    "γ, clips and coefficients", CHANGES, DEFECTS, SOURCES,
)  # fmt: skip
