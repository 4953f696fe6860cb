"""A file of a minibatch, from what is typed to its last check: PPO in a window, with the rest of the batch as typed numbers.

Rows are [F, N, T], numbers of responses [F, N], numbers of the batch [F].
"""

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

import torch

from blueprint.witness import (
    TABLE,
    Batch,
    File,
    KindWitness,
    Options,
    Rows,
    Texts,
    Tie,
    Whole,
    add_pictures,
    add_settings,
    advantages,
    held,
    rewards,
    shapes,
)
from blueprint.workbooks.minibatch.witness.backward import add_gradients
from blueprint.workbooks.minibatch.witness.logged import Kind, add_charts, add_checks, add_logged, add_means, kind_of
from blueprint.workbooks.minibatch.witness.loss import add_estimates, add_loss

HIDDEN = ("policy_kl", "adds.policy_kl", "value.held_counts", "clip_fraction.floored", "entropy.weight.length")
"""Rows of the computation that a window does not show."""
COUNTS = MappingProxyType({"words": "words", "wrote": "responses"})
"""By what is added up for the weights of words, what is typed of it; the entropy has the counts of the policy loss."""


class OfWindow(Whole):
    """Sums over a batch of which a window is there: counts are typed, and so is what the other words add."""

    def __init__(self, rows: Rows) -> None:
        """Takes the rows, among which the typed numbers are."""
        self._rows = rows

    def total(self, name: str, values: torch.Tensor) -> torch.Tensor:
        """Returns a count of the whole batch, or what the words of the window and all others add to a part of the loss."""
        part, _, what = name.partition(".")
        if what in COUNTS:
            return self._rows[f"{'policy' if part == 'entropy' else part}.{COUNTS[what]}"]
        here = super().total(name, values)
        return here + self._rows[f"rest.{what}"] if f"rest.{what}" in self._rows else here


def compute(batch: Batch, rows: Rows) -> Sequence[Tie]:
    """Adds every quantity of the files to the rows. Raises WitnessError for a mask other than 0 and 1."""
    kind = kind_of(batch.files[0])
    add_settings(batch, rows)
    rows.know({name: batch.typed(name) for name in ("slots", *kind.typed)} | {"mask": batch.mask()})
    rows.hide(HIDDEN)
    options, texts = replace(batch.options, sums=OfWindow(rows)), texts_of(rows)
    add_places(rows, options)
    add_signal(rows, texts, options, kind)
    add_loss(rows, texts, options, kind)
    add_gradients(batch, rows, texts, options, kind)
    add_means(rows, kind)
    add_logged(batch, rows, kind)
    add_charts(batch, rows, kind)
    add_pictures(batch, rows)
    add_checks(batch, rows, kind)
    return ()


def texts_of(rows: Rows) -> Texts:
    """Returns the inputs in the columns of the window, [F, N, T]; 0 for what a file has not."""
    mask = rows["mask"]
    nothing = torch.zeros_like(mask)

    return Texts(
        slots=rows["slots"][..., :-1],
        mask=mask,
        old_logprobs=rows["old.logprobs"],
        reference_logprobs=rows["reference.logprobs"],
        logprobs=rows["policy.logprobs"],
        kl_old_reference=nothing,
        kl_new_reference=nothing,
        kl_old_new=nothing,
        entropy=rows.get("policy.entropy", nothing),
        old_values=rows.get("old_critic.values", nothing),
        values=rows.get("critic.values", nothing),
        score=rows.get("score.given", nothing[..., 0]),
        ended=rows["response.ended"],
    )


def add_places(rows: Rows, options: Options) -> None:
    """Adds where each response ends, what counts as response and what is kept.

    The column behind the last one is looked at too: a response that goes on there ends in no column of the window.
    """
    wider = torch.cat([rows["mask"], rows["after.words"][..., None]], dim=-1)
    rows.add({name: each[..., :-1] for name, each in rewards.response_rows(rows["slots"], wider, options).items()})


def add_signal(rows: Rows, texts: Texts, options: Options, kind: Kind) -> None:
    """Adds everything from the beginning of a file to the advantages that its loss uses; statistics are the whole batch's."""
    if kind.begins in ("score.given", "score.placed"):
        add_rewards(rows, texts, options, kind)
    if kind.kept:
        values = rows["kept"] * texts.old_values
        ahead = rows["after.ahead"][..., None]
        rows.add({"values.kept": torch.cat([values, ahead], dim=-1) if kind.advantages else values})
    if kind.advantages:
        rows.add(advantages.gae_rows(texts.slots, rows, options, rows["after.advantages"]))
        rows.add(advantages.whitened_rows(texts.slots, rows, options, moments(rows, "advantage")))


def add_rewards(rows: Rows, texts: Texts, options: Options, kind: Kind) -> None:
    """Adds the KL to the reference, the score on its slot, and the rewards."""
    add_estimates(rows, "kl", "old", options)
    if kind.begins == "score.given":
        rows.add({"score.place": rewards.score_place(rows, options)})
        rows.add(rewards.score_rows(texts.score, rows, options))
    prices = rewards.price_rows(rows, options)
    rows.add({name: prices[name] for name in ("kl.support", "kl_coef.reward")})
    rows.add(rewards.reward_rows(rows))
    rows.add(rewards.whitened_rows(texts.slots, rows, options, moments(rows, "reward")))


def moments(rows: Rows, name: str) -> dict[str, torch.Tensor]:
    """Returns mean and variance of the whole batch, as they are typed."""
    return {each: rows[f"{name}.{each}"] for each in ("mean", "variance")}


def group_key(file: File) -> object:
    """Returns what files must share: what they have, their settings, and the shape of the window."""
    return kind_of(file), held(file), shapes(file, "mask", TABLE)


WITNESS = KindWitness(("after.words",), ("mask",), compute, group_key)
