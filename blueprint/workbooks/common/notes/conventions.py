"""Notes on the settings that say what a library does: the sheets Conventions, Presets and Which PPO."""

NOTES: dict[str, str] = {
    "preset": (
        "Only the column “preset” follows it; what is typed under “yours” stays and goes first. Empty those cells "
        "before you compare two libraries."
    ),
    "batch.temperature": (
        "Dividing in one place and not in the other is a classic error (OpenRLHF PR#853, trl#3169, "
        "NeMo-Aligner#46). TRL 1.12 and torchtune bd2a0fc sample at 0.7 and divide, OpenRLHF 0.11.2 and verl 0.9.1 "
        "divide by 1; TRL 0.11.4, trlX 3340c2f and DeepSpeed-Chat 83757d9 never do."
    ),
    "batch.temperature_eps": (
        "1e-7 in TRL 1.12 and nowhere else, so that 0 does not divide by 0. It moves the seventh digit of every "
        "logit, which is why it stands here."
    ),
    "batch.response_mask": (
        "all: lm-human-preferences cbfd210 has no mask, so what stands behind the end word counts in every mean. "
        "non_pad: all others compared. Choose the other one and watch whitening, entropy and both losses move."
    ),
    "reward.kl_clamp_in": (
        "Keeps the EXP of k3 from overflowing (OpenRLHF#525). NeMo-RL 7ea279a: 20 for k1, k2 and k3; verl 0.9.1: "
        "20, for k3 alone. OpenRLHF 0.11.2 cuts k3's log-ratio at −10, which its clamp of the result hides."
    ),
    "reward.kl_clamp_out": (
        "OpenRLHF 0.11.2 and NeMo-RL 7ea279a: 10 for every estimator; verl 0.9.1: 10, for k3 alone; nobody else. It "
        "caps what a single word can cost, or earn where k1 is below 0."
    ),
    "reward.kl_clamp_of": (
        "k3: verl 0.9.1 (core_algos.py, kl_penalty_forward) holds the log-ratio of k3 and its result, and leaves k1, k2 and "
        "|k1| as they are. all: NeMo-RL 7ea279a, OpenRLHF 0.11.2. Idle where both clamps are off."
    ),
    "reward.kl_in": (
        "In the reward the price of a word reaches the words before it through GAE; in the loss it acts on its own "
        "word alone. verl 0.9.1 has neither by default, and both if asked. NeMo-RL 7ea279a has the loss by default, "
        "the reward if asked; OpenRLHF 0.11.2 the other way round."
    ),
    "reward.kl_at_first_pad": (
        "on in trlX 3340c2f and DeepSpeed-Chat 83757d9: their attention_mask[:, :-1] goes with the token before, so "
        "the slot behind the end word keeps a KL of its own. GAE carries it back into the response."
    ),
    "reward.score_slot": (
        "last: TRL 0.11.4, OpenRLHF 0.11.2, verl 0.9.1, NeMo-Aligner 0.7; one_past: TRL 1.12, DeepSpeed-Chat 83757d9, "
        "torchtune bd2a0fc; two_past: trlX 3340c2f; end: lm-human-preferences cbfd210. One past was reported as an "
        "error (trl#1893, trl#3750); the score is not lost, GAE carries it back."
    ),
    "reward.score_clip": (
        "5 in DeepSpeed-Chat 83757d9, 10 in OpenRLHF 0.11.2 and trlX 3340c2f, off elsewhere. Here it comes after the "
        "end-word rule and before the KL, so a reward may still leave the range."
    ),
    "reward.missing_eos": (
        "A response that was cut has none. lm-human-preferences cbfd210 sets −1, torchtune bd2a0fc sets −3, TRL 1.12 "
        "subtracts a penalty if asked. NeMo-Aligner 0.7 leaves the score and drops the response from the policy loss."
    ),
    "reward.missing_eos_value": (
        "−3 in torchtune bd2a0fc, −1 in lm-human-preferences cbfd210. With “subtract” a number above 0 lowers the "
        "score, with “set” it becomes the score. Idle while the rule is off."
    ),
    "reward.missing_eos_test": (
        "token: the end word was written. has_padding: a slot was left over, the test of torchtune bd2a0fc, so an end "
        "word on the very last slot is punished too."
    ),
    "reward.whiten": (
        "on in lm-human-preferences cbfd210, off in TRL 0.11.4 and 1.12 unless asked for. The mean is put back, only "
        "the scale changes, and the returns are in those units. torchtune bd2a0fc reads such an option and never "
        "uses it."
    ),
    "reward.whiten_rezero": (
        "off is a known defect: TRL 0.11.4 leaves (0 − μ)/σ + μ in the pads, and GAE carries it into the response; on "
        "the rollout that was run, up to 0.55 in the returns. TRL 1.12 sets pads back. Idle while rewards are not "
        "whitened."
    ),
    "advantage.tail_slots": (
        "How far behind the last word V lives on. 1 in TRL 1.12, DeepSpeed-Chat 83757d9 and torchtune bd2a0fc, "
        "which so use the critic's value of the finished text; 2 in trlX 3340c2f; 0 in all others. It goes with the "
        "slot of the score."
    ),
    "advantage.gae_holes": (
        "carry, in verl 0.9.1 and NeMo-RL 7ea279a, takes V and A unchanged from the next slot that counts. For a "
        "response in one piece both give the same numbers; they part in dialogues of several turns (verl#2337)."
    ),
    "advantage.stats": (
        "all: lm-human-preferences cbfd210, which has no mask, and trlX 3340c2f, where it is a known defect: the zeros "
        "of the pads enter mean and variance. mask: the others. SkyRL#1305 was a mixture of both."
    ),
    "advantage.ddof": (
        "1: TRL 0.11.4 and 1.12, verl 0.9.1, NeMo-RL 7ea279a, torchtune bd2a0fc. 0: lm-human-preferences cbfd210, "
        "OpenRLHF 0.11.2, NeMo-Aligner 0.7. trlX 3340c2f: 1, but 0 on several processes. With many words it hardly "
        "matters."
    ),
    "advantage.eps_form": (
        "rsqrt_var_plus, √(σ² + ε): most RLHF libraries; clamp, √max(σ², ε): OpenRLHF 0.11.2; std_plus, σ + ε: CleanRL "
        "fe8d8a0, Stable-Baselines3 2.9.2; std_max, max(σ, ε): TorchRL 0.14.1. They part only where all numbers "
        "nearly agree."
    ),
    "advantage.mean_eps": (
        "1e-8 in verl 0.9.1, NeMo-RL 7ea279a and torchtune bd2a0fc, so that an empty mask gives 0 and not nan. With "
        "words in the batch it shows in the ninth digit."
    ),
    "advantage.ddof_eps": (
        "1e-8 in torchtune bd2a0fc alone. A single word then divides by 1e-8 instead of 0; in float32 that is 0 again, "
        "and nan."
    ),
    "loss.sample_filter": (
        "ended: NeMo-Aligner 0.7 multiplies the mask by is_end, so a response that was cut teaches the policy nothing; "
        "the critic still learns from it. Elsewhere it counts, in some with a punished score."
    ),
    "loss.log_ratio_clamp": (
        "20 in OpenRLHF 0.11.2 and verl 0.9.1, against an overflow of EXP; no clamp elsewhere. verl 0.9.1 logs its "
        "approximate KL from the clamped one, OpenRLHF 0.11.2 from the other. TorchRL 0.14.1 does the whole clip in "
        "logs."
    ),
    "loss.clip_range_high": (
        "Equal to ε by default in all RLHF libraries compared. A larger one lets a good word gain more before it is "
        "held: NeMo-RL 7ea279a has 0.2 below and 0.28 above in its math recipe. TorchRL 0.14.1 takes a pair as well."
    ),
    "loss.dual_clip": (
        "3 in verl 0.9.1, always on; an option in OpenRLHF 0.11.2 and NeMo-RL 7ea279a, 10 in the math recipe of the "
        "latter. Without it the loss of a bad word grows with its ratio, without limit. It acts on bad words alone "
        "(tianshou#433)."
    ),
    "loss.ratio_threshold": (
        "10 in TRL 0.11.4: above it the minibatch has policy and value loss multiplied by 0, although statistics of it "
        "were already logged. No other library compared has such a guard."
    ),
    "loss.aggregation": (
        "token-mean weighs words alike, seq-mean-token-mean responses alike. token-mean is the default of all "
        "compared; verl 0.9.1 has five. A mean over microbatches of such means is yet another number (verl#5625, "
        "verl#7321)."
    ),
    "loss.agg_eps": (
        "1e-8 in NeMo-RL 7ea279a and torchtune bd2a0fc, so that a batch without words gives a loss of 0 and not nan. "
        "With words it shows in the ninth digit."
    ),
    "loss.seq_eps": (
        "1e-8 in OpenRLHF 0.11.2, verl 0.9.1 and NeMo-RL 7ea279a, for responses without a word. Idle unless each "
        "response is averaged by itself (seq-mean-token-mean)."
    ),
    "loss.joint": (
        "on: one sum, in lm-human-preferences cbfd210, TRL 0.11.4 and 1.12, trlX 3340c2f, torchtune bd2a0fc. off: the "
        "critic trains apart and the value loss is in no total, in OpenRLHF 0.11.2, verl 0.9.1, DeepSpeed-Chat "
        "83757d9, NeMo-Aligner 0.7, NeMo-RL 7ea279a."
    ),
    "loss.entropy_aggregation": (
        "OpenRLHF 0.11.2 takes a token mean, whichever way its policy loss is aggregated. Both words give the same "
        "number as long as that is a token mean too."
    ),
    "loss.kl_coef": (
        "A price of its own in verl 0.9.1 (kl_loss_coef, beside kl_ctrl.kl_coef), each 0.001. OpenRLHF 0.11.2 and NeMo-RL "
        "7ea279a have one, used where the KL is paid: a numbers file that gives ppo.kl_coef alone means both."
    ),
    "loss.kl_estimator": (
        "verl 0.9.1: k3 (kl_loss_type low_var_kl), while k1 enters the reward (kl_penalty kl). OpenRLHF 0.11.2 and NeMo-RL "
        "7ea279a have one estimator for both: a numbers file that gives ppo.kl_estimator alone means both."
    ),
    "loss.kl_clamp_in": (
        "As in the reward, for the log-ratio of the new policy: 20 in verl 0.9.1, for k3 alone, and in NeMo-RL 7ea279a. Where "
        "it bites a word has no gradient any more."
    ),
    "loss.kl_clamp_out": (
        "As in the reward: 10 in OpenRLHF 0.11.2, NeMo-RL 7ea279a and verl 0.9.1, there for k3 alone. k3 reaches it at a "
        "log-ratio of −2.6, and has no gradient beyond."
    ),
    "loss.kl_clamp_of": (
        "As in the reward: k3 in verl 0.9.1, where both go through one function; all in OpenRLHF 0.11.2 and NeMo-RL 7ea279a."
    ),
    "value.factor": (
        "½ in all RLHF libraries compared; 1 in Stable-Baselines3 2.9.2. NeMo-RL 7ea279a multiplies ½ by a scale. Asked "
        "about again and again (baselines#408, sb3#1426): it does no more than rescale c1."
    ),
    "value.tail": (
        "1 in TRL 1.12 and torchtune bd2a0fc: the critic is trained on the slot behind the end word too. DeepSpeed-Chat "
        "83757d9 and trlX 3340c2f read a value there in GAE, yet leave it out of the loss."
    ),
    "value.combine": (
        "max in all RLHF libraries compared: no error can hide behind the clip. clipped_only: Stable-Baselines3 2.9.2. "
        "RLlib once took the minimum (ray#2233)."
    ),
    "value.aggregation": (
        "token-mean: OpenRLHF 0.11.2 and NeMo-RL 7ea279a, whatever the policy loss does. The same number as as-policy "
        "as long as that is a token mean. Means of microbatch means are a trap here too (verl PR#6957)."
    ),
    "metrics.kl": (
        "k1: OpenRLHF 0.11.2, verl 0.9.1. k2: lm-human-preferences cbfd210, TRL 0.11.4 and 1.12, torchtune bd2a0fc. k3: "
        "trlX 3340c2f, CleanRL fe8d8a0, Stable-Baselines3 2.9.2. Of which log-ratio, says d_aKL."
    ),
    "metrics.log_ratio": (
        "raw: OpenRLHF 0.11.2 (loss.py, raw_policy_log_ratio) logs the log-ratio before its clamp. clamped: verl 0.9.1, which "
        "logs the one that the ratio is made of. The same number where no clamp is on, or none is reached."
    ),
    "metrics.over": (
        "all: TRL 1.12, trlX 3340c2f and torchtune bd2a0fc log means over padding, a known defect of the log, not of "
        "the training. There the log-ratio is 0 and the ratio 1, so a KL looks smaller and a mean ratio nearer to 1."
    ),
    "metrics.clip_fraction": (
        "loss: a word whose loss the clip changed, in all RLHF libraries that log it. ratio: a word whose ratio left "
        "its range, in CleanRL fe8d8a0 and Stable-Baselines3 2.9.2; never fewer."
    ),
    "metrics.explained": (
        "var_old: CleanRL fe8d8a0, Stable-Baselines3 2.9.2. var_new: TorchRL 0.14.1. mse_new: lm-human-preferences "
        "cbfd210, TRL 0.11.4. Three numbers by one name: a critic that is off by a constant is blamed for it by the "
        "last one alone."
    ),
    "metrics.ev_eps": (
        "1e-5 in verl 0.9.1, 0 elsewhere. It pulls the result towards 1 where the returns hardly differ; otherwise it "
        "is not seen."
    ),
    "metrics.kl_stat": (
        "seq_sum: lm-human-preferences cbfd210 and TRL 0.11.4, with a target of 6. token_mean: OpenRLHF 0.11.2 and verl "
        "0.9.1, with a target near 0.1. Fed against the other's target, β moves one way for good (trlx#438, verl#1984)."
    ),
    "library.names": "Choose another preset in a cell: its column here and its rows on Libraries follow.",
    "library.differences": (
        "0 for the preset in use, as long as nothing is typed under “yours”. The section marks which ones they are."
    ),
}
