"""Notes on the rows of Loss, Diagnostics and Libraries that are there only where conventions are live."""

NOTES: dict[str, str] = {
    "surrogate.pessimistic": (
        "The clipped objective of the PPO paper. What the loss takes differs from it only where a dual clip is on."
    ),
    "surrogate.floor": (
        "With c = 3, as in verl 0.9.1, a word of Â < 0 stops at 3·Â once its ratio is above 3, and has no gradient from "
        "there on. Where it reads off, no word ever gets there."
    ),
    "loss.kept": (
        "0 for a response without its end word in NeMo-Aligner 0.7. Its words leave sum and divisor of the mean; the "
        "value loss keeps them."
    ),
    "loss.mean_ratio": "1 before the first update. Read by the guard below it, which only TRL 0.11.4 has.",
    "loss.keep": (
        "0 takes policy and value loss out of this step. TRL 0.11.4 does so above 10; everywhere else it is 1, however "
        "large the ratios are."
    ),
    ".weight.length": "Where NeMo-Aligner 0.7 drops a response from the policy loss, 0 stands here for it.",
    ".weight.rows": "A response of which no word counts is not in the mean over responses either.",
    ".weight.token_mean": (
        "A long response weighs more than a short one. N is counted over a microbatch in TRL 0.11.4 and 1.12, trlX 3340c2f "
        "and torchtune bd2a0fc, over the whole step in OpenRLHF 0.11.2 and NeMo-RL 7ea279a: not the same for unequal "
        "lengths."
    ),
    ".weight.token_sum": "No division: the more words a batch has, the larger its loss and its gradient.",
    ".weight.seq_sum": (
        "seq-mean-token-sum: as for token-mean all words weigh the same, but the size of the loss grows with the length "
        "of the responses."
    ),
    ".weight.seq_norm": (
        "seq-mean-token-sum-norm: divided by a length that no response can change. For a time it lacked the mean over "
        "the responses (verl#3741, verl PR#5366)."
    ),
    ".weight.seq_mean": (
        "seq-mean-token-mean: a short answer has as much say as a long one, so each word of the long one has less. A "
        "choice in verl 0.9.1 and OpenRLHF 0.11.2."
    ),
    ".weight.chosen": (
        "All that aggregation comes down to. Compare a short response with a long one: equal numbers, and words are "
        "weighed alike."
    ),
    ".weight.row": (
        "The loss is the sum of this row times the row of losses. For the two means it adds up to 1; where an ε is added, "
        "to a little less."
    ),
    "value.counted": (
        "One slot more than the response in TRL 1.12 and torchtune bd2a0fc. DeepSpeed-Chat 83757d9 and trlX 3340c2f read "
        "the value there in GAE, but do not train it."
    ),
    "value.larger": (
        "Where the clip would make an error look smaller it does not count. The same pessimism as in the surrogate, with "
        "the sign of a loss."
    ),
    "entropy.watched": (
        "Logged, not used. TRL 1.12 averages it over pads too (policy/entropy_avg). Its objective/entropy is −log p of the "
        "words drawn and once got −1 from every pad (trl#2281, trl PR#6121)."
    ),
    "kl_loss": (
        "Known from GRPO. Weighed like the policy loss; unless kl_in is “both”, the reward is then the score alone and GAE "
        "does not see the drift."
    ),
    "kl_coef.loss": "Not 0 only where kl_in is “loss” or “both”: verl 0.9.1 can pay in both places at once, at a price each.",
    "vf_coef.used": (
        "0 where the critic has an optimiser of its own: OpenRLHF 0.11.2, verl 0.9.1, DeepSpeed-Chat 83757d9, NeMo-Aligner "
        "0.7, NeMo-RL 7ea279a. The critic learns as before; only this total leaves it out."
    ),
    "adds.kl_loss": "0 by default: most libraries pay for the drift in the reward instead.",
    "watch.over": (
        "With pads in it, as in TRL 1.12, trlX 3340c2f and torchtune bd2a0fc, logs look calmer than the words are. "
        "lm-human-preferences cbfd210 counts all slots because it has no mask."
    ),
    "watch.eps": "Libraries that add an ε add it to masked means; a mean over all slots is a plain one.",
    "watch.slots.count": (
        "Divided by the response words it says how much TRL 1.12 dilutes its approximate KL: multiply by it to undo that."
    ),
    "watch.words.count": (
        "Clip fractions are masked also where the other means run over pads: so in TRL 1.12, trlX 3340c2f and torchtune "
        "bd2a0fc."
    ),
    "watch.values.count": "One more per response where the value loss counts a slot behind it.",
    "policy_kl.k2": "Never negative and, for small d, near the KL. TRL 0.11.4 logs its mean as approxkl.",
    "approx_kl.used": (
        "k1 in OpenRLHF 0.11.2 and verl 0.9.1, k2 in TRL 0.11.4 and 1.12, k3 in trlX 3340c2f. Where pads count (TRL 1.12, "
        "torchtune bd2a0fc, trlX 3340c2f) it is smaller than over words, by N over all slots."
    ),
    "ratio.mean": (
        "Expected to be 1, since π_old drew the words: a mean far from it hints at wrong log-probs. Pads of ratio 1 pull it "
        "to 1 in TRL 1.12. NeMo-Aligner 0.7 logs it in place of an approximate KL."
    ),
    "clip_fraction.used": (
        "By the loss in the RLHF libraries that log one, by the ratio in CleanRL fe8d8a0 and Stable-Baselines3 2.9.2. Pads "
        "never count here."
    ),
    "clip_fraction.dual": (
        "verl 0.9.1 logs it beside the other. Above 0 only where a dual clip is on and a bad word's ratio is larger than c."
    ),
    "clip_fraction.value": (
        "Such a word has no gradient in the value loss. If many do, ε_V is small for returns of this size."
    ),
    "kl.statistic": (
        "What an adaptive β is fed: per response in lm-human-preferences cbfd210 and TRL 0.11.4, per word in OpenRLHF "
        "0.11.2 and verl 0.9.1. trlX 3340c2f feeds a mean sum of k3, its ratio the wrong way round, prompt words included."
    ),
    "ev.free": (
        "N − 1 in TRL 0.11.4 and verl 0.9.1; N in lm-human-preferences cbfd210, CleanRL fe8d8a0 and Stable-Baselines3 "
        "2.9.2. It cancels in var/var, not in mse/var."
    ),
    "ev.returns_variance": "What there is to explain. verl 0.9.1 adds 1e-5 to it before it divides.",
    "ev.residual_old": "The raw advantage again, since R = A + V. It does not change while the critic is trained.",
    "ev.residual_new": (
        "Shrinks while the critic is trained on these returns. TorchRL 0.14.1, TRL 0.11.4 and lm-human-preferences cbfd210 "
        "judge by it."
    ),
    "ev.mse": "By N, not N − 1, and not centred: a critic that is off by a constant pays for it here.",
    "ev.error": "The only step in which the three forms differ: variance of either residual, or mean square.",
    "ev.used": (
        "1: all foreseen; 0: no better than a constant; below 0: worse. Old critic in CleanRL fe8d8a0 and verl 0.9.1, new "
        "critic in TorchRL 0.14.1; by the mean square in lm-human-preferences cbfd210 and TRL 0.11.4."
    ),
}
