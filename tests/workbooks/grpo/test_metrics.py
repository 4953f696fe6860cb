"""What libraries log beside the loss, against the rows of Diagnostics; what is logged otherwise, and why."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from tests.workbooks.grpo.recorded import FRONT, Run
from tests.workbooks.grpo.test_recorded import RUNS

PLAIN = [run for run in RUNS if (run.reference, run.old) == ("ref", "old")]

SHOWN = {
    "trl": {
        "reward": "mean.score", "rewards/reward": "mean.score", "reward_std": "group.batch_std", "entropy": "entropy",
        "frac_reward_zero_std": "group.share_same", "clip_ratio/low_mean": "clip.fraction_low", "policy_loss": "policy_loss",
        "clip_ratio/high_mean": "clip.fraction_high", "clip_ratio/region_mean": "clip.fraction", "kl": "kl.mean_new",
        "cispo_clip_ratio": "clip.fraction", "sampling/importance_sampling_ratio/mean": "rollout.mean",
        "completion_length": "response.mean_length",
    },
    "verl": {
        "actor/pg_clipfrac": "clip.fraction", "actor/ppo_kl": "approx_kl.k1", "actor/pg_clipfrac_lower": "clip.fraction_dual",
        "actor/pg_loss": "policy_loss", "kl_loss": "kl_loss", "actor/entropy_loss": "entropy", "kl_coef": "kl.coef",
    },
    "openrlhf": {"clip_ratio": "clip.fraction", "ppo_kl": "approx_kl.k1", "vllm_kl": "rollout.mean_kl",
                 "is_filter_ratio": "1 − rollout.share_inside"},
    "nemo_rl": {"probs_ratio": "mean.ratio", "probs_ratio_clamped": "mean.ratio_clipped", "kl_penalty": "kl_loss",
                "sampling_importance_ratio": "rollout.mean_token", "is_oob_ratio": "1 − rollout.share_inside"},
    "unsloth": {"completion_length": "response.mean_length"},
    "open_instruct": {"clipfrac": "clip.fraction"},
    "oat": {"pg_loss": "policy_loss", "pg_clipfrac": "clip.mean_of_responses", "reg_loss": "adds.kl_loss"},
    "skyrl": {"clip_ratio": "clip.fraction", "cispo/ratio_mean": "mean.ratio", "cispo/ratio_clamped_mean": "mean.ratio_clipped",
              "importance_ratio": "mean.ratio"},
    "slime": {"pg_clipfrac": "clip.mean_of_responses"},
    "areal": {"clipfrac": "clip.fraction"},
    "roll": {"pg_loss@sum": "policy_loss", "weighted_pg_loss@sum": "policy_loss", "kl_loss@sum": "kl_loss",
             "clipfrac@sum": "clip.mean_of_responses"},
    "liger": {"kl": "kl.mean_new", "clip": "clip.fraction"},
}  # fmt: skip
"""By library, the row that shows what it logs under a name."""
NOWHERE = {
    r"clip_ratio/(low_min|high_max)": "smallest and largest over processes",
    r"sampling/.*/(min|max)|sampling/sampling_logp_difference/.*|cispo/ratio_(max|min)": "extremes and absolute values",
    r"gen_kl_error|policy_kl_error|approx_entropy": "estimates of engine and trainer that NeMo-RL alone has",
    r"all_(zero|one)_rewards_count": "groups of equal rewards by which reward",
    r"kl3|mean_kl": "means of responses' means, of another direction (oat) or where none is paid (Unsloth)",
    r"approxkl@sum|ppo_ratio_.*@sum": "½·d² and shares of ratios above and below 1, of ROLL alone",
}
"""Names of what no row shows."""


class Apart(NamedTuple):
    """Runs in which a name means something else than in the others, and what."""

    library: str
    variants: str
    metrics: str
    why: str


APART = (
    Apart("trl_1.16.0_GRPOTrainer", "scale_batch", "frac_reward_zero_std", "whether the spread of the batch is 0"),
    Apart("trl", "gspo.*|luspo|default|beta_0_0|normalize.*|reward_clip.*|epsilon_high_0_28", "clip_ratio/(low|high)_mean",
          "at the level of responses: their share"),
    Apart("trl_1.16.0_GRPOTrainer", "mask_truncated", "clip_ratio/.*", "of the tokens that count"),
    Apart("trl_1.16.0_GRPOTrainer", "is_sequence_.*", "sampling/importance_sampling_ratio/mean", "of responses, not of tokens"),
    Apart("trl_1.16.0_RLOOTrainer", ".*", "kl", "of the old policy, k1"),
    Apart("trl_1.16.0_RLOOTrainer", ".*", "reward_std", "of the scores, before the KL is paid"),
    Apart("trl_0.14.0", ".*", "reward_std", "mean of the groups' deviations"),
    Apart("trl_0.14.0", ".*", "kl", "mean of the responses' means"),
    Apart("verl", "cispo.*|sapo|gmpo.*", "actor/pg_clipfrac(_lower)?", "of what these objectives hold"),
    Apart("verl", "rs_.*", "actor/(pg_clipfrac.*|ppo_kl)", "of the tokens that are not rejected"),
    Apart("openrlhf", "is_seq_mask", "is_filter_ratio", "of responses"),
    Apart("nemo_rl", "(?!grpo_default|grpo_default_first_step|kl_).*", "kl_penalty", "0 where none is paid in the loss"),
    Apart("nemo_rl", ".*reinforce.*", "probs_ratio.*", "the log-prob, where the objective has no ratio"),
    Apart("nemo_rl", "dapo_recipe|gspo.*|is_.*", "sampling_importance_ratio|is_oob_ratio", "of responses, or after the bounds"),
    Apart("open_instruct", "cispo|rho_.*", "clipfrac", "of all tokens above, or of those that are not rejected"),
    Apart("oat", ".*kl_0_04_no_tis", "pg_loss", "the whole loss"),
    Apart("slime|roll", "grpo_per_token|token_mean|seq_mean_token_sum.*", "pg_clipfrac|clipfrac@sum",
          "averaged as the loss is"),
)  # fmt: skip
# verl, NeMo-RL, OpenRLHF, SkyRL and ROLL add 1e-8 to a number of tokens or responses, as our mean of weights does; Unsloth logs
# in float32.
TOLERANCE = {
    "verl": 1e-9,
    "nemo_rl": 1e-9,
    "openrlhf": 1e-9,
    "skyrl": 1e-9,
    "roll": 3e-9,
    "unsloth": 1e-6,
    "sampling": 1e-9,
}


def logged() -> list[tuple[Run, str, float]]:
    return [
        (run, name, value)
        for run in PLAIN
        for name, value in (run.out.get("metrics") or {}).items()
        if isinstance(value, int | float)
    ]


def row_of(run: Run, name: str) -> str | None:
    """Returns the row that shows a metric; at the level of responses TRL's clip is counted by response."""
    if name == "clip_ratio/region_mean" and run.conventions["ratio.level"] != "token":
        return "clip.mean_of_responses"
    return next(found for library, found in SHOWN.items() if run.library.startswith(library)).get(name)


