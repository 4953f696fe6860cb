"""The sheets of the three policies: the old one writes the response, the reference and the new one read it."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Item, Line, Note, Row, Section, Sheet, key, minor
from blueprint.ppo.axes import n, t
from blueprint.ppo.loss import exact_kl, word_entropy
from blueprint.ppo.models import (
    Distribution,
    Memory,
    Network,
    change_of,
    memory_weights,
    rnn,
    softmax,
    updated,
    word_logprobs,
    word_weights,
)
from blueprint.ppo.rollout import DrawRange, Prompts, Rollout, rollout
from blueprint.ppo.sheets.head import InView
from blueprint.ppo.sheets.networks import network_sections, update_section

DRAW = "Another u, another word. A u below the first F draws word 0, which ends the text: the response is then shorter."


class Policy(NamedTuple):
    """A policy's sheet and what others read from it: weights, log-probs of the written words, whole distribution."""

    sheet: Sheet
    memory: Memory
    Y: Block
    logprobs: Block
    words: Distribution


class OldPolicy(NamedTuple):
    """The old policy, which also wrote the response."""

    policy: Policy
    rollout: Rollout
    head: InView


def old_policy(given: Prompts, max_new_tokens: Block, draws: DrawRange) -> OldPolicy:
    """Outlines the policy that writes the response."""
    memory, Y = memory_weights("old"), word_weights("old")
    is_given, given_id = link("old.is_given", given.is_given), link("old.given_id", given.given_id)
    here = given._replace(is_given=is_given, given_id=given_id)
    run = rollout(here, memory, Y, max_new_tokens)
    logprobs = word_logprobs("old", "log π_old", "old policy", run.distribution.logp, run.written, run.mask)
    words = run.distribution
    sections = (
        *network_sections(memory, Y, run.read, run.network, words),
        *_writing_sections(run, draws, is_given, given_id),
        Section("8  The log-probability that is kept", (words.p_log_p, key(logprobs))),
    )
    head = InView(run.word_read, run.word_written, run.mask)
    lead = (
        "π_old writes the response one word at a time: embed the word, update the memory, score every next word, draw"
    )
    sheet = Sheet("Old policy", lead, sections, (n, t), head, head.mask)
    return OldPolicy(Policy(sheet, memory, Y, logprobs, words), run, head)


def _writing_sections(run: Rollout, draws: DrawRange, is_given: Block, given_id: Block) -> tuple[Section, Section]:
    turn, counts = run.turn, (run.length, run.words)
    whose = (is_given, given_id, turn.room, turn.allowed, turn.ended)
    return (
        Section(
            "6  The draw: the word on whose piece of the line the number u falls",
            (
                Note(DRAW),
                minor(run.cumulative),
                *(Line((end,), "fixed") for end in draws),
                Row(run.draw, "draw"),
                run.drawn,
            ),
        ),
        Section(
            "7  Whose turn is it? The mask m = 1 marks the decisions of the response",
            (*whose, key(run.written), turn.is_end, turn.ends, *counts),
        ),
    )


def reference(old: OldPolicy) -> tuple[Policy, Block]:
    """Outlines the frozen reference, which says how likely it finds the words; and the exact KL to it."""
    lead = "π_ref, the frozen model from before, reads the same words and says how likely it finds what was written"
    distance = ExactKL("kl", "KL(π_old‖π_ref)", "exact KL to the reference")
    memory, Y = memory_weights("reference"), word_weights("reference")
    reader = _reader("reference", "reference", old, memory, Y, "log π_ref", distance)
    return reader.policy("Reference", lead, ()), reader.exact


def new_policy(old: OldPolicy, update_step: Block) -> tuple[Policy, Block, Block]:
    """Outlines the policy after the simulated update θ = θ_old + step · Δ; its entropy and how far it has moved."""
    weights = (*old.policy.memory, old.policy.Y)
    changes = [change_of("policy", weight) for weight in weights]
    E, W, Y = (updated("policy", w, change, update_step) for w, change in zip(weights, changes, strict=True))
    lead = "π_θ, the policy after the update, reads the same words; the loss compares it with π_old"
    distance = ExactKL("policy_kl", "KL(π_old‖π_θ)", "exact KL between old and new policy")
    reader = _reader("policy", "new policy", old, Memory(E, W), Y, "log π_θ", distance)
    entropy = word_entropy(reader.head.mask, reader.words.p_log_p)
    spread = Section("8  How undecided the new policy is", (key(entropy),))
    return reader.policy("Policy", lead, (update_section(changes),), (spread,)), reader.exact, entropy


class ExactKL(NamedTuple):
    """What the exact distance from the old policy is called."""

    name: str
    symbol: str
    meaning: str


class Reader(NamedTuple):
    """A policy that reads what the old one wrote: everything on its sheet."""

    head: InView
    read: Block
    memory: Memory
    Y: Block
    network: Network
    words: Distribution
    written: Block
    logprobs: Block
    distance: tuple[Item, ...]
    exact: Block

    def policy(self, title: str, lead: str, above: tuple[Section, ...], below: tuple[Section, ...] = ()) -> Policy:
        """Outlines the sheet."""
        kept = Section("6  The word that was written", (self.written, key(self.logprobs), self.words.p_log_p))
        far = Section(f"7  How far from the old policy: {self.exact.symbol}", self.distance)
        network = network_sections(self.memory, self.Y, self.read, self.network, self.words)
        sheet = Sheet(title, lead, (*above, *network, kept, far, *below), (n, t), self.head, self.head.mask)
        return Policy(sheet, self.memory, self.Y, self.logprobs, self.words)


def _reader(name: str, title: str, old: OldPolicy, memory: Memory, Y: Block, symbol: str, kl: ExactKL) -> Reader:
    """Defines what a policy computes that reads the words of the old one; `title` says which policy it is."""
    here = old.head.on(name)
    read, written = link(f"{name}.read", old.rollout.read), link(f"{name}.written", old.rollout.written)
    p, p_log_p = old.policy.words.p, old.policy.words.p_log_p
    p_old = link(f"{name}.p_old", p, "probability under π_old", "p_old")
    p_log_p_old = link(f"{name}.p_log_p_old", p_log_p, "Σ p log p of π_old", "plogp_old")
    network = rnn(name, read, memory)
    words = softmax(name, network.h, Y)
    logprobs = word_logprobs(name, symbol, title, words.logp, written, here.mask)
    cross, exact = exact_kl(*kl, here.mask, p_old, p_log_p_old, words.logp)
    distance = (minor(p_old, "probability"), p_log_p_old, cross, key(exact))
    return Reader(here, read, memory, Y, network, words, written, logprobs, distance, exact)
