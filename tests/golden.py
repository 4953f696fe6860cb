"""Hold the golden numbers of the tests as plain data.

DEFAULT is the default example and its printed results, S1 and S2 are the worked examples of the literature. Numbers
printed with n decimals are compared to half a unit of the last one; `*_DECIMALS` says how many there are.
"""

from typing import Any

VOCABULARY = ["<eos>", "the", "old", "dog", "is", "very", "sleepy", "happy"]

# fmt: off
_OLD_E = [
    [0.7, 1, -0.4], [-1.2, 0, -0.7], [-0.4, -0.2, -0.3], [-0.6, 0.5, 0.1],
    [-0.7, 0.1, -0.4], [-1.1, -0.6, -0.4], [-0.2, -0.6, -0.6], [-0.6, -1, -0.3],
]
_OLD_W = [
    [0.6, -0.2, 0, 0.3], [-0.5, -0.6, -0.7, 0.1], [-0.3, -0.3, -0.2, 0.2],
    [0, 0.4, 0.6, 0], [0.4, -0.5, 0.3, -0.7], [-0.8, 1.2, -0.5, -0.9], [-0.4, 1, -0.2, -1.2],
    [0, -0.3, 0.2, 0.2],
]

# An E has a row per word. A W has a line for the word read, one for the previous state, one for the constant 1.
WEIGHTS: dict[str, Any] = {
    "old.E": _OLD_E,
    "old.W": _OLD_W,
    "old.Y": [
        [1, -0.2, -0.1, 1, 0, -0.8, 1.2, 0.4],
        [0.5, -0.9, 0.2, 1.1, 1.1, 1.5, -0.8, -1.7],
        [1.1, -0.3, 0, 0.1, -1.5, -0.9, 0.8, 0.7],
        [-0.3, 0.1, 0.6, -0.9, 1.6, 0.5, -0.6, 1.7],
    ],
    "reference.E": _OLD_E,
    "reference.W": _OLD_W,
    "reference.Y": [
        [1, 0.2, -0.1, 1, 0, -0.8, 1.1, 0.4],
        [0.1, -0.9, 0.2, 1.1, 1.1, 1.5, -0.8, -1.7],
        [1.1, -0.3, 0, 0.1, -1.5, -0.3, 0.8, 0.3],
        [-0.3, 0.1, 0.6, -0.5, 1.6, 0.5, -0.1, 1.7],
    ],
    "policy.delta_E": [[0, 0, 0]] * 8,
    "policy.delta_W": [[0, 0, 0, 0]] * 8,
    "policy.delta_Y": [
        [0, 0, 0, 0, 0, 0, -0.7, 0.8],
        [0, 0, 0, 0, 0, 0, 0, 0.8],
        [0.5, 0, 0, 0, 0, -0.5, 0, 0],
        [0, 0, 0, 0, 0, 0, -0.4, 0],
    ],
    "old_critic.E": [
        [0.1, 0.4, -0.1], [0.2, -0.2, 0.4], [-0.9, 0.5, -0.3], [-0.1, 1, 0.9],
        [-0.6, 0, -0.3], [-1, 0.2, 0], [-0.9, -0.2, -0.2], [0.6, -0.5, 0.6],
    ],
    "old_critic.W": [
        [-0.6, 0.3, 0.4, 0], [-0.4, 0, 0.2, 0.3], [-0.3, 0.3, 0.8, -0.5],
        [-0.2, -0.1, -0.1, 0.8], [-0.3, 0, -0.3, 0.6], [0.2, -0.4, -0.5, -1.5], [-0.8, -0.1, 0.1, 0.2],
        [0.3, -0.4, 0.1, -0.2],
    ],
    "old_critic.w": [0.7, 0.1, -0.3, 0.3],
    "old_critic.b": 0,
    "critic.delta_E": [[0, 0, 0]] * 8,
    "critic.delta_W": [[0, 0, 0, 0]] * 8,
    "critic.delta_w": [0.1, -0.3, -0.2, 0.1],
    "critic.delta_b": 0,
    "reward_model.E": [
        [1.5, -0.5, 0.7], [-0.7, 0.1, 0.5], [0.7, 0.4, 0.3], [-0.1, 0.3, 1],
        [-0.7, 0.1, -0.7], [0.7, 0.1, 0.6], [-0.1, -0.9, -0.4], [0.7, 0.3, 0.2],
    ],
    "reward_model.W": [
        [0.5, 0.5, 0, 1.1], [-0.3, -0.1, 1.1, 1], [0.3, -0.1, 0.1, -0.1],
        [-0.6, 0.1, 0, -0.1], [0.7, -0.6, -0.2, -0.2], [0, 0.3, 0.7, 0.6], [-0.4, -0.5, 0.3, -0.3],
        [0, 0, -0.2, 0.4],
    ],
    "reward_model.w": [2.1, -1.2, -3, -0.9],
    "reward_model.b": -1,
}
# fmt: on