def far(run: Run, name: str, value: float) -> bool:
    """Tells whether a row shows something else than the library logged."""
    row = str(row_of(run, name))
    shown = (
        run.conventions["kl.coef"]
        if row == "kl.coef"
        else float(FRONT.cells(FRONT.typed_in(run.conventions, run.models), row.removeprefix("1 − ")))
    )
    ours = 1 - float(shown) if row.startswith("1 − ") else float(shown)
    near = (by for start, by in TOLERANCE.items() if run.library.startswith(start) or name.startswith(start))
    return abs(ours - value) > max([run.tolerance, *near]) * max(1.0, abs(value))


def apart(run: Run, name: str) -> Apart | None:
    return next(
        (
            each
            for each in APART
            if re.match(each.library, run.library)
            and re.fullmatch(each.variants, run.variant)
            and re.fullmatch(each.metrics, name)
        ),
        None,
    )


@cache
def compared() -> list[tuple[Run, str, bool]]:
    """Returns every metric that a row shows, run by run, and whether that row shows something else."""
    return [(run, name, far(run, name, value)) for run, name, value in logged() if row_of(run, name)]


def test_what_is_logged_is_shown_or_said_why_not() -> None:
    unknown = {
        (run.library, name)
        for run, name, _ in logged()
        if row_of(run, name) is None and not any(re.fullmatch(each, name) for each in NOWHERE)
    }
    assert unknown == set()


def test_rows_show_what_libraries_log() -> None:
    same = [each for each in compared() if apart(*each[:2]) is None]
    assert [(run.library, run.variant, name) for run, name, is_far in same if is_far] == []
    assert len(same) > 700
    assert len({run.library for run, _, _ in same}) == 16


def test_each_exception_is_needed() -> None:
    """Of every line some run logs another number; of one for all runs of a library all do."""
    assert {apart(run, name) for run, name, is_far in compared() if is_far} == set(APART)
