"""What the page "Which DPO is it?" says."""

from blueprint.workbooks.common.conventions import Change, Comparison, Values
from blueprint.workbooks.common.numbers_file import EVERY_WORD
from blueprint.workbooks.dpo.schema import DPO

INTRODUCTION = """\
They are called DPO, or are named after what they change of it, and each computes another loss from the same pairs: the same texts,
and the same log-probs of policy and reference. Every row below shows what one library does by default, apart from what its name
says, as its source says at the version named; `blueprint presets` says where. Libraries change fast: a name without a version says
little. β, γ and coefficients are each library's own defaults, which alone make losses differ. No row is the only correct one, but
if you compare two runs you should know which row each of them follows."""
GRADIENTS = """\
The loss is one number. The optimiser does not use this number; it uses the gradient of the loss with respect to what it changes.
The angle is the one between a gradient and the default's on the same pairs. At 0° both have the same direction, at 90° they
are perpendicular, and above 90° they partly oppose each other. Adam cancels a constant factor of a gradient; an optimiser does
not correct its direction.

- *β* changes the length of the gradient, and turns it a little: it sets at which margin a pair counts less. A loss at another β
  is neither better nor worse.
- *Means instead of sums* divide the gradient of each token by the length of its response: the whole gradient is shorter by about
  that factor, and short responses count more. A β for means is a β for sums times the length.
- *IPO* with β = 0.1 has a loss of 25 at the start, (1/2β)²; this is large, but nothing is wrong. Where the margin is above the
  target, its gradient does not become 0: it makes the margin smaller.
- *Without a reference* a pair's margin is that of the policy alone: the log-probs that the model had before training count.
- *An NLL term* makes the chosen response likelier by itself; the preference loss alone may make both responses less likely.
- *Label smoothing* makes a pair's gradient smaller, and reverses it where the margin is large; *robust* divides by 1 − 2ε, so
  that on average over flipped labels the loss is that of the right ones."""
SOURCES = """\
DPO, cDPO, robust, IPO (mean or sum), hinge, SLiC, KTO, ORPO, SimPO, CPO, length-normalised, reference-free, APO, AOT and others are
switches of one workbook, with gradients and optimiser steps if you ask for them:

    blueprint build --numbers dpo                     # three pairs, a small policy and its reference
    blueprint build --numbers dpo-batch --preset trl_1.16_ipo   # four pairs from logits on; 37 presets by library and version
    blueprint build --numbers dpo-batch --compare trl_1.16,trl_0.24,simpo --gradients -o three_dpos.xlsx
    blueprint build --numbers optimum                 # PPO's objective, the DPO loss and π* ∝ π_ref·exp(r/β), over all responses

195 recorded runs of eighteen libraries (22 versions) are reproduced by the definitions and by torch, losses to 1e-12, gradients to
1e-11. Known defects are reproduced and named, such as LLaMA-Factory's hinge, which trains DPO, or TRL's label smoothing, which
nothing reads since 0.29. The puzzles of DPO (`docs/puzzles-dpo.md`) explain a chosen reward that falls, a loss of 0.6931, an
accuracy of 0, IPO's β, and pad = eos.

The stages before have workbooks on the same network and vocabulary. Pairs, rankings and demonstrations of your own may be texts,
messages, tokens or log-probs (`docs/own-pairs.md`); `verify` and `import` read steps of TRL's DPOTrainer and RewardTrainer. The
notebook `notebooks/a-reward-model-from-pairs.ipynb` trains a reward model on 2,000 noisy pairs, compares its scores with the true
ones, and makes a workbook of a step.

    blueprint build --numbers sft                     # shift, mask, six ways to divide, p − one-hot, two optimiser steps
    blueprint build --numbers reward-model            # B > A > D > C as six pairs; four steps until the ranking is right
    blueprint numbers pairs.jsonl --kind dpo -o mine.toml       # or --kind sft, --kind reward_model; then build"""
OVER = {"choices": "the policy's weights", "preferences": "the policy's logits, with which these pairs begin"}
COLUMNS = {
    "loss": "library.total_loss",
    "preference loss": "library.preference_loss",
    "NLL adds": "library.adds.nll",
    "reward of the chosen": "library.rewards.chosen",
    "margin": "library.rewards.margins",
    "accuracy": "library.rewards.accuracies",
}
FORM, OF, REFERENCE, NLL = "loss.form", "logp.of", "reference.used", "loss.nll_coef"
READ_BY = {
    "loss.exo_eps": ("exo",), "loss.discopop_tau": ("discopop",), "loss.aot_tie": ("aot", "aot_unpaired"),
    "loss.bco_threshold": ("bco",), "loss.odds_one": ("orpo", "orpo_tokens"), "loss.desirable": ("kto", "apo_zero_unpaired"),
    "loss.undesirable": ("kto", "apo_zero_unpaired"),
    "loss.label_smoothing": ("sigmoid", "robust", "hinge", "aot", "aot_unpaired"), "loss.gamma": ("sigmoid", "hinge"),
}  # fmt: skip
"""Settings with the forms that read them."""
SIMPO: Values = {"beta": 2.0, "loss.gamma": 0.5, OF: "mean", REFERENCE: "off"}
ORPO: Values = {FORM: "orpo", OF: "mean", REFERENCE: "off", NLL: 1.0, "loss.nll_region": "text"}


