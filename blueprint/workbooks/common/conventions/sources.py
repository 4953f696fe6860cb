"""Where each convention was read: the library with version or commit, and its function."""

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
WHITEN = "TRL 0.11.4 core.py masked_whiten; OpenRLHF 0.11.2 (max); CleanRL fe8d8a0 (std + eps); torchtune bd2a0fc (mean back)"
LOG_RATIO = "OpenRLHF 0.11.2 and verl 0.9.1 clamp to ±20"
DUAL = "Ye et al. 2020, arXiv:1912.09729, eq. 5; verl 0.9.1 compute_policy_loss_vanilla (clip_ratio_c)"
FILTER = "NeMo-Aligner af2b3bd megatron_gpt_ppo_actor.py: mask · is_end"
AGGREGATION = "verl 0.9.1 core_algos.py agg_loss"
GUARD = "TRL 0.11.4 PPOTrainer.loss: ratio_threshold"
VALUE = "baselines ea25b9e ppo2/model.py (max of two squares); Stable-Baselines3 2.9.2 (clipped alone)"
KL_LOSS = "verl 0.9.1 use_kl_loss; NeMo-RL 7ea279a ClippedPGLossFn"
EXPLAINED = "1 − var/var: CleanRL fe8d8a0, verl 0.9.1; 1 − mse/var: lm-human-preferences cbfd210, TRL 0.11.4"
