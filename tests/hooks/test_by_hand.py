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
    "λ in δ, too": Bug("ppo", "plain", 'delta = rewards[:, t] + use["gamma"] * nextvalues',
                       'delta = rewards[:, t] + use["gamma"] * use["lam"] * nextvalues', "is multiplied with gae_lambda"),
    "β on the whole loss": Bug("grpo", "trl_grpo/sequence", 'loss = loss + use["beta"] * to_reference',
                               'loss = use["beta"] * (loss + to_reference)', "policy.counts[n, t] is multiplied with kl.coef"),
    "n/(n − 1) twice": Bug("rloo", "trl_rloo/kl", LEAVE_ONE_OUT,
                           """others = (grouped.sum(1, keepdims=True) - grouped) / (grouped.shape[1] - 1)
        found = (grouped - others) * grouped.shape[1] / (grouped.shape[1] - 1)""",
                           "it is multiplied with n/(n − 1), of count.group"),
    "a temperature once more": Bug("grpo", "trl_grpo/grpo", 't["completion_mask"], t["per_token_logps"], t["advantages"][:, None]',
                                   't["completion_mask"], t["per_token_logps"] / 0.7, t["advantages"][:, None]',
                                   "policy.logprobs, wherever it is read: it is divided by a temperature of 0.7"),
    "the score's share of each token": Bug(
        "ppo", "whitened", "rewards[np.arange(len(rewards)), places] += scores",
        """inside = np.arange(rewards.shape[1]) <= lengths[:, None]
    rewards = rewards + inside * scores[:, None] / inside.sum(1, keepdims=True)""",
        "mask[n, t] / mask[n] is read, not at_score[n, t]"),
    "r − m/s": Bug("grpo", "trl_grpo/dapo", 'centred / deviation[use["scale_rewards"]]',
                   'grouped - grouped.mean(1, keepdims=True) / deviation[use["scale_rewards"]]',
                   "R[q, i] − b[q, i] / (s+ε[q, i]) stands where (R[q, i] − b[q, i]) / (s+ε[q, i]) should"),
    "the log-ratio clipped, not the ratio": Bug(
        "grpo", "trl_grpo/batch", 'clipped = ratio.clip(1 - use["epsilon_low"], 1 + use["epsilon_high"])\n    return',
        'clipped = np.exp(np.log(ratio).clip(-use["epsilon_low"], use["epsilon_high"]))\n    return',
        "the logarithm is held between the bounds, not the ratio, in ratio.clipped and ratio.clipped.raised"),
    "advantages whitened once more": Bug(
        "ppo", "k3", 'policy_losses(ratios, t["advantages"], use)',
        'policy_losses(ratios, masked_whiten(t["advantages"], mask), use)',
        "advantages_used is whitened over all, wherever it is read"),
    "scores whitened before they are paid": Bug(
        "ppo", "whitened", "rewards[np.arange(len(rewards)), places] += scores",
        """scores = (scores - scores.mean()) / (scores.std(ddof=1) + 1e-8)
    rewards[np.arange(len(rewards)), places] += scores""", "score.shortened is whitened over all"),
    "the sign of an advantage alone": Bug(
        "grpo", "trl_grpo/sequence", "self.objective(r, of, new, use), {}", "self.objective(r, np.sign(of), new, use), {}",
        "advantages (advantage that the loss uses), wherever it is read: its sign alone is taken"),
    "dual clip of every sign": Bug(
        "ppo", "plain", "pg_loss = policy_loss(*pg_losses, mask)",
        'pg_loss = masked_mean(np.minimum(np.maximum(*pg_losses), -3.0 * t["advantages"]), mask)',
        "loss.dual_clip = 3 instead of off, and another equation of surrogate.floor"),
    "the other side's length": Bug(
        "dpo", "trl_dpo/norm", "a / np.maximum(lengths[0], 1), c / np.maximum(lengths[1], 1)",
        "a / np.maximum(lengths[1], 1), c / np.maximum(lengths[0], 1)",
        "of the other side of the pair is read, and in reference.mean"),
    "the log of a mean of σ": Bug(
        "rm", "centred_margin", "loss = self.averaged(self.pair_loss(chosen - rejected, margin))",
        "loss = -float(np.log(np.exp(-self.pair_loss(chosen - rejected, margin)).mean()))",
        "it is minus the logarithm of the mean of exponentials of minus l[p]"),
    "label smoothing": Bug("rm", "trl_reward/plain", "return -log_sigmoid(apart - margin)",
                           "return -0.9 * log_sigmoid(apart - margin) - 0.1 * log_sigmoid(margin - apart)", "0.1·x[p] is added"),
    "a hinge": Bug("rm", "centred", "return -log_sigmoid(apart - margin)", "return np.maximum(0, 1 - (apart - margin))",
                   "−max(0, 1 − x[p]) stands where"),
    "the end of the other text": Bug(
        "rm", "centred", '[np.arange(len(t["position_scores"])), self.read(t, use)]',
        '[np.arange(len(t["position_scores"])), np.tile(np.split(self.read(t, use), 2)[0], 2)]',
        "the score read where the other text of the pair ends"),
    "the largest score of a text": Bug(
        "rm", "centred", "chosen, rejected = scores.reshape(2, -1)",
        """kept = t["input_ids"] != use["pad_token_id"]
        scores = np.where(kept, t["position_scores"], -np.inf).max(1)
        chosen, rejected = scores.reshape(2, -1)""",
        "the largest of the scores at all tokens of the text"),
    "1 − the weight of the other loss": Bug(
        "ppo", "plain", 'np.asarray(pg_loss + use["vf_coef"] * vf_loss)',
        'np.asarray((1 - use["vf_coef"]) * pg_loss + use["vf_coef"] * vf_loss)', "L_policy is multiplied with 1 − vf_coef"),
    "λ for γ in the sum": Bug("ppo", "k3", 'lastgaelam = delta + use["gamma"]', 'lastgaelam = delta + use["lam"]',
                              "gae_lambda is read, not gamma"),
    "whitened in one surrogate alone": Bug(
        "ppo", "plain", "    pg_losses2 = -advantages * np.minimum(",
        """    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    pg_losses2 = -advantages * np.minimum(""",
        "advantages_used is whitened over all, pads too, with n below, not n − 1, in surrogate.clipped alone"),
    "means of means": Bug("ppo", "k3", "np.asarray((values * mask).sum() / mask.sum())",
                          "np.asarray(((values * mask).sum(1) / mask.sum(1)).mean())",
                          "they are means of the means of each response"),
    "V − R²": Bug("ppo", "plain", "vf_losses1 = (vpred - returns) ** 2", "vf_losses1 = vpred - returns**2",
                  "the second part of value.error alone is squared"),
    "the KL in the reward, too": Bug(
        "grpo", "trl_grpo/grpo", 'if is_rloo(use) and use["beta"]:', 'if use["beta"]:',
        "kl.place = reward, and kl.estimator = k1, in kl_old.in_reward, kl_old.chosen alone"),
    "one mean KL of all positions": Bug(
        "grpo", "trl_grpo/grpo", 'loss = loss + use["beta"] * to_reference', 'loss = loss + (use["beta"] * to_reference).mean()',
        "over all is taken, without its weights"),
    "the advantages of transposed groups": Bug(
        "grpo", "trl_grpo/sequence", 'self.advantages(rewards.reshape(-1, use["num_generations"]), use).ravel()',
        'self.advantages(rewards.reshape(use["num_generations"], -1).T, use).ravel()',
        "the advantages of interleaved groups, laid out one group after the other"),
    "each rank centres its own": Bug(
        "rloo", "trl_rloo/normalized", '"advantages": of[file.tensors["row_index"].astype(int)]}',
        '"advantages": (a := of[file.tensors["row_index"].astype(int)]) - a.mean()}',
        "advantages less their mean over each file"),
    "ratios of tokens, and a mean of all positions": Bug(
        "rloo", "trl_rloo/normalized", "    if is_rloo(use):\n        apart = (apart * mask).sum(1, keepdims=True)\n    elif",
        "    if is_rloo(use):\n        pass\n    elif",
        "loss.aggregation = token_mean, and ratio.level = token, pads counted as tokens"),
    "rewards without bounds": Bug(
        "rloo", "trl_rloo/normalized", 'if use.get("reward_clip_range") else', "if False else",
        "reward.clip_low = off, reward.clip_high = off"),
    "a divergence of one side": Bug(
        "dpo", "trl_dpo/shared", "a, c = np.log(2) + log_sigmoid(a), np.log(2) + log_sigmoid(c)", "a = np.log(2) + log_sigmoid(a)",
        "margin.divergence = reverse_kl in rejected.shaped"),
    "one pair more in a sum": Bug("dpo", "trl_dpo/sft", "(logps * mask)[:half].sum()", "(logps * mask)[: half + 1].sum()",
                                  "one rejected response counts as chosen, too"),
    "a product for a fraction": Bug(
        "dpo", "trl_dpo/sft", "(logps * mask)[:half].sum() / mask[:half].sum()",
        "(logps * mask)[:half].sum() * mask[:half].sum()", "it is multiplied with Σ_n n_nll, not divided by it"),
    "log σ for σ": Bug("dpo", "trl_dpo/alike", "return np.exp(log_sigmoid(x))", "return log_sigmoid(x)", "ln(exp(min(R_w[p], 0))"),
    "a plain mean everywhere": Bug("ppo", "plain", "np.asarray((values * mask).sum() / mask.sum())", "np.asarray(values.mean())",
                                   "they are over all there is, pads too"),
    "clip bounds exchanged": Bug(
        "grpo", "trl_grpo/dapo", 'ratio.clip(1 - use["epsilon_low"], 1 + use["epsilon_high"])',
        'ratio.clip(1 - use["epsilon_high"], 1 + use["epsilon_low"])', "loss.clip_low = 0.28, loss.clip_high = 0.2"),
    "e^x for σ": Bug("dpo", "trl_dpo/alike", "return np.exp(log_sigmoid(x))", "return np.exp(x)", "exp(R_w[p]) stands where"),
    "the end of the longer text": Bug(
        "rm", "trl_reward/margin", "return np.asarray((kept * np.arange(kept.shape[1])).argmax(1))",
        "return np.tile((kept * np.arange(kept.shape[1])).argmax(1).reshape(2, -1).max(0), 2)",
        "the score read where the longer text of the pair ends"),
    "rejected scores in reverse": Bug("rm", "centred", "(chosen + rejected) ** 2", "(chosen + rejected[::-1]) ** 2",
                                      "is read in the reverse order of pairs"),
    "scores divided by their deviation": Bug(
        "rm", "centred_margin", "self.pair_loss(chosen - rejected, margin)",
        "self.pair_loss((chosen - rejected) / (scores.std(ddof=1) + 1e-8), margin)",
        "difference is divided by the deviation of score"),
    "δ as a distance from 1": Bug("grpo", "trl_grpo/dr_grpo", 'np.minimum(ratio, use["delta"])',
                                  'np.minimum(ratio, 1 + use["delta"])', "1 + loss.delta is the bound, not loss.delta"),
    "β outside the sigmoids": Bug("dpo", "trl_dpo/alike", "1 - sigmoid(beta * a) + sigmoid(beta * c)",
                                  "1 - beta * sigmoid(a) + beta * sigmoid(c)",
                                  "beta multiplies chosen.likely, not chosen.ratio in it, and on the other side, too"),
    "the prompt in the length": Bug(
        "dpo", "trl_dpo/norm", "lengths = self.apart(policy, reference).reshape(2, -1), mask.sum(1)",
        'lengths = self.apart(policy, reference).reshape(2, -1), t["attention_mask"].sum(1)',
        "that count in text.tokens or come before it is read, not over_θ[n], and in reference.mean"),
    "the value held within a share": Bug(
        "ppo", "plain", 'np.minimum(np.maximum(vpred, values - use["cliprange_value"]), values + use["cliprange_value"])',
        'values * np.clip(vpred / np.where(values == 0, 1, values), 1 - use["cliprange_value"], 1 + use["cliprange_value"])',
        "value_clip_range·|V_kept[n, t]| is the bound, not value_clip_range"),
    "log σ of each score": Bug(
        "rm", "trl_reward/plain", "self.pair_loss(chosen - rejected, margin)",
        "self.pair_loss(chosen, margin) + self.pair_loss(-rejected, margin)",
        "argument.right is made of r_w[p] and of r_l[p] by themselves, the second with the other sign"),
    "advantages made anew": Bug(
        "ppo", "plain", 'policy_losses(ratios, t["advantages"], use)',
        'policy_losses(ratios, t["returns"] - t["vpred"] * mask_p1, use)', "R[n, t] − critic.values[n, t] is taken"),
    "means laid out in turn": Bug(
        "grpo", "trl_grpo/dapo", "centred = grouped - grouped.mean(1, keepdims=True)",
        "centred = grouped - np.tile(grouped.mean(1), grouped.shape[1]).reshape(grouped.shape)",
        "group.mean is laid out in turn, not for each response to the prompt"),
    "no loss on the end token": Bug(
        "grpo", "trl_grpo/grpo", 'mask, new, of = t["completion_mask"], t["per_token_logps"]',
        'mask, new, of = t["completion_mask"] * np.pad(t["completion_mask"][:, 1:], ((0, 0), (0, 1)), constant_values=1), '
        't["per_token_logps"]', "the last token of each response left out, but of those that are as long as can be"),
    "scores of the response before": Bug(
        "rloo", "trl_rloo/kl", 'apart = of_pass(files, "old_per_token_logps") - of_pass(files, "ref_per_token_logps")',
        'apart, rewards = of_pass(files, "old_per_token_logps") - of_pass(files, "ref_per_token_logps"), np.roll(rewards, 1, 0)',
        "the score of the response before in the rollout, with its own KL"),
    "the KL's weight held as the ratio": Bug(
        "grpo", "trl_grpo/sequence", 'self.kl(t["ref_per_token_logps"] - new, r, use)',
        'self.kl(t["ref_per_token_logps"] - new, r.clip(1 - use["epsilon_low"], 1 + use["epsilon_high"]), use)',
        "it is held between 1 − loss.clip_low and 1 + loss.clip_high, as another row is"),
    "no reward where a row is full": Bug(
        "grpo", "trl_grpo/batch", 'rewards = self.weighted(of_pass(files, "rewards_per_func"), use)',
        'rewards = self.weighted(of_pass(files, "rewards_per_func"), use) * (1 - of_pass(files, "completion_mask")[:, -1])',
        "score: it is 0 where it is full in response.tokens"),
    "two baselines": Bug(
        "rloo", "trl_rloo/kl", "found = centred * grouped.shape[1] / (grouped.shape[1] - 1)",
        "found = centred - (grouped.sum(1, keepdims=True) - grouped) / (grouped.shape[1] - 1)", "μ[q] is added"),
    "advantages held as rewards": Bug(
        "rloo", "trl_rloo/normalized", 'self.advantages(rewards.reshape(-1, use["num_generations"]), use).ravel()',
        'self.advantages(rewards.reshape(-1, use["num_generations"]), use).ravel().clip(*use["reward_clip_range"])',
        "it is held between reward.clip_low and reward.clip_high, as another row is"),
    "an order for its inverse": Bug(
        "rloo", "trl_rloo/kl", 'np.concatenate([each.tensors["row_index"] for each in files]).astype(int).argsort()',
        'np.concatenate([each.tensors["row_index"] for each in files]).astype(int)',
        "the reward of another row: the order of the rollout is undone where it should be made"),
    "weights of mean 1": Bug(
        "dpo", "trl_dpo/weighted", "self.averaged(each * weight(t, mask, use))",
        "self.averaged(each * weight(t, mask, use) / weight(t, mask, use).mean())", "weight.wpo is divided by its mean over all"),
    "the larger of two means": Bug(
        "ppo", "plain", "0.5 * masked_mean(np.maximum(vf_losses1, vf_losses2), mask_p1)",
        "0.5 * np.maximum(masked_mean(vf_losses1, mask_p1), masked_mean(vf_losses2, mask_p1))",
        "the larger in value.larger is one of two sums, in value.mean"),
    "the square of a mean": Bug(
        "ppo", "plain", "0.5 * (logprobs_diff**2).mean()", "0.5 * logprobs_diff.mean() ** 2",
        "policy_kl.used is taken of the sum in approx_kl.used, not summed"),
    "bounds around 1 on a log scale": Bug(
        "grpo", "trl_grpo/dapo", 'ratio.clip(1 - use["epsilon_low"], 1 + use["epsilon_high"])',
        'ratio.clip(1 / (1 + use["epsilon_high"]), 1 + use["epsilon_high"])',
        "1 / (1 + loss.clip_high) is the bound, not 1 − loss.clip_low"),
    "the mean of the groups' deviations": Bug(
        "grpo", "trl_grpo/batch", '"batch": grouped.std(ddof=1) + 1e-4', '"batch": grouped.std(1, ddof=1).mean() + 1e-4',
        "group.batch_std is the mean of those of each prompt, not one of all"),
    "a mean along the batch": Bug(
        "grpo", "trl_grpo/grpo", "float((sums / np.maximum(mask.sum(1), 1)).mean())",
        "float(((loss * mask).sum(0) / np.maximum(mask.sum(0), 1)).mean())",
        "weight.policy and weight.kl are taken of each position, not of each"),
    "outliers dropped": Bug(
        "rloo", "trl_rloo/normalized", 'rewards.clip(*use["reward_clip_range"])',
        'np.where((rewards >= use["reward_clip_range"][0]) & (rewards <= use["reward_clip_range"][1]), rewards, 0.0)',
        "it is 0 beyond reward.clip_low and reward.clip_high, not held between them"),
    "the pair's mean length": Bug(
        "dpo", "trl_dpo/norm", "a, c = a / np.maximum(lengths[0], 1), c / np.maximum(lengths[1], 1)",
        "a, c = a / lengths.mean(0), c / lengths.mean(0)", "the mean policy.over of both sides of the pair is read"),
    "the ratio of all tokens so far": Bug(
        "ppo", "whitened", "return np.exp(logprobs_diff)", "return np.exp(np.cumsum(logprobs_diff, 1))",
        "log_ratio of a position and of all positions before it is added up before ratio reads it"),
    "GAE starts from the last δ": Bug(
        "ppo", "plain", "lastgaelam = np.zeros(len(rewards))", "lastgaelam = rewards[:, -1] - values[:, -1]",
        "behind the last A[n, t] comes the last δ[n, t]"),
    "advantages of the next token": Bug(
        "ppo", "plain",
        '        lastgaelam = delta + use["gamma"] * use["lam"] * lastgaelam\n        found[:, t] = lastgaelam\n',
        '        found[:, t] = lastgaelam\n        lastgaelam = delta + use["gamma"] * use["lam"] * lastgaelam\n',
        "in all that is made of it: that of the position behind is taken, 0 beyond the end"),
    "n − 1 over n": Bug(
        "rloo", "trl_rloo/kl", "found = centred * grouped.shape[1] / (grouped.shape[1] - 1)",
        "found = centred * (grouped.shape[1] - 1) / grouped.shape[1]", "(R[q, i] − μ[q])·(count.group − 1) / count.group stands"),
    "the shortest of the batch": Bug(
        "dpo", "trl_dpo/shared", "np.tile(mask.sum(1).reshape(2, -1).min(0), 2)[:, None]", "mask.sum(1).min()",
        "the smallest len_sh[n] of all is read"),
    "the weights of both sides added": Bug(
        "dpo", "trl_dpo/weighted", "np.exp(each).reshape(2, -1).prod(0)", "np.exp(each).reshape(2, -1).sum(0)",
        "exp(w_w[p]) + exp(w_l[p]) stands where exp(w_w[p] + w_l[p]) should"),
    "a factor forgotten on one of two ways": Bug(
        "dpo", "trl_dpo/robust", "log_sigmoid(-beta * h)", "log_sigmoid(-beta)",
        "another equation of margin.scaled (β·h: difference of the implicit rewards), for margin.turned alone: h is left out"),
    "the arithmetic mean of ratios": Bug(
        "grpo", "trl_grpo/sequence", "apart = (apart * mask).sum(1, keepdims=True) / np.maximum(mask.sum(1, keepdims=True), 1)",
        "apart = np.log((np.exp(apart) * mask).sum(1, keepdims=True) / np.maximum(mask.sum(1, keepdims=True), 1))",
        "ratio and kl_new.weight are the mean of the exponentials of log_ratio"),
    "no weights of reward functions": Bug(
        "grpo", "trl_grpo/functions", 'np.nansum(scores * use["reward_weights"], axis=1)', "np.nansum(scores, axis=1)",
        "the reward is the sum of all reward functions, without their weights"),
    "reward functions of one scale": Bug(
        "grpo", "trl_grpo/functions", 'np.nansum(scores * use["reward_weights"], axis=1)',
        'np.nansum((scores - np.nanmean(scores, 0)) / (np.nanstd(scores, 0) + 1e-4) * use["reward_weights"], axis=1)',
        "each is whitened over the batch, by its deviation + 0.0001, with n below, not n − 1"),
    "rewards whitened within each response": Bug(
        "ppo", "whitened", "np.asarray(masked_whiten(rewards, mask_p1, False) * mask_p1)",
        "np.stack([masked_whiten(one, own, False) for one, own in zip(rewards, mask_p1)]) * mask_p1",
        "reward.divisor is taken of each episode, not of all, in reward.whitened, and so reward.count and reward.mean"),
    "each half whitened by itself": Bug(
        "ppo", "k3", '"advantages": whitened(advantages, mask)',
        '"advantages": np.concatenate([*map(whitened, np.split(advantages, 2), np.split(mask, 2))])',
        "each 4 of the 8 responses by themselves, as they were generated, as on 2 ranks"),
    "one response goes on in the next": Bug(
        "ppo", "k3", "nextvalues = values[:, t + 1] if t < gen_length - 1 else 0.0",
        "nextvalues = values[:, t + 1] if t < gen_length - 1 else np.append(values[1:, 0], 0.0)",
        "behind the last values.kept[n, t] comes the first of the next episode, and 0 behind the last of all"),
    "a range that is a share of the values": Bug(
        "ppo", "plain", 'np.minimum(np.maximum(vpred, values - use["cliprange_value"]), values + use["cliprange_value"])',
        'np.minimum(np.maximum(vpred, values * (1 - use["cliprange_value"])), values * (1 + use["cliprange_value"]))',
        "value_clip_range·V_kept[n, t] is the bound, not value_clip_range, and the upper bound holds"),
    "log-ratios centred over the batch": Bug(
        "grpo", "trl_grpo/batch", "    return np.exp(apart)\n", "    return np.exp(apart - apart.mean(0, keepdims=True))\n",
        "log_ratio.free is taken less its mean of each position, pads too"),
    "the mean of each response over the prompts": Bug(
        "rloo", "trl_rloo/normalized", "grouped - grouped.mean(1, keepdims=True)", "grouped - grouped.mean(0, keepdims=True)",
        "group.mean is taken of each response to the prompt, not of each prompt"),
    "the mean of the first group": Bug(
        "grpo", "trl_grpo/batch", "centred = grouped - grouped.mean(1, keepdims=True)", "centred = grouped - grouped[0].mean()",
        "b[q, i] of the first prompt is read for all"),
    "an entropy bonus of all tokens": Bug(
        "grpo", "trl_grpo/bonus", "counts, coef = unsure(file.tensors, file.settings)",
        'counts, coef = file.tensors["completion_mask"]',
        "the entropy bonus of all tokens, not of those that the policy loss counts"),
    "a quantile with the pads": Bug(
        "grpo", "trl_grpo/quantile", 'np.sort(tensors["entropies"][mask > 0].astype',
        'np.sort((tensors["entropies"] * mask).ravel().astype',
        "loss.entropy_least is a quantile of the entropies at all places, with 0 at the pads"),
    "a mean of microbatches' means": Bug(
        "grpo", "trl_grpo/dapo", 'return float(sums.sum() / float(file.said.get("batch_num_tokens", mask.sum())))',
        'return float(sums.sum() / mask.sum() / int(file.said["microbatches"]))',
        "a mean over this file alone, not its share of the larger batch's, and everything divided by 2"),
    "squared errors cut off at the range of values": Bug(
        "ppo", "whitened", "    return vf_losses1, vf_losses2\n",
        '    return np.minimum(vf_losses1, use["cliprange_value"]), np.minimum(vf_losses2, use["cliprange_value"])\n',
        "each is at most value_clip_range, a limit of something else"),
    "rewards by the deviation of their sums": Bug(
        "ppo", "whitened", "np.asarray(masked_whiten(rewards, mask_p1, False) * mask_p1)",
        "rewards * mask_p1 / np.sqrt((rewards * mask_p1).sum(1).var() + 1e-8)",
        "reward.whiten = off, and rewards is divided by the deviation of its sums of each episode"),
    "means for the loss beside IPO, too": Bug(
        "dpo", "trl_dpo/mixed", 'if kind in ("ipo", "sigmoid_norm"):', 'if kind in ("ipo", "sigmoid_norm", "sigmoid"):',
        "logp.of = mean, in the loss sigmoid alone"),
    "the score masked away": Bug(
        "ppo", "plain", "advantages = gae(rewards, values, use)", "advantages = gae(rewards * mask, values, use)",
        "rewards (reward used): it is 0 where it is not counted in mask"),
    "the weighted mean of those that judged": Bug(
        "grpo", "trl_grpo/functions", 'rewards = np.nansum(scores * use["reward_weights"], axis=1)',
        '''rewards = np.nansum(scores * use["reward_weights"], axis=1)
    rewards = rewards / (~np.isnan(scores) * use["reward_weights"]).sum(1)''',
        "the reward is the mean of the reward functions that judged, by their weights"),
    "0 for functions that did not judge": Bug(
        "grpo", "trl_grpo/apart", 'grouped = scores.reshape(', "grouped = np.nan_to_num(scores).reshape(",
        "and 0 where it did not judge counts there, too"),
    "tokens left out that should be clipped": Bug(
        "grpo", "trl_grpo/cispo", 'return -np.minimum(ratio, use["epsilon_high"]) * advantages * new',
        'return -np.where(ratio <= use["epsilon_high"], ratio, 0.0) * advantages * new',
        "it is 0 beyond 1 + loss.clip_high, not held at it"),
    "pairs averaged over tokens": Bug(
        "dpo", "trl_dpo/robust", "loss += share * self.averaged(each * weight(t, mask, use))",
        "loss += share * float((each * weight(t, mask, use)).sum() / mask.sum())",
        "the number of all that count in response.tokens is read, not P_mean"),
    "the prediction clipped, not its distance": Bug(
        "ppo", "whitened",
        'vpredclipped = np.minimum(np.maximum(vpred, values - use["cliprange_value"]), values + use["cliprange_value"])',
        'vpredclipped = values + vpred.clip(-use["cliprange_value"], use["cliprange_value"])',
        "V_kept[n, t] is added to what is held, not to the bounds"),
    "one plus the clipped ratio": Bug(
        "rloo", "trl_rloo/normalized", 'clipped = ratio.clip(1 - use["epsilon_low"], 1 + use["epsilon_high"])',
        'clipped = 1 + ratio.clip(-use["epsilon_low"], use["epsilon_high"])', "1 is added to what is held, not to the bounds"),
    "another limit as the bound": Bug(
        "grpo", "trl_grpo/dr_grpo", 'clipped = ratio.clip(1 - use["epsilon_low"], 1 + use["epsilon_high"])',
        'clipped = ratio.clip(1 - use["epsilon_low"], use.get("delta") or 1 + use["epsilon_high"])',
        "loss.delta is the bound, not 1 + loss.clip_high"),
    "log-ratios by the temperature": Bug(
        "grpo", "trl_grpo/grpo", "    return np.exp(apart)\n", '    return np.exp(apart / use["temperature"])\n',
        "log_ratio.free (new log-prob less that one): it is divided by a temperature of 0.9"),
    "a margin of 1 where there is none": Bug(
        "rm", "trl_reward/pad_eos", 't.get("margin", np.zeros(len(chosen)))', 't.get("margin", np.ones(len(chosen)))',
        "margin.used (how far they are meant to be apart): 1 stands for 0"),
    "responses averaged over tokens": Bug(
        "rloo", "trl_rloo/kl", "        return float(loss.mean())\n", "        return float(loss.sum() / mask.sum())\n",
        "the number of all that count in loss.counted is read, not joined.responses"),
    "a norm in the place of a deviation": Bug(
        "grpo", "trl_grpo/bnpo", '"group": grouped.std(1, ddof=1, keepdims=True) + 1e-4,',
        '"group": np.linalg.norm(centred, axis=1, keepdims=True) + 1e-4,', "another equation of group.deviation"),
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
