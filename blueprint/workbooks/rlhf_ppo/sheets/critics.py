"""The sheets of the models that give one number: the critic, old and new, and the reward model."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Section, Sheet, key
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.choices import ROWS
from blueprint.workbooks.common.definitions.gae import kept_values
from blueprint.workbooks.common.definitions.networks import (
    Head,
    Memory,
    change_of,
    head_weights,
    memory_weights,
    rnn,
    scalar_head,
    updated,
)
from blueprint.workbooks.common.definitions.reward import score_of
from blueprint.workbooks.rlhf_ppo.sheets.networks import scalar_sections, update_section
from blueprint.workbooks.rlhf_ppo.sheets.policies import OldPolicy


class Critic(NamedTuple):
    """A critic's sheet, its weights, its head's number in every column, and its masked values."""

    sheet: Sheet
    memory: Memory
    weights: Head
    out: Block
    values: Block


class Scorer(NamedTuple):
    """The reward model's sheet, its head's number in every column, and the score."""

    sheet: Sheet
    out: Block
    score: Block


def old_critic(old: OldPolicy) -> Critic:
    """Outlines the critic as it was when the response was written."""
    lead = "the critic when the response was written: what score it expected before each word"
    return _critic("old_critic", "Old critic", lead, memory_weights("old_critic"), head_weights("old_critic"), old, ())


def new_critic(old: OldPolicy, before: Critic, update_step: Block) -> Critic:
    """Outlines the critic after the simulated update."""
    weights = (*before.memory, *before.weights)
    changes = [change_of("critic", weight) for weight in weights]
    E, W, w, b = (
        updated("critic", weight, change, update_step) for weight, change in zip(weights, changes, strict=True)
    )
    lead = "the critic after the update; the value loss compares it with the returns"
    return _critic("critic", "Critic", lead, Memory(E, W), Head(w, b), old, (update_section(changes),))


def reward_model(old: OldPolicy) -> Scorer:
    """Outlines the reward model, taken as trained: one number after every word, of which the last one counts."""
    lead = "reads the whole text; its number after the last word is the score, given to the column that wrote that word"
    memory, head = memory_weights("reward_model"), head_weights("reward_model")
    here = old.head.on("reward_model")
    read = link("reward_model.read", old.rollout.read)
    network = rnn("reward_model", read, memory)
    out = scalar_head("reward_model", "RM", "number after the word just read", network.h, head)
    score = score_of(here.mask, out)
    sections = scalar_sections(memory, head, read, network, (out, key(score)))
    return Scorer(Sheet("Reward model", lead, sections, (n, t), here.rows, here.mask), out, score)


def _critic(
    name: str, title: str, lead: str, memory: Memory, weights: Head, old: OldPolicy,
    above: tuple[Section, ...],
) -> Critic:  # fmt: skip
    here = old.head.on(name)
    read = link(f"{name}.read", old.rollout.read)
    network = rnn(name, read, memory)
    out = scalar_head(name, "v", "critic's head, before the mask", network.h, weights)
    places = (link(f"{name}.slots", old.slots.row),) if old.slots else ()
    values = kept_values(ROWS.row(f"{name}.values"), out, places[0] if places else here.mask)
    sections = scalar_sections(memory, weights, read, network, (*places, out, key(values)))
    sheet = Sheet(title, lead, (*above, *sections), (n, t), here.rows, here.mask, first=0 if above else 1)
    return Critic(sheet, memory, weights, out, values)
