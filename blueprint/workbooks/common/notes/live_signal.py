"""Notes on the rows of Reward & advantage and Libraries that are there only where conventions are live."""

NOTES: dict[str, str] = {
    "place.until": "Read from right to left. Unlike the mask it has no holes, so the end can be found by it.",
    "place.last": (
        "The column that wrote the end word, or the last allowed word of a cut response. The score stands here in TRL "
        "0.11.4, OpenRLHF 0.11.2 and verl 0.9.1."
    ),
    "place.first_past": (
        "The column that reads the end word: a value in it is what the critic thinks of the finished text. TRL 1.12 has "
        "a mask for it (padding_mask_p1)."
    ),
    "place.second_past": "trlX 3340c2f alone looks as far as this: its GAE runs over two entries more.",
    "place.end": (
        "lm-human-preferences cbfd210 puts the score here, however early the response ended. With λ below 1 it fades on "
        "the way back to the words."
    ),
    "place.one_past": (
        "min(A, T − 1) for A words in T slots. A response that fills all slots has its score where “last” would put it, "
        "a shorter one has it a column later."
    ),
    "place.two_past": (
        "min(A + 1, T − 1) for A words in T slots, in trlX 3340c2f. Of three responses, full, one short, two short, the "
        "distance from the word to the score is 0, 1 and 2."
    ),
    "response": (
        "Every slot in lm-human-preferences cbfd210, the words up to the end in all others compared. A mask made by "
        "“word ≠ pad” loses the true end where both are one word (trl PR#5303)."
    ),
    "kept": (
        "Outside, V is 0: left as it is, it would leak into the last δ (verl PR#50). One slot longer than M in TRL 1.12, "
        "DeepSpeed-Chat 83757d9 and torchtune bd2a0fc, two in trlX 3340c2f."
    ),
    "kl.held": (
        "Only k3 reads it in verl 0.9.1, all estimates do in NeMo-RL 7ea279a. The exponential is the reason: k3 of a log-ratio "
        "of −710 has no number."
    ),
    "kl.abs": (
        "NeMo-Aligner 0.7 by default, a choice in TRL 0.11.4 and verl 0.9.1. No word earns anything by drifting, but the "
        "mean lies above the KL."
    ),
    "kl.chosen": (
        "Not yet clamped. “full” is the exact KL over the vocabulary, a choice in TRL 0.11.4; all others work from the "
        "word drawn."
    ),
    "kl_new.held": ("By the clamps of the loss, which may be others than those of the reward."),
    "kl_new.k1": (
        "Of the policy in training, while the price in the reward is of the policy that wrote. Only this one can be a "
        "loss: the other is constant."
    ),
    "kl_new.k3": (
        "As a loss its gradient is biased. verl 0.9.1 offers k3+ (verl#6058): the value of k3 with the gradient of k2. "
        "The values agree, and only those are seen here."
    ),
    "kl_new.used": (
        "Enters the total only where kl_in is “loss” or “both”: by default in NeMo-RL 7ea279a, as an option in OpenRLHF "
        "0.11.2 (use_loss) and verl 0.9.1 (use_kl_loss)."
    ),
    "kl_new.exact": (
        "Weighed by π_θ, not by π_old: the same as on the sheet Reference only before the first update. Taken where the "
        "estimator is “full”."
    ),
    "score.ended": (
        "By the end word, or by a slot left over. The two part where the end word falls on the very last slot; torchtune "
        "bd2a0fc takes the latter."
    ),
    "score.corrected": (
        "Differs from the given score only for responses that were cut. torchtune bd2a0fc sets −3, lm-human-preferences "
        "cbfd210 −1, TRL 1.12 subtracts if asked."
    ),
    "score.clipped": (
        "Only the score is clipped, not the price of drifting that is added next. ±5 in DeepSpeed-Chat 83757d9, ±10 in "
        "OpenRLHF 0.11.2 and trlX 3340c2f."
    ),
    "score.place": (
        "The first row to look at when the returns of two libraries disagree. One past the last word is no error, "
        "provided that V is kept there (trl#1893, trl#3750, trlx PR#433): see check.score. torchtune bd2a0fc leaves the score "
        "of a response of one word on that word; here it moves on."
    ),
    "score.placed": (
        "Added up over a response, its one score. Where a response fills all slots, all four places are the same."
    ),
    "kl.support": (
        "In trlX 3340c2f and DeepSpeed-Chat 83757d9 one slot more than M: there the KL of a pad is charged, not that of a "
        "word that was chosen."
    ),
    "kl_coef.reward": (
        "β where kl_in is “reward” or “both”, else 0. Constant within a batch; lm-human-preferences cbfd210 makes the rewards with "
        "the old β and adapts it afterwards. The built-in numbers kl-controller show how."
    ),
    "rewards.raw": "Over a response it adds up to score − β · KL. Not yet whitened; compare it with the row r.",
    "reward.counted": "In TRL 1.12 the slot one past the last word enters as well: the score lies there.",
    "reward.whitened": "Only a step: GAE never sees rewards of mean 0, the mean comes back in the next row.",
    "reward.shifted": (
        "Scaled, not centred, so good responses stay good. What it is at the pads is the question: TRL 0.11.4 leaves "
        "(0 − μ)/σ + μ there, which leaks into GAE, a known defect; TRL 1.12 sets 0."
    ),
    ".bessel": (
        "Turns a mean of squares into an unbiased variance; 1 where ddof is 0. For one word alone verl 0.9.1 raises, TRL "
        "0.11.4 and NeMo-RL 7ea279a give nan; here it stays finite."
    ),
    ".divisor": (
        "One of the four lines above. In an ordinary batch they agree in the digits that are shown: ε_w counts only where "
        "all numbers are nearly equal."
    ),
    "advantage.counted": (
        "Pads count in lm-human-preferences cbfd210, by design, and in trlX 3340c2f, by accident: the zeros there shift "
        "the mean and change the variance."
    ),
    "advantage.shifted": (
        "Used by “keep_mean”: torchtune bd2a0fc passes shift_mean=True, which adds the mean there, so advantages are "
        "scaled, not centred, a known defect. In TRL 0.11.4 it is shift_mean=False that puts a mean back, for rewards."
    ),
    "values.kept": (
        "What δ and the returns read. Where K reaches one slot past the end (TRL 1.12, DeepSpeed-Chat 83757d9, torchtune "
        "bd2a0fc), V there is a real bootstrap value; only behind the last slot it is always 0."
    ),
    "gae.over": (
        "1 only with “carry” (verl 0.9.1, NeMo-RL 7ea279a), then behind every response as well, where nothing comes of "
        "it. Inside one it is a hole of the mask."
    ),
    "gae.ahead": "V itself, except in a hole: there it is the V that lies beyond. Without holes the two rows agree.",
}


LIVE: dict[str, str] = {
    "old_critic.values": (
        "A value in every slot, behind the response too: TRL 1.12, torchtune bd2a0fc, DeepSpeed-Chat 83757d9 and trlX "
        "3340c2f read it one or two slots past the last word. Which of them are kept is decided on Reward & advantage."
    ),
    "critic.values": (
        "A value in every slot, behind the response too: TRL 1.12 and torchtune bd2a0fc count one slot more in the value "
        "loss. The row “value.counted” on Loss says which slots count."
    ),
}
"""What is said instead where conventions are live."""