def silent(values: Values) -> tuple[str, ...]:
    """Lists the conventions that say nothing: what only other forms read, and parts of what is not done."""
    found = [key for key, forms in READ_BY.items() if values[FORM] not in forms]
    if not values[NLL]:
        found += [key for key, each in DPO.items() if each.part_of == NLL]
    if values["logp.ld"] == "off":
        found += [key for key, each in DPO.items() if each.part_of == "logp.ld"]
    if values[REFERENCE] == "off":
        found.append("margin.divergence")
    return tuple(dict.fromkeys(found))


CHANGES = (
    Change("β = 0.2", {"beta": 0.2}),
    Change("β = 0.5", {"beta": 0.5}),
    Change("means in place of sums", {OF: "mean"}),
    Change("means, β = 5 (Tülu 3)", {OF: "mean", "beta": 5.0}),
    Change("without a reference", {REFERENCE: "off"}),
    Change("cDPO: labels smoothed by 0.1", {"loss.label_smoothing": 0.1}),
    Change("robust: the same without its bias", {FORM: "robust", "loss.label_smoothing": 0.1}),
    Change("hinge", {FORM: "hinge"}),
    Change("IPO of sums", {FORM: "ipo"}),
    Change("IPO of means", {FORM: "ipo", OF: "mean"}),
    Change("KTO on the same responses, unpaired", {FORM: "kto"}),
    Change("SimPO: means, no reference, β = 2, γ = 0.5", SIMPO),
    Change("ORPO: odds, and the NLL of prompt and chosen", ORPO),
    Change("0.2 of the chosen's NLL, a mean over tokens", {NLL: 0.2}),
    Change("0.2 of the chosen's NLL, sums over responses", {NLL: 0.2, "loss.nll_mean": "sequence_sum"}),
    Change("a margin of γ = 0.5", {"loss.gamma": 0.5}),
    Change("forward KL", {"margin.divergence": "forward_kl"}),
    Change("tokens beyond the shorter response count a half (LD-DPO)", {"logp.ld": "both", "logp.ld_alpha": 0.5}),
    Change("pairs weighed by how likely the policy writes them (WPO)", {"loss.weight": "wpo"}),
    Change("APO zero", {FORM: "apo_zero"}),
)
DEFECTS = (
    Change("LLaMA-Factory's hinge trains DPO", {FORM: "sigmoid"},
           "LLaMA-Factory 0.9.5 with TRL 0.20 or later: pref_loss=hinge is not handed on to the loss, which is plain DPO. With "
           "TRL 0.19.1 it is the hinge."),
    Change("LLaMA-Factory's ipo trains DPO of means", {FORM: "sigmoid", OF: "mean"},
           "LLaMA-Factory 0.9.5 with TRL 0.20 or later: pref_loss=ipo takes means of log-probs as IPO does, and then the logistic "
           "loss: neither of the two."),
    Change("label_smoothing does nothing", {"loss.label_smoothing": 0.0},
           "TRL 0.29 and later, DPOTrainer, loss_type sigmoid: label_smoothing is read by robust and exo_pair alone, and there is "
           "no warning. TRL 0.24 smoothed (cDPO)."),
    Change("WPO's weights off by one token", {"loss.weight": "wpo_shifted"},
           "TRL 0.24.0, DPOTrainer, use_weighting: the mean over the vocabulary belongs to the position before; right in 1.16."),
    Change("LD-DPO counts from the prompt", {"logp.ld": "policy", "logp.ld_alpha": 0.5, "logp.ld_from": "row"},
           "TRL 0.24.0, DPOTrainer, ld_alpha: positions are counted from the start of the row, prompt included, and the response "
           "is cut at its own length, of the policy alone; right in 1.16."),
    Change("ORPO's mean counts a pad", {**ORPO, OF: "mean_with_pad"},
           "ORPO 208d2d6 and axolotl's older path: in rows shorter than the longest one prediction of a pad is among the tokens, "
           "so that the mean is over n + 1."),
    Change("SimPO with a whole NLL", {**SIMPO, NLL: 1.0},
           "TRL 1.16.0, CPOTrainer, loss_type simpo: cpo_alpha is 1 unless it is set to 0, so that the NLL of the chosen is added; "
           "the paper has none."),
    Change("rewards logged without β", {"watch.rewards": "no_beta"},
           "NeMo-Aligner and NeMo-RL log the log-ratio itself: the loss is the same, rewards and margins are 1/β times as large as "
           "those of other libraries."),
)  # fmt: skip
"""Each as a library has it, on top of this workbook's default."""
COMPARISON = Comparison(
    "Which DPO is it?", INTRODUCTION, COLUMNS, OVER, GRADIENTS, (), silent, {EVERY_WORD: True}, ("compare=default",),
    "β, γ and coefficients", CHANGES, DEFECTS, SOURCES,
)  # fmt: skip
