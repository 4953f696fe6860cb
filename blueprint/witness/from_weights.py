"""From weights and draws to the last number: prompts, texts, six models, signal, loss, diagnostics, checks."""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness import checks, diagnostics, loss, signal
from blueprint.witness.batch import Batch, Rows
from blueprint.witness.charts import curve_rows, dot_rows, gae_at_rows
from blueprint.witness.models import Named, Policy, Recurrent, Scored, distribution, logprobs
from blueprint.witness.rollout import (
    Prompts,
    Rollout,
    Tie,
    check_draws,
    fixed,
    prompts,
    replay,
    rollout_rows,
    ties,
    words,
)
from blueprint.witness.setting_rows import add_settings, outside_all

POLICY, SCORED = ("E", "W", "Y"), ("E", "W", "head.w", "head.b")


def weights_of(batch: Batch, model: str, parts: tuple[str, ...]) -> Named:
    """Returns the typed weights of a model, [F, …]."""
    return {part: batch.typed(f"{model}.{part}") for part in parts}


def updated(batch: Batch, model: str, new: str, parts: tuple[str, ...]) -> Named:
    """Returns the weights after the simulated update, θ_old + update_step·Δ, [F, …]."""
    step = batch.setting("update_step").flatten()
    old = weights_of(batch, model, parts)
    deltas = weights_of(batch, f"{new}.delta", parts)
    return {part: old[part] + step.view(-1, *[1] * (old[part].dim() - 1)) * deltas[part] for part in parts}


def texts(batch: Batch, temperature: Tensor | None = None) -> tuple[Prompts, Rollout]:
    """Returns the prompts and what the old policy writes behind them. Raises WitnessError for an unknown word.

    `temperature` [F, 1, 1] divides the logits that words are drawn from.
    """
    check_draws(list(batch.files))
    given = prompts(batch)
    last = batch.exists - torch.nn.functional.pad(batch.exists[..., 1:], (0, 1))
    old = Policy(weights_of(batch, "old", POLICY))
    draws = batch.typed("rollout.draw", fill=0.5)
    return given, replay(old, given, draws, batch.exists, last, temperature, fixed(batch))


def add_language_model(rows: Rows, name: str, model: Policy, rollout: Rollout) -> None:
    """Adds everything that a policy computes on the texts, and its log-prob of each response word."""
    add_memory(rows, name, model, rollout.read)
    logits = model.logits(rows[f"{name}.memory"])
    found = distribution(logits)
    chosen = logprobs(found["log_p"], rollout.written[..., 1:], rollout.mask[..., 1:])
    p_log_p = (found["p"] * found["log_p"]).sum(dim=-1)
    whole = {"logits": logits} | found | {"logprobs": chosen, "p_log_p": p_log_p}
    rows.add({f"{name}.{row}": each for row, each in whole.items()})


def add_memory(rows: Rows, name: str, model: Recurrent, read: Tensor) -> None:
    """Adds what a model reads and remembers."""
    memory = model.memory(read)
    rows.add({f"{name}.inputs": model.inputs(read, memory), f"{name}.memory": memory})


def add_scored(batch: Batch, rows: Rows, name: str, weights: Named, read: Tensor) -> Tensor:
    """Adds a model with one number on top and returns that number where the file has the column, [F, N, T]."""
    model = Scored(weights)
    add_memory(rows, name, model, read)
    return batch.exists * model.score(rows[f"{name}.memory"])


def add_critic(batch: Batch, rows: Rows, name: str, weights: Named, rollout: Rollout) -> None:
    """Adds a critic: its number, and the value, which is 0 outside the mask and behind the last word."""
    out = signal.with_end(add_scored(batch, rows, name, weights, rollout.read))
    rows.add({f"{name}.out": out, f"{name}.values": rows["mask"][..., 1:] * out})


def compute(batch: Batch, rows: Rows, numbers_of_files: list[int]) -> list[Tie]:
    """Adds every quantity of the files to the rows and returns the draws that are ties."""
    add_settings(batch, rows)
    given, rollout = texts(batch)
    columns = torch.tensor([float(size[1]) for size in batch.sizes], dtype=batch.dtype, device=batch.device)
    rows.add({"decisions": columns} | rollout_rows(given, rollout))
    read, written, response = words(batch, rollout, given)
    rows.add_words("word_read", read)
    rows.add_words("word_written", written)
    rows.add(diagnostics.response_rows(rollout.mask[..., 1:]))
    _add_frozen(batch, rows, rollout)
    _add_signal(batch, rows)
    _add_update(batch, rows, rollout)
    _add_loss(batch, rows)
    _add_diagnostics(batch, rows)
    rows.add_words("bar.word", response)
    _add_checks(batch, rows)
    return ties(batch, rollout, numbers_of_files)


def _mask(rows: Rows) -> Tensor:
    return rows["mask"][..., 1:-1]


def _add_frozen(batch: Batch, rows: Rows, rollout: Rollout) -> None:
    add_language_model(rows, "old", Policy(weights_of(batch, "old", POLICY)), rollout)
    p = rows["old.p"]
    rows.add({"old.cumulative": torch.cat([torch.zeros_like(p[..., :1]), p.cumsum(dim=-1)], dim=-1)})
    add_language_model(rows, "reference", Policy(weights_of(batch, "reference", POLICY)), rollout)
    cross, kl = signal.exact_kl(p, rows["old.p_log_p"], rows["reference.log_p"], _mask(rows))
    rows.add({"kl.cross": cross, "kl.exact": kl})
    out = add_scored(batch, rows, "reward_model", weights_of(batch, "reward_model", SCORED), rollout.read)
    rows.add(signal.score_rows(out, _mask(rows)))
    add_critic(batch, rows, "old_critic", weights_of(batch, "old_critic", SCORED), rollout)


