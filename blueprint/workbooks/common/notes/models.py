"""Notes on the rows that the models share; a key that begins with a dot stands for every model that has the row."""

NOTES: dict[str, str] = {
    ".E": (
        "All that a model knows of a word before any context. Two words with equal columns would be one word to it."
    ),
    ".W": (
        "Read it with the row beside it: a column of W times a column of x, summed and put through tanh, is one "
        "number of the memory. The last line multiplies the 1 and is the bias."
    ),
    ".Y": "No bias: where h is 0, all words are equally likely.",
    ".head.w": (
        "The language model's body with one number on top instead of a soft-max: the same shape for critic and "
        "reward model. In practice both usually start as a copy of the fine-tuned policy."
    ),
    ".head.b": (
        "Moves every output of the model alike. It is the quickest way to make a critic wrong on purpose and to "
        "see the value loss answer."
    ),
    ".inputs": "Three parts, one below the other: the word, the memory of the column to the left, and a 1.",
    ".memory": (
        "All that is left of the text so far. A transformer looks back at every word instead; from the log-probs "
        "and values on, nothing would differ."
    ),
    ".logits": (
        "Only differences count: a number added to a whole column changes no probability. TRL 1.12, OpenRLHF "
        "0.11.2 and verl 0.9.1 divide logits by the sampling temperature before taking log-probs; TRL 0.11.4, "
        "trlX 3340c2f and DeepSpeed-Chat 83757d9 never do. Here it is 1."
    ),
    ".top": "Taken off before EXP, so that EXP cannot overflow. It drops out of every probability.",
    ".exponentials": (
        "1 for the likeliest word, less for all others. Divided by their sum they are the probabilities."
    ),
    ".logsumexp": "log p = z − lse. It lies above the largest logit, by at most ln(vocabulary).",
    ".log_p": (
        "The policy's whole answer. Of each column one number is looked up, that of the word written; entropy "
        "and exact KL read all rows. It is z − lse, never LN(p), which fails once p is rounded to 0."
    ),
    ".p": (
        "A column adds up to 1; the sheet Checks measures how nearly. Compare a column here with the same column "
        "of the other policies to see what drift looks like."
    ),
    ".p_log_p": (
        "Runs over the whole vocabulary, not only over the word written. Entropy and both exact KLs are made of it."
    ),
    ".cross": "p log p less this row is the exact KL. If both policies agree in a column, the two rows are equal.",
    ".delta.E": (
        "Typed in place of a gradient. Change one number: it moves every decision of a text from the column on "
        "that reads the word, and none before."
    ),
    ".delta.W": (
        "Typed in place of a gradient. W acts on every later column through the memory, so one number here moves "
        "the whole response."
    ),
    ".delta.Y": (
        "Typed in place of a gradient. A column of ΔY makes one word likelier or less likely, and through the "
        "soft-max all others a little the other way."
    ),
    ".delta.head.w": (
        "Typed in place of a gradient. The new critic moves away from the old one; advantages and returns stay."
    ),
    ".delta.head.b": (
        "Typed in place of a gradient. In the default example, type −1 and then −5: the critic gets worse, and "
        "the value loss and the total grow."
    ),
    **dict.fromkeys(
        ("policy.E", "critic.E", "policy.W", "critic.W", "policy.Y", "critic.head.w", "critic.head.b"),
        "Not typed: to change it, change Δ above, update_step on Inputs, or the old model's weight.",
    ),
    "old.logprobs": (
        "The ratio's denominator, fixed at the rollout and constant in every epoch. TRL 1.12 keeps it from "
        "sampling; TRL 0.11.4, OpenRLHF 0.11.2 and verl 0.9.1 run the model again. DeepSpeed-Chat 83757d9 runs "
        "it in train mode: with dropout, its ratios do not start at 1."
    ),
    "reference.logprobs": (
        "The reference is asked about words that it did not choose. It never changes, so the distance can only "
        "be closed by the policy. TRL 1.12 and torchtune bd2a0fc put 1.0, an impossible log-prob, into the "
        "padding of both rows, so that the KL is 0 there."
    ),
    "policy.logprobs": (
        "The same words as in the rollout, judged again; nothing is drawn anew. In training the gradient of the "
        "policy loss enters through this row alone."
    ),
    "reward_model.out": (
        "A number in every column, used in one: where the last word is read. Before that it is an opinion on an "
        "unfinished text."
    ),
    ".out": (
        "Not yet masked: there are numbers in the prompt and behind the end too. Used unmasked, the value behind "
        "the end would leak into the last δ, an error that verl PR#50 repaired."
    ),
    "old_critic.values": (
        "Expected before the word is chosen. After the last word it is 0, whether the response ended or was cut: "
        "no bootstrap. TRL 1.12, DeepSpeed-Chat 83757d9 and torchtune bd2a0fc use the critic's value one "
        "position past the end."
    ),
    "critic.values": (
        "Enters the value loss alone. Advantages, returns and the clip keep the old critic's values; if those "
        "were computed anew with the new critic, the value clip would never act (tensorflow/agents#352)."
    ),
    "policy.entropy": (
        "0 if one word is certain, ln(vocabulary) if all are alike. It sums over all words. TRL 1.12 logs two: "
        "policy/entropy_avg is this one, but averaged over the padding too; objective/entropy is −log p of the "
        "words drawn."
    ),
    "kl.exact": (
        "What k1 and k3 estimate from a single word: compare them. It needs both distributions in full, not only "
        "the word's log-prob. In TRL 0.11.4 a choice (full); the other libraries compared only sample."
    ),
    "policy_kl.exact": (
        "0 if update_step is 0. The clip looks only at the words that were written; this row sees the others "
        "move as well."
    ),
}
