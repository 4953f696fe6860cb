"""The sheets of the three policies: the old one writes the response, the reference and the new one read it."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Line, Note, Row, Section, Sheet, key, minor
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.distribution import chosen_logprobs
from blueprint.workbooks.common.definitions.networks import (
    Memory,
    Temperature,
    change_of,
    logits,
    memory_weights,
    rnn,
    tempered,
    updated,
    word_weights,
)
from blueprint.workbooks.common.sheets.head import InView
from blueprint.workbooks.rlhf_ppo.rollout import Rollout, rollout, slots_of
from blueprint.workbooks.rlhf_ppo.sheets.networks import memory_sections, network_sections, update_section
from blueprint.workbooks.rlhf_ppo.sheets.reading import NEW, REFERENCE, Heard, Part, Policy, Read, policy_that_reads
from blueprint.workbooks.rlhf_ppo.texts import DrawRange, Prompts, Slots

DRAW = "Another u, another word. A u below the first F draws word 0, which ends the text: the response is then shorter."

TYPED = (
    "A word typed below is written, whatever the draw above says; where the cell is empty, the draw decides. "
    "What stands behind the end word counts for nothing."
)


class OldPolicy(NamedTuple):
    """The old policy, which also wrote the response: its weights, and what it wrote.

    slots: where log-probs are taken behind the response too.
    """

    policy: Policy
    memory: Memory
    Y: Block
    rollout: Rollout
    head: InView
    temperature: Temperature | None = None
    slots: Slots | None = None


def old_policy(
    given: Prompts, max_new_tokens: Block, draws: DrawRange, temperature: Temperature | None = None
) -> OldPolicy:
    """Outlines the policy that writes the response; with a temperature, log-probs are taken behind its end too."""
    memory, Y = memory_weights("old"), word_weights("old")
    is_given, given_id = link("old.is_given", given.is_given), link("old.given_id", given.given_id)
    here = given._replace(is_given=is_given, given_id=given_id)
    run = rollout(here, memory, Y, max_new_tokens, temperature)
    room = slots_of(is_given, given.decisions, max_new_tokens) if temperature else None
    counted = room.row if room else run.mask
    logprobs = chosen_logprobs("old", run.distribution.logp, run.written, counted)
    words = run.distribution
    kept = (*((room.number, room.row) if room else ()), words.p_log_p, key(logprobs))
    sections = (
        *network_sections(memory, Y, run.read, run.network, run.logits, words),
        *_writing_sections(run, draws, is_given, given_id),
        Section("The log-probability that is kept", kept),
    )
    head = InView(run.word_written, run.mask, run.word_read)
    lead = (
        "π_old writes the response one word at a time: embed the word, update the memory, score every next word, draw"
    )
    sheet = Sheet("Old policy", lead, sections, (n, t), head.rows, head.mask)
    return OldPolicy(Policy(sheet, logprobs, words), memory, Y, run, head, temperature, room)


def _writing_sections(run: Rollout, draws: DrawRange, is_given: Block, given_id: Block) -> tuple[Section, Section]:
    turn, counts = run.turn, (run.length, run.words)
    whose = (is_given, given_id, turn.room, turn.allowed, turn.ended)
    return (
        Section(
            "The draw: the word on whose piece of the line the number u falls",
            (
                Note(DRAW),
                minor(run.cumulative),
                *(Line((end,), "fixed") for end in draws),
                run.draw,
                run.drawn,
                *_typed_rows(run),
            ),
        ),
        Section(
            "Whose turn is it? The mask m = 1 marks the decisions of the response",
            (*whose, key(run.written), turn.is_end, turn.ends, *counts),
        ),
    )


def _typed_rows(run: Rollout) -> tuple[Note | Row | Block, ...]:
    """Outlines the typed response, where there is one."""
    if not run.fixed:
        return ()
    response, forced = run.fixed
    return (Note(TYPED), Row(response, "text"), forced)


def reference(old: OldPolicy) -> Read:
    """Outlines the frozen reference, which says how likely it finds the words; and the exact KL to it."""
    memory, Y = memory_weights("reference"), word_weights("reference")
    return _by_network(REFERENCE, old, memory, Y, ())


def new_policy(old: OldPolicy, update_step: Block) -> Read:
    """Outlines the policy after the simulated update θ = θ_old + step · Δ; its entropy and how far it has moved."""
    weights = (*old.memory, old.Y)
    changes = [change_of("policy", weight) for weight in weights]
    E, W, Y = (updated("policy", w, change, update_step) for w, change in zip(weights, changes, strict=True))
    return _by_network(NEW, old, Memory(E, W), Y, (update_section(changes),))


def _by_network(part: Part, old: OldPolicy, memory: Memory, Y: Block, above: tuple[Section, ...]) -> Read:
    """Runs a policy's network over the words of the old one."""
    read = link(f"{part.name}.read", old.rollout.read)
    network = rnn(part.name, read, memory)
    z = tempered(part.name, logits(part.name, network.h, Y), old.temperature)
    heard = Heard(old.head, old.slots.row if old.slots else None, old.rollout.written, old.policy.words)
    return policy_that_reads(part, heard, z, (*above, *memory_sections(memory, Y, read, network)), 0 if above else 1)
