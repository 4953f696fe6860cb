"""Where each piece comes from: the paper with its equation, or the library with version and function.

Equation numbers were looked up in the papers' texts. Papers without a number for a formula are cited by section.
"""

_PPO = "Schulman et al. 2017, arXiv:1707.06347"
_GAE = "Schulman et al. 2016, arXiv:1506.02438"
_BASELINES = "openai/baselines ea25b9e"
_OPENAI = "openai/lm-human-preferences cbfd210"

RNN = "torch.nn.RNN (tanh); the idea: Elman 1990, Cognitive Science 14, 179-211"
SOFTMAX = "Goodfellow, Bengio & Courville 2016, Deep Learning, sec. 4.1 (the largest score is taken off before exp)"
TEMPERATURE = (
    "TRL 1.12 ppo_trainer.py (temperature + 1e-7); OpenRLHF 0.11.2, verl 0.9.1; never divided: TRL 0.11.4, trlX"
)
DRAW = "inverse transform sampling: Devroye 1986, Non-Uniform Random Variate Generation, ch. II.2"
LOGPROBS = f"{_OPENAI}, utils/core.py logprobs_from_logits; TRL 0.11.4 core.py logprobs_from_logits"
SCORE = f"on the last word: TRL 0.11.4 PPOTrainer.compute_rewards; always in the last slot: {_OPENAI}, train_policy.py"
_KL = "Schulman 2020, Approximating KL Divergence (joschu.net/blog/kl-approx.html)"
REFERENCE_KL = f"{_KL}, with r = π_ref / π_old"
POLICY_KL = f"{_KL}, with r = π_θ / π_old"
PENALISED = f"{_PPO}, eq. 8 (KL to the policy before the update)"
UPDATE = "in place of a training step: the new weights are the old ones and a typed change"
EXACT_KL = "TRL 0.11.4 PPOTrainer._kl_penalty, kl_penalty = full"
REWARD = "Ziegler et al. 2019, arXiv:1909.08593, eq. 2; per word: Ouyang et al. 2022, arXiv:2203.02155, sec. 3.5"
TD_ERROR = f"{_GAE}, sec. 3 (eq. 11); {_PPO}, eq. 12"
GAE = f"{_GAE}, eq. 16, as the backward recursion of {_BASELINES} ppo2/runner.py"
VALUES = "no bootstrap after the last word: TRL 0.11.4 PPOTrainer.compute_advantages, verl 0.9.1, OpenRLHF 0.11.2"
RETURNS = f"{_BASELINES}, ppo2/runner.py: returns = advantages + values"
WHITEN = f"TRL 0.11.4 core.py masked_whiten (n - 1); {_OPENAI}, utils/core.py whiten (n)"
RATIO = f"{_PPO}, sec. 3"
CLIP = f"{_PPO}, eq. 7"
VALUE_CLIP = f"{_BASELINES}, ppo2/model.py (not in the paper, whose eq. 9 has neither clip nor half)"
ENTROPY = f"{_OPENAI}, utils/core.py entropy_from_logits"
TOTAL = f"{_PPO}, eq. 9, with the sign turned: a loss is made smaller; c3·KL: eq. 8"
CLIP_FRACTION_LOSS = f"{_OPENAI}, train_policy.py: the clipped loss is the larger one; TRL, verl, OpenRLHF alike"
CLIP_FRACTION_RATIO = f"{_BASELINES}, ppo2/model.py; CleanRL fe8d8a0 and Stable-Baselines3 2.9.2 alike"
APPROX_KL_K1 = f"verl 0.9.1 compute_policy_loss_vanilla, ppo_kl; {_KL}"
APPROX_KL_K3 = f"CleanRL fe8d8a0 ppo.py, Stable-Baselines3 2.9.2 ppo/ppo.py; {_KL}"
EXPLAINED_VARIANCE = f"{_BASELINES}, common/math_util.py explained_variance (0 instead of nan for equal returns)"

# Where conventions part: the library with version or commit, and its function.
MASK = "all slots: openai/lm-human-preferences cbfd210, train_policy.py; words alone: TRL, OpenRLHF, verl and others"
TAIL = "TRL 1.12 ppo_trainer.py (padding_mask_p1); DeepSpeed-Chat 83757d9 ppo_trainer.py; trlX 3340c2f (two slots)"
KL = "k1, k2, k3: Schulman 2020 (joschu.net/blog/kl-approx.html); abs, full: TRL 0.11.4 PPOTrainer._kl_penalty"
KL_CLAMP = (
    "NeMo-RL 7ea279a algorithms/utils.py (±20 in, ±10 out); OpenRLHF 0.11.2 compute_reward (±10); verl 0.9.1, k3 only"
)
KL_SUPPORT = "trlX 3340c2f and DeepSpeed-Chat 83757d9 keep the KL of the first pad (attention_mask[:, :-1])"
SCORE_SLOT = (
    "last: TRL 0.11.4 compute_rewards; end: lm-human-preferences cbfd210; one past: TRL 1.12; two past: trlX 3340c2f"
)
MISSING_EOS = "subtract: TRL 1.12 missing_eos_penalty; set: lm-human-preferences cbfd210, torchtune bd2a0fc"
SCORE_CLIP = "DeepSpeed-Chat 83757d9 clip_reward_value 5; OpenRLHF 0.11.2 and trlX 3340c2f 10"
REWARD_WHITEN = "lm-human-preferences cbfd210 whiten(shift_mean=False); TRL 0.11.4 and 1.12 whiten_rewards"
HOLES = "carry: verl 0.9.1 compute_gae_advantage_return; NeMo-RL 7ea279a"
WHITEN_FORMS = "TRL 0.11.4 core.py masked_whiten; OpenRLHF 0.11.2 (max); CleanRL fe8d8a0 (std + eps); torchtune bd2a0fc (mean back)"
LOG_RATIO = "OpenRLHF 0.11.2 and verl 0.9.1 clamp to ±20"
DUAL = "Ye et al. 2020, arXiv:1912.09729, eq. 5; verl 0.9.1 compute_policy_loss_vanilla (clip_ratio_c)"
FILTER = "NeMo-Aligner af2b3bd megatron_gpt_ppo_actor.py: mask · is_end"
AGGREGATION = "verl 0.9.1 core_algos.py agg_loss"
GUARD = "TRL 0.11.4 PPOTrainer.loss: ratio_threshold"
VALUE = "baselines ea25b9e ppo2/model.py (max of two squares); Stable-Baselines3 2.9.2 (clipped alone)"
KL_LOSS = "verl 0.9.1 use_kl_loss; NeMo-RL 7ea279a ClippedPGLossFn"
EXPLAINED = "1 − var/var: CleanRL fe8d8a0, verl 0.9.1; 1 − mse/var: lm-human-preferences cbfd210, TRL 0.11.4"
