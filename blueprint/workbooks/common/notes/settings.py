"""Notes on the sheet Inputs: settings, switches, prompts and vocabulary."""

NOTES: dict[str, str] = {
    "gamma": (
        "How much a reward counts that comes one word later. 0.9 makes the fading visible; RLHF takes 1, so that "
        "a long answer does not lose its score on the way to its first word. TRL 0.11.4, OpenRLHF 0.11.2 and "
        "verl 0.9.1: 1. CleanRL fe8d8a0 and Stable-Baselines3 2.9.2: 0.99."
    ),
    "gae_lambda": (
        "0 trusts the critic: A is the bare δ. 1 trusts the rewards alone: A is all that came, less V, with its "
        "full noise. TRL 0.11.4 and 1.12, DeepSpeed-Chat 83757d9 and NeMo-RL 7ea279a: 0.95. OpenRLHF 0.11.2 and "
        "verl 0.9.1: 1."
    ),
    "kl_coef": (
        "At 0 only the score counts and nothing ties the policy to the reference; if β is large, nothing else "
        "counts. Defaults: TRL 0.11.4: 0.2, then adapted; TRL 1.12: 0.05; OpenRLHF 0.11.2: 0.01; verl 0.9.1: "
        "0.001, and no KL at all unless it is asked for."
    ),
    "clip_range": (
        "How far one update may profit from moving a word. 0.2 on both sides is the common default; NeMo-RL "
        "7ea279a has 0.28 above in its math recipe. Set it to 0.01 and watch the clip fractions on Diagnostics."
    ),
    "value_clip_range": (
        "Measured in units of reward, unlike ε: 0.2 is tight for returns around 5 and idle for returns around "
        "0.1. TRL 0.11.4 and 1.12: 0.2; OpenRLHF 0.11.2 and verl 0.9.1: 0.5; Stable-Baselines3 2.9.2: none."
    ),
    "vf_coef": (
        "Weighs critic against policy where one optimiser trains both. TRL 0.11.4 and 1.12: 0.1; CleanRL fe8d8a0 "
        "and Stable-Baselines3 2.9.2: 0.5; trlX 3340c2f: 1. OpenRLHF 0.11.2, verl 0.9.1 and DeepSpeed-Chat "
        "83757d9 have an optimiser each and need no weight."
    ),
    "ent_coef": (
        "Enters the total with a minus, because entropy shall not shrink. CleanRL fe8d8a0 and TorchRL 0.14.1: "
        "0.01; verl 0.9.1 and Stable-Baselines3 2.9.2: 0; TRL 0.11.4 and 1.12 log the entropy without using it."
    ),
    "policy_kl_coef": (
        "Not to be confused with β: β prices the distance to the reference, within the reward; this one the "
        "distance to the policy before the update, within the loss. At 0 that distance is only watched. The PPO "
        "paper offers such a penalty instead of the clip."
    ),
    "update_step": (
        "A training step without gradients: θ = θ_old + step · Δ. At 0 every ratio is exactly 1. The same test "
        "finds errors in a training run: with learning rate 0 the log-ratio must be 0, else dropout, padding, "
        "positions or temperature differ between rollout and update."
    ),
    "whiten_eps": (
        "Matters only where all advantages nearly agree. Added to σ², under the root, in TRL 0.11.4 and verl "
        "0.9.1; to σ in CleanRL fe8d8a0 and Stable-Baselines3 2.9.2. OpenRLHF 0.11.2 divides by √max(σ², 1e-8), "
        "TorchRL 0.14.1 by max(σ, 1e-6)."
    ),
    "kl_estimator": (
        "k1 and k3 both average to the KL; k1 is negative for some words, k3 never; k2 is only near it. In the "
        "reward: k1 in lm-human-preferences cbfd210, trlX 3340c2f and torchtune bd2a0fc; |k1| in NeMo-Aligner "
        "0.7; a choice in TRL 1.12, OpenRLHF 0.11.2 and verl 0.9.1."
    ),
    "whiten_advantages": (
        "On, the size of an update no longer depends on the scale of the reward. TRL 0.11.4, OpenRLHF 0.11.2 and "
        "verl 0.9.1 whiten once over the whole batch, lm-human-preferences cbfd210 every minibatch anew; "
        "DeepSpeed-Chat 83757d9 not at all."
    ),
    "given": (
        "Prompt words are read but not judged: their columns have mask 0 and no part in the loss. The first "
        "empty cell is where the policy takes over."
    ),
    "max_new_tokens": (
        "A response that reaches it is cut, and here scored as it stands. Others punish a missing end word: "
        "lm-human-preferences cbfd210 sets the score to −1, torchtune bd2a0fc to −3, TRL 1.12 can subtract a "
        "penalty; NeMo-Aligner 0.7 drops the response from the policy loss."
    ),
    "decisions": (
        "Every episode gets as many columns as the longest may need; what a shorter one leaves over is padding, "
        "grey and with mask 0."
    ),
    "vocabulary": (
        "Id 0 ends a text and also fills the padding. That is why the mask goes by position: a mask made of "
        "“word ≠ pad” loses the true end where both are one word (trl PR#5303)."
    ),
}
