"""Notes on the rollout: who reads, who writes, and which decisions count."""

NOTES: dict[str, str] = {
    "rollout.read": (
        "Column t reads what column t − 1 wrote. So all that it computes precedes the word it writes. Log-probs "
        "or values that are one column off are a classic error: trl#44, trl#633, trl#646, trlx#508."
    ),
    "word_written": (
        "The column's decision. Log-prob, KL, reward, value, advantage and ratio of a column, on every sheet, "
        "belong to the word written here."
    ),
    "mask": (
        "1 up to and including the end word. Every mean divides by the sum of this row. lm-human-preferences "
        "cbfd210 has no mask, all positions count; in TRL 1.12 and torchtune bd2a0fc the critic's mask reaches "
        "one position past the end."
    ),
    "rollout.room": "At 0 the response is cut, whether or not it has ended.",
    "rollout.is_end": ("Padding has id 0 as well, so this row is 1 there too. The row “ends” keeps the one true end."),
    "rollout.ends": (
        "1 in at most one column of an episode; in none if the response was cut. The end word belongs to the "
        "response: it has a log-prob, a KL, a value, and the score stands there."
    ),
    "rollout.ended": (
        "A memory of its own, because the end word is read again and again in the padding: whether the text is "
        "over cannot be told from the word just read."
    ),
    "rollout.draw": (
        "The only chance in the workbook. It is typed, so a rollout can be repeated, and changed one draw at a "
        "time. There is a u in every column, so that a response may become longer."
    ),
    "rollout.drawn": (
        "Drawn in every column, used where the mask is 1. Libraries that sample with top-k, top-p or a "
        "suppressed end word draw from another distribution than the one whose log-probs they take: the usual "
        "cause of a KL below 0 over a whole batch (trl#925)."
    ),
    "rollout.response": (
        "Typed words go before the draw, so that a response can be one that somebody really got. An empty cell leaves its "
        "word to the draw."
    ),
    "rollout.forced": (
        "The same as the draw where nothing is typed. The log-probs are those of the policy in either case; only the "
        "choice is not its own."
    ),
    "old.cumulative": (
        "Each word owns the stretch of the line from 0 to 1 that ends at its entry and begins at the entry "
        "before; u falls on one of them. A likely word owns a long stretch."
    ),
    "response.length": (
        "The end word is counted. Watch it in training: a reward model that likes length shows it here first."
    ),
    "response.words": (
        "Every mean over words divides by this number, so a long response weighs more than a short one. TRL "
        "0.11.4 counts the words of a minibatch, OpenRLHF 0.11.2 those of the whole optimiser step; verl 0.9.1 "
        "has five ways to average, this one is its default."
    ),
}