def _add_signal(batch: Batch, rows: Rows) -> None:
    mask, values, setting = _mask(rows), rows["old_critic.values"], batch.setting
    rows.add(signal.kl_rows(rows["old.logprobs"], rows["reference.logprobs"], setting("kl_estimator")))
    rows.add(signal.reward_rows(rows["kl.used"], rows["reward.score"], setting("kl_coef")))
    rows.add(signal.gae_rows(rows["rewards"], values, mask, setting("gamma"), setting("gae_lambda")))
    advantages, off = rows["advantages"][..., :-1], setting("whiten_advantages")
    rows.add(signal.whitened_rows(advantages, mask, rows["response.words"], setting("whiten_eps"), off))


def _add_update(batch: Batch, rows: Rows, rollout: Rollout) -> None:
    policy = updated(batch, "old", "policy", POLICY)
    rows.add_whole({f"policy.{part}": each for part, each in policy.items()})
    add_language_model(rows, "policy", Policy(policy), rollout)
    mask, p_log_p = _mask(rows), rows["policy.p_log_p"]
    cross, kl = signal.exact_kl(rows["old.p"], rows["old.p_log_p"], rows["policy.log_p"], mask)
    rows.add({"policy_kl.cross": cross, "policy_kl.exact": kl, "policy.entropy": -mask * p_log_p})
    critic = updated(batch, "old_critic", "critic", SCORED)
    rows.add_whole({f"critic.{part}": each for part, each in critic.items()})
    add_critic(batch, rows, "critic", critic, rollout)


def _add_loss(batch: Batch, rows: Rows) -> None:
    mask, setting = _mask(rows), batch.setting
    old, new = rows["old_critic.values"][..., :-1], rows["critic.values"][..., :-1]
    advantages = rows["advantages_used"]
    rows.add(loss.policy_rows(rows["policy.logprobs"], rows["old.logprobs"], advantages, mask, setting("clip_range")))
    rows.add(loss.value_rows(new, old, rows["returns"], mask, setting("value_clip_range")))
    rows.add(loss.policy_kl_rows(rows["log_ratio"]))
    of_words = {name: rows[name] for name in ("surrogate", "value.word_loss", "policy.entropy", "policy_kl.exact")}
    coefficients = {name: setting(name) for name in ("vf_coef", "ent_coef", "policy_kl_coef")}
    found = loss.total_rows(of_words, coefficients, mask, rows["response.words"])
    rows.add(found)
    parts = ("policy_loss", "adds.value_loss", "adds.entropy", "adds.policy_kl", "total_loss")
    rows.add_whole({"parts": torch.stack([found[name] for name in parts], dim=-1)})


def _add_diagnostics(batch: Batch, rows: Rows) -> None:
    mask, count, length = _mask(rows), rows["response.words"], rows["response.count"]
    old = rows["old_critic.values"][..., :-1]
    rows.add(diagnostics.update_rows(rows, mask, count))
    rows.add(diagnostics.per_response_rows(rows["kl.used"], rows["reward.score"], rows["reward.penalty"], mask, length))
    size = rows["advantages"][..., :-1].abs()
    rows.add({"advantage.abs": size, "advantage.mean_abs": signal.masked_mean(size, mask, count)})
    floor = batch.typed("explained_variance.floor")
    rows.add(diagnostics.explained_rows(rows["returns"], old, mask, count, floor))
    rows.add(diagnostics.mean_rows(rows, "weights", mask, count))
    clip_range = batch.setting("clip_range")
    rows.add_whole(curve_rows(batch, clip_range[..., 0]))
    rows.add(dot_rows(batch, rows["ratio"], rows["advantages_used"], rows["surrogate"], mask))
    rows.add(gae_at_rows(batch, rows["td_errors"], mask, batch.setting("gamma")))


def _add_checks(batch: Batch, rows: Rows) -> None:
    mask, old = _mask(rows), rows["old_critic.values"][..., :-1]
    rows.add(
        checks.identity_rows(
            rows["rewards"], rows["old_critic.values"], rows["td_errors"], mask, batch.setting("gamma")
        )
    )
    of_signal = checks.signal_distances(rows, old, mask)
    draws = checks.range_distance(
        batch.typed("rollout.draw", fill=0.5), batch.typed("rollout.draw.low"), batch.typed("rollout.draw.high")
    )
    found = checks.text_distances(rows["is_given"]) | checks.model_distances(rows)
    found |= {name: of_signal.pop(name) for name in ("check.k3", "check.returns")}
    found |= checks.loss_distances(rows, batch.setting("update_step"))
    rows.add(checks.loss_sizes(rows))
    length = checks.range_distance(*(batch.typed(f"max_new_tokens{end}") for end in ("", ".low", ".high")))
    found |= {"check.settings": outside_all(batch), "check.draws": draws, "check.length": length} | of_signal
    checks.add_verdicts(batch, rows, found)
