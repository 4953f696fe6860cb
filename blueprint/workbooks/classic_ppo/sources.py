"""Where each piece of classic PPO comes from: the paper with its equation, or the library with version and function."""

from blueprint.workbooks.common.sources import CLIP, EXPLAINED_VARIANCE, RATIO, SOFTMAX

__all__ = ["CLIP", "EXPLAINED_VARIANCE", "RATIO", "SOFTMAX"]

_PPO = "Schulman et al. 2017, arXiv:1707.06347"
_GAE = "Schulman et al. 2016, arXiv:1506.02438"
_KL = "Schulman 2020, Approximating KL Divergence (joschu.net/blog/kl-approx.html)"
_CLEANRL, _SB3 = "CleanRL fe8d8a0, ppo.py", "Stable-Baselines3 2.9.2"
_TORCHRL = "TorchRL 0.14.1"

LOGPROBS = f"{_CLEANRL}:256 (Categorical.log_prob)"
BOOTSTRAP = f"done: {_CLEANRL}:229, {_SB3} common/buffers.py:403; terminated: {_TORCHRL} value/functional.py:120"
TD_ERROR = f"{_GAE}, sec. 3 (eq. 11); with (1 − done): {_CLEANRL}:229"
GAE = f"{_GAE}, eq. 16, backward; with (1 − done): {_CLEANRL}:229, rlax 0.1.9 _src/multistep.py"
RETURNS = f"{_CLEANRL}:229: returns = advantages + values; {_SB3} and {_TORCHRL} alike"
WHITEN = (
    f"{_CLEANRL} norm_adv and {_SB3} ppo/ppo.py:227: σ + ε; {_TORCHRL} objectives/ppo.py: max(σ, 1e-6), off by default"
)
CLIP_MORE = f"{_TORCHRL} ClipPPOLoss: clip_epsilon may be a pair"
VALUE = f"{_CLEANRL}:278 (½ max); {_SB3} ppo/ppo.py:244 (mse); {_TORCHRL} objectives/ppo.py:816 (smooth L1)"
SMOOTH = f"torch smooth_l1_loss with beta 1; {_TORCHRL} objectives/ppo.py:816"
ENTROPY = f"{_PPO}, eq. 9; {_CLEANRL}:285"
TOTAL = f"{_PPO}, eq. 9, with the sign turned: a loss is made smaller; {_CLEANRL}:285"
APPROX_K1 = f"{_CLEANRL}:256 old_approx_kl; {_TORCHRL} kl_approx; {_KL}"
APPROX_K3 = f"{_CLEANRL}:256 approx_kl; {_SB3} ppo/ppo.py:256; {_KL}"
CLIP_FRACTION = f"{_CLEANRL}:256, {_SB3} ppo/ppo.py:244, {_TORCHRL} clip_fraction"
VALUE_FRACTION = f"{_TORCHRL} objectives/utils.py _clip_value_loss: value_clip_fraction"
ESS = f"{_TORCHRL} objectives/ppo.py:1082 ESS: exp(2·lse(d) − lse(2·d)) / N"
EXPLAINED_NEW = f"{_TORCHRL} objectives/ppo.py: explained_variance, of the new critic"
