"""Bugs as somebody writes them who changes a line of a trainer: each is a line of TRL's or CleanRL's formulas that is another. The
cause that is named first must say what it is, explain everything, and have at most four beside it that give the same numbers.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from tests.verifying.mutants import EQUALS, KINDS, Kind, verified


class Bug(NamedTuple):
    """kind, run: whose trainer, and on what. line: as it stands there; by: what stands there then. says: words of the cause."""

    kind: str
    run: str
    line: str
    by: str
    says: str


KL_PAID = '(apart * of_pass(files, "completion_mask")).sum(1)'
LEAVE_ONE_OUT = "found = centred * grouped.shape[1] / (grouped.shape[1] - 1)"
BUGS = {
    "KL: a mean over the response": Bug("rloo", "trl_rloo/kl", KL_PAID, f'{KL_PAID} / of_pass(files, "completion_mask").sum(1)',
                                        "kl_old.sum (what a response pays): it is divided by"),
    "KL: taken off behind the baseline": Bug(
        "rloo", "trl_rloo/kl", f'rewards = rewards - use["beta"] * {KL_PAID}',
        f'''penalty = use["beta"] * {KL_PAID}
            return self.advantages(rewards.reshape(-1, use["num_generations"]), use).ravel() - penalty''',
        "pay_n[n] comes in behind advantages, not in reward"),
    "whitening within each group": Bug(
        "rloo", "trl_rloo/normalized", "(found - found.mean()) / (found.std(ddof=1) + 1e-4)",
        "(found - found.mean(1, keepdims=True)) / (found.std(1, ddof=1, keepdims=True) + 1e-4)",
        "group.advantage_std is taken of each prompt, not of all"),
    "leave one out of the batch": Bug("rloo", "trl_rloo/normalized", LEAVE_ONE_OUT,
                                      "found = grouped - (grouped.sum() - grouped) / (grouped.size - 1)",
                                      "group.total is taken of all, not of each prompt, in group.others, and divided by as many"),
    "a mean of ratios": Bug("rloo", "trl_rloo/kl", "apart = (apart * mask).sum(1, keepdims=True)\n    elif",
                            "return (np.exp(apart) * mask).sum(1, keepdims=True) / mask.sum(1, keepdims=True)\n    elif",
                            "ratio is the mean of the exponentials of log_ratio"),
    "prompts and responses exchanged": Bug("grpo", "trl_grpo/dapo", 'rewards.reshape(-1, use["num_generations"])',
                                           'rewards.reshape(use["num_generations"], -1)', "groups of 2 rows side by side"),
    "the least reward as baseline": Bug("grpo", "trl_grpo/sequence", "centred = grouped - grouped.mean(1, keepdims=True)",
                                        "centred = grouped - grouped.min(1, keepdims=True)",
                                        "the smallest of R[q, i] is taken, in group.less_baseline alone"),
    "one KL for all tokens": Bug("grpo", "trl_grpo/dr_grpo", 'use["beta"] * to_reference',
                                 'use["beta"] * ((to_reference * mask).sum(1) / mask.sum(1)).mean()',
                                 "joined.kl is averaged over each response and over all"),
    "the mask is not shifted": Bug("dpo", "trl_dpo/sft", '["completion_mask"][:, 1:]', '["completion_mask"][:, :-1]',
                                   "the mask one token late"),
    "accuracy of log-probs": Bug("dpo", "trl_dpo/shared", "self.ahead(good, bad)", "self.ahead(*policy.reshape(2, -1))",
                                 "chosen.sum and rejected.sum are read, not chosen.logged and rejected.logged"),
    "[P, 1] - [P] of DPO": Bug("dpo", "trl_dpo/sigmoid", "h = a - c", "h = a[:, None] - c", "as [B, 1] and [B] are broadcast"),
    "[P, 1] - [P] of margins": Bug("rm", "centred_margin", "-log_sigmoid(apart - margin)", "-log_sigmoid(apart[:, None] - margin)",
                                   "each number of difference meets every one of margin.used"),
    "[M, 1] - [M] of values": Bug("classic", "sb3", "(returns - held) ** 2", "(returns - held[:, None]) ** 2",
                                  "each number of value.clipped meets every one of loss.returns"),
    "[M, 1] · [M] of advantages": Bug("classic", "cleanrl", "first = -advantages * ratio\n    second = -advantages *",
                                      "first = -advantages[:, None] * ratio\n    second = -advantages[:, None] *",
                                      "each number of loss.advantages meets every one of ratio and ratio.clipped"),
    "a mean of all tokens' scores": Bug(
        "rm", "trl_reward/margin", "chosen, rejected = scores.reshape(2, -1)",
        '''kept = t["input_ids"] != use["pad_token_id"]
        scores = (t["position_scores"] * kept).sum(1) / kept.sum(1)
        chosen, rejected = scores.reshape(2, -1)''', "the mean of the scores at all tokens of the text"),
    "scores held before the loss": Bug("rm", "trl_reward/margin", "self.pair_loss(chosen - rejected, margin)",
                                       "self.pair_loss(chosen.clip(-1, 1) - rejected.clip(-1, 1), margin)",
                                       "chosen.score and rejected.score in difference: it is held between −1 and 1"),
}  # fmt: skip


def rewritten(kind: Kind, line: str, by: str) -> Any:
    """Returns a trainer of which a line is another."""
    source = Path(str(kind.module.__file__)).read_text(encoding="utf-8")
    assert source.count(line) == 1
    made = sys.modules["rewritten"] = types.ModuleType("rewritten")
    exec(compile(source.replace(line, by), "rewritten", "exec"), made.__dict__)
    return getattr(made, kind.trainer)


@pytest.mark.parametrize("name", BUGS)
def test_a_line_that_is_another_is_named(name: str) -> None:
    bug = BUGS[name]
    kind = KINDS[bug.kind]
    first = verified(kind.files(bug.run), rewritten(kind, bug.line, bug.by)).causes[0]
    assert first.rest
    assert len(first.same) < EQUALS
    assert bug.says in first.said or any(bug.says in each for each in first.same)
