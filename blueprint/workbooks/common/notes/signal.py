"""Notes on the sheet Reward & advantage."""

NOTES: dict[str, str] = {
    "kl.k1": (
        "Averages to the KL, yet it may be negative, and then the word earns a reward for its drift. Below 0 "
        "over a whole batch it hints at log-probs of another distribution than the one sampled from. OpenRLHF "
        "0.11.2 clamps it to ±10; verl 0.9.1 and TRL 1.12 do not."
    ),
    "kl.k2": (
        "Close to the KL only where the policies are close; elsewhere it averages to something else. TRL 0.11.4 "
        "and verl 0.9.1 call it mse."
    ),
    "kl.k3": (
        "k1 plus e^(−k1) − 1, which is 0 on average and removes the negative values. It explodes where π_ref is "
        "far above π_old: verl 0.9.1 and NeMo-RL 7ea279a clamp the log-ratio to ±20 and k3 to ±10, TRL 1.12 does "
        "not."
    ),
    "kl.used": (
        "Belongs to the rollout and is constant while the new policy is trained: its price reaches the policy "
        "through the advantages. NeMo-RL 7ea279a puts the new policy's KL into the loss instead; OpenRLHF 0.11.2 "
        "and verl 0.9.1 can."
    ),
    "reward.penalty": (
        "Paid word by word, while the score comes once. Above 0 where k1 is below 0. By default β is fixed in "
        "TRL 1.12 and OpenRLHF 0.11.2, as here; TRL 0.11.4 and lm-human-preferences cbfd210 adapt it towards 6 "
        "nats per response."
    ),
    "reward.score": (
        "One number for the whole text; GAE carries it back to the first word. On the last word also in OpenRLHF "
        "0.11.2 and verl 0.9.1. One position later in TRL 1.12, DeepSpeed-Chat 83757d9 and torchtune bd2a0fc, "
        "two in trlX 3340c2f."
    ),
    "rewards": (
        "Over a response it adds up to score − β · KL. lm-human-preferences cbfd210 whitens it, keeping the "
        "mean; TRL 0.11.4 and 1.12 can. The score is first clipped to ±10 in OpenRLHF 0.11.2 and trlX 3340c2f, "
        "to ±5 in DeepSpeed-Chat 83757d9."
    ),
    "td_errors": (
        "What the word earned, plus what is expected after it, less what was expected before it. At the last "
        "word nothing follows: δ = r − V. verl 0.9.1 and NeMo-RL 7ea279a carry V across masked positions, which "
        "differs only where a mask has holes."
    ),
    "advantages": (
        "Read from right to left. The last A is the last δ, whatever γ and λ are; each earlier one is its δ plus "
        "γλ times its right neighbour. All libraries compared agree on this line; they differ in what stands "
        "behind the last word."
    ),
    "returns": (
        "What the critic is trained towards, constant like the advantages. Made of the raw A, before whitening. "
        "With γ = λ = 1 it is the plain sum of the rewards to come. All libraries compared add A + V."
    ),
    "advantage.mean": (
        "Over all response words of the batch, not per response. trlX 3340c2f counts the zeros of the padding "
        "too, lm-human-preferences cbfd210 every position."
    ),
    "advantage.centred": (
        "Better or worse than the average word of this batch: a word may be pushed down although its advantage "
        "was above 0. Compare the signs with those of A."
    ),
    "advantage.variance": (
        "By N − 1 in TRL 0.11.4 and 1.12, verl 0.9.1 and NeMo-RL 7ea279a; by N in lm-human-preferences cbfd210, "
        "OpenRLHF 0.11.2 and NeMo-Aligner 0.7. With a single word N − 1 is 0: verl 0.9.1 raises, TRL 0.11.4 "
        "gives nan; here the divisor is at least 1."
    ),
    "advantage.whitened": (
        "Mean 0 and, but for ε_w, variance 1. torchtune bd2a0fc adds the mean back, so it scales and does not "
        "centre. What stands in the padding differs (0 here, in TRL 1.12 and NeMo-RL 7ea279a) and does not "
        "matter."
    ),
    "advantages_used": (
        "The weight of the word in the loss: above 0 means more of it, below 0 less of it. It is a constant "
        "there: no gradient flows through it."
    ),
}