DEFAULT_NUMBERS: dict[str, Any] = {
    "vocabulary": VOCABULARY,
    "prompts": [[1, 2, 3, 4], [1, 2, 3, 4]],
    "max_new_tokens": 4,
    "draws": [[0.64, 0.75, 0.90, 0.11], [0.89, 0.14, 0.50, 0.50]],
    "weights": WEIGHTS,
    "ppo": {
        "gamma": 0.9,
        "gae_lambda": 0.8,
        "kl_coef": 0.1,
        "clip_range": 0.2,
        "value_clip_range": 0.2,
        "vf_coef": 0.5,
        "ent_coef": 0.01,
        "policy_kl_coef": 0.0,
        "update_step": 1.0,
        "kl_estimator": "k1",
        "whiten_advantages": "on",
        "whiten_eps": 1e-8,
    },
}

DEFAULT_WORDS = [[5, 5, 6, 0], [7, 0]]
DEFAULT_TOKEN_DECIMALS = 4
DEFAULT_TOKENS = {
    "old.logprobs": [[-2.0170, -1.6963, -2.0196, -1.5314], [-1.5155, -1.2527]],
    "reference.logprobs": [[-2.1288, -1.4294, -2.1987, -1.4831], [-1.4474, -1.4197]],
    "policy.logprobs": [[-1.8568, -1.9549, -1.6503, -1.3211], [-1.9496, -1.0490]],
    "kl.k1": [[0.1118, -0.2669, 0.1791, -0.0483], [-0.0681, 0.1669]],
    "old_critic.values": [[0.1806, 0.6931, 0.3224, 0.5282], [0.1806, 0.1854]],
    "critic.values": [[0.5111, 0.9130, 0.6480, 0.8173], [0.5111, 0.0060]],
    "td_errors": [[0.4321, -0.3763, 0.1351, 1.1689], [-0.0069, -1.1940]],
    "advantages": [[0.6675, 0.3269, 0.9767, 1.1689], [-0.8665, -1.1940]],
    "advantages_used": [[0.4948, 0.1492, 0.8086, 1.0037], [-1.0620, -1.3943]],
    "ratio": [[1.1737, 0.7722, 1.4468, 1.2340], [0.6478, 1.2260]],
    "surrogate": [[0.5807, 0.1152, 0.9703, 1.2044], [-0.8496, -1.7094]],
}
# Of the two squares of the value loss: name, episode, word, number.
DEFAULT_SQUARES = [
    ("value.square_clipped", 0, 0, 0.2185),
    ("value.square", 0, 0, 0.1135),
    ("value.square", 1, 0, 1.4330),
    ("value.square_clipped", 1, 0, 1.1375),
]
DEFAULT_SCORES = [1.6922, -0.9919]
# name: (number, decimals)
DEFAULT_SCALARS = {
    "policy_loss": (-0.051940, 6),
    "value_loss": (0.353238, 6),
    "entropy": (1.922023, 6),
    "total_loss": (0.105459, 6),
    "clip_fraction.loss": (0.5, 3),
    "clip_fraction.ratio": (0.833, 3),
    "clip_fraction.value": (0.667, 3),
}

# The default example with other draws or another step: words and total loss to six decimals.
# With only the policy held still the total is 0.157258. The step moves policy and critic alike, so that `update_step` 0
# gives 0.191017: -mean(white A) = 0, plus mean(A^2) / 4, minus 0.01 times the old entropy.
POLICY_STILL_TOTAL = 0.157258
STEP_0_TOTAL = 0.191017
CUT = {"episode": 1, "draws": [0.89, 0.95, 0.60, 0.90], "words": [7, 7, 3, 7], "total_loss": 1.378065}
ONE_WORD = {"episode": 0, "draws": [0.05, 0.75, 0.90, 0.11], "words": [0], "total_loss": 0.230665}

# The tutorial's "very very sleepy": per word, from log-probs and values given by hand.
S1: dict[str, Any] = {
    "ppo": {"gamma": 0.9, "gae_lambda": 0.8, "kl_coef": 0.1, "kl_estimator": "k1"},
    "score": 5.0,
    "logprobs_old": [-0.9, -2.5, -0.5],
    "logprobs_ref": [-1.5, -1.0, -0.5],
    "values": [3.0, 3.5, 4.0],
    "kl.used": [0.6, -1.5, 0.0],
    "rewards": [-0.06, 0.15, 5.00],
    "td_errors": [0.09, 0.25, 1.00],
    "advantages": [0.7884, 0.97, 1.00],
}

# advantage, ratio, unclipped, clipped, loss
S1_CLIP = [
    (2, 1.1, 2.2, 2.2, -2.2),
    (2, 1.5, 3.0, 2.4, -2.4),
    (-2, 0.9, -1.8, -1.8, 1.8),
    (-2, 0.5, -1.0, -1.6, 1.6),
]

# The deep dive's GAE figure: its TD errors, the advantages it prints (wrong: the last must equal the last TD error)
# and what the recursion gives, to four decimals.
S2: dict[str, Any] = {
    "gamma": 1.0,
    "gae_lambda": 0.95,
    "td_errors": [0.04, 0.03, 0.06, 0.08, 0.02, 0.05, 0.91],
    "advantages_printed": [0.81, 0.78, 0.75, 0.69, 0.61, 0.59, 0.55],
    "advantages": [0.9152, 0.9212, 0.9381, 0.9243, 0.8888, 0.9145, 0.9100],
}
