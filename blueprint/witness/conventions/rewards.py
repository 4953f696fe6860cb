"""The reward: KL penalty and score, where the score lands, what a response without end word gets, and whitening."""

from __future__ import annotations

import torch

from blueprint.witness.conventions.options import Options, within
from blueprint.witness.conventions.texts import Texts
from blueprint.witness.conventions.whitening import moment_rows
from blueprint.witness.models import Held, Named


def score_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns the score after the rule of the missing end word, then clipped, [F, N], and on its slot, [F, N, T]."""
    ended = options.pick(
        "reward.missing_eos_test", {"token": rows["response.ended"], "has_padding": rows["response.padded"]}
    )
    value = options.number("reward.missing_eos_value", 2)
    replaced = torch.where(ended > 0, texts.score, value)
    subtracted = texts.score - (1 - ended) * value
    corrected = options.pick("reward.missing_eos", {"off": texts.score, "subtract": subtracted, "set": replaced})
    clipped = within(corrected, options.number("reward.score_clip", 2))
    return {
        "score.ended": ended,
        "score.subtracted": subtracted,
        "score.replaced": replaced,
        "score.corrected": corrected,
        "score.clipped": clipped,
        "score.placed": rows["score.place"] * clipped[..., None],
    }


def score_place(rows: Held, options: Options) -> torch.Tensor:
    """Returns 1 in the slot of each response where its score lands, [F, N, T]."""
    places = {"end": rows["place.end"], "two_past": rows["place.two_past"]}
    places |= {place: rows[f"place.{place}"][..., 1:] for place in ("last", "one_past")}
    return options.pick("reward.score_slot", places)


def reward_rows(rows: Held) -> Named:
    """Returns penalty and reward, r_t = −β·kl_t + score_t, [F, N, T]."""
    penalty = -rows["kl_coef.reward"][:, None, None] * rows["kl.support"] * rows["kl.used"]
    return {"reward.penalty": penalty, "rewards.raw": penalty + rows["score.placed"]}


def whitened_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns the rewards divided by their deviation, the mean kept (shift_mean=False), and the rewards in use.

    TRL 0.11.4 does not set the pads to 0 again: there (0 − μ)/σ + μ enters the advantages.
    """
    raw, slots, kept = rows["rewards.raw"], texts.slots, rows["kept"]
    counted = torch.where(options.says("advantage.stats", "all"), slots, kept)
    found = moment_rows("reward", raw, counted, options)
    mean, divisor = (found[f"reward.{each}"][:, None, None] for each in ("mean", "divisor"))
    centred = raw - mean
    stays = torch.where(options.says("reward.whiten_rezero", "on"), kept, slots)
    shifted = stays * slots * (centred / divisor + mean)
    return found | {
        "reward.centred": counted * centred,
        "reward.whitened": centred / divisor,
        "reward.shifted": shifted,
        "rewards": options.pick("reward.whiten", {"off": raw, "on": shifted}),
    }
