"""What the page "Which PPO is it?" says."""

from blueprint.workbooks.common.conventions.comparison import Comparison, Values
from blueprint.workbooks.common.conventions.data import LIVE

INTRODUCTION = """\
They are all called PPO, and each computes another loss from the same batch: the same tokens, log-probs, values and scores
(the temperature belongs to the batch, too). Every row below shows what one library does by default, as its source says at the
version named; `blueprint presets` says where. The total is the loss that the policy's optimiser minimises: where the critic has
an optimiser of its own, the value loss is not part of it. No row is the only correct one, but if you compare two runs you should
know which row each of them follows."""
GRADIENTS = """\
The loss is one number. An optimiser does not use this number; it uses the gradient. The policy's gradient is that of the total
loss with respect to what the policy's optimiser changes. The critic's gradient is that of what the critic's optimiser
minimises: the value loss, times vf_coef where one optimiser trains both. The angle is the one between a gradient and the
default's on the same batch. At 0° both have the same direction, at 90° they are perpendicular, and above 90° they partly
oppose each other. Adam cancels a constant factor of a gradient; an optimiser does not correct its direction.

- *A factor* of a whole loss, such as vf_coef or a missing ½, changes the length of its gradient and not the direction; so does
  a variance by N instead of N − 1, and so would a mean over tokens instead of their sum. A mean over each response first gives
  short responses more weight, and turns the gradient: `--set loss.aggregation=seq-mean-token-mean` adds such a row.
- *A number subtracted from all advantages*, by whitening, or by whitening over pads, changes the loss; the gradient changes
  by a multiple of Σ∇ρ, which is 0 on average over the responses that the old policy writes (a baseline: Williams 1992,
  REINFORCE, theorem 1), but not on one small batch.
- *A clip* makes a token's loss a constant: the loss still counts the token, but its gradient is 0.
- *Another reward, γ or λ* gives each token another weight, and turns the gradient. So does a KL in the loss instead of the
  reward, which hardly changes the loss (`--set reward.kl_in=loss`)."""
OVER = {
    "weights": "the policy's weights alone, and over the critic's",
    "logits": "the policy's logits and the critic's values, with which this batch begins",
}
SOURCES = """\
Every convention is a switch that recalculates in the finished workbook:

    blueprint presets                                          # what each library does, version, source, what differs
    blueprint build --preset verl                              # its conventions on the default batch, every one live
    blueprint build --preset trl_1.12 --set loss.aggregation=seq-mean-token-mean
    blueprint build --numbers ten-libraries --compare trl_1.12,openrlhf,verl

`ten-libraries` is the batch on which the libraries' own code was run. The definitions, torch and the recalculated workbook
reproduce every number of those runs, pads aside; `tests/data/golden_runs.json` says how they were recorded. Known defects of a
library are reproduced, and named as defects. The puzzles of PPO (`docs/puzzles.md`) explain what surprises people: a negative
KL, the score after `<eos>`, token mean or sequence mean, n or n − 1, the max of the value clip, entropy over pads, a ratio that
is not 1, a loss of 0.

Classic PPO (rewards given, `done`, V(next)) has a workbook of its own with the conventions of CleanRL, Stable-Baselines3,
TorchRL and rlax; so has the adaptive KL controller. `check` compares both with torch, and `verify` and `import` read rollouts of
CleanRL and Stable-Baselines3:

    blueprint build --numbers classic --preset sb3
    blueprint build --numbers kl-controller"""
COLUMNS = {
    "policy loss": "library.policy_loss",
    "value loss": "library.value_loss",
    "total loss": "library.total_loss",
    "approximate KL": "library.approx_kl.used",
    "clip fraction": "library.clip_fraction.used",
}
OF_THE_BATCH = ("update_step", "batch.temperature", "batch.temperature_eps")
KL_LOSS = tuple(key for key in LIVE if key.startswith("loss.kl_"))


def silent(values: Values) -> tuple[str, ...]:
    """Lists the conventions that say nothing: those of the KL in the loss, where none is paid there."""
    return () if values["reward.kl_in"] in ("loss", "both") else KL_LOSS


COMPARISON = Comparison(
    "Which PPO is it?", INTRODUCTION, COLUMNS, OVER, GRADIENTS, OF_THE_BATCH, silent, sources=SOURCES,
)  # fmt: skip
