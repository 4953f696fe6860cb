"""The sheets of the six models: weights beside the rows that they multiply, from the words read to the numbers out."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Axis, Block, link
from blueprint.page.outline import Item, Line, Row, Section, Sheet, Table, key
from blueprint.ppo.advantage import masked_values
from blueprint.ppo.axes import n, t, v
from blueprint.ppo.loss import exact_kl, word_entropy
from blueprint.ppo.models import (
    Distribution,
    Memory,
    Network,
    change_of,
    head_weights,
    memory_weights,
    rnn,
    scalar_head,
    softmax,
    updated,
    word_logprobs,
    word_weights,
)
from blueprint.ppo.models import Head as HeadWeights
from blueprint.ppo.rollout import Prompts, Rollout, rollout
from blueprint.ppo.sheets.head import Head


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
    head: Head


class Critic(NamedTuple):
    """A critic's sheet, its weights and its masked values."""

    sheet: Sheet
    memory: Memory
    weights: HeadWeights
    values: Block


def old_policy(given: Prompts, max_new_tokens: Block) -> OldPolicy:
    """Outlines the policy that writes the response."""
    memory, Y = memory_weights("old"), word_weights("old")
    is_given, given_id = link("old.is_given", given.is_given), link("old.given_id", given.given_id)
    here = given._replace(is_given=is_given, given_id=given_id)
    run = rollout(here, memory, Y, max_new_tokens)
    logprobs = word_logprobs("old", "log π_old", run.distribution.logp, run.written, run.mask)
    words = run.distribution
    turn = run.turn
    draw = Section(
        "6  The draw: the word on whose piece of the line the number u falls",
        (run.cumulative, Row(run.draw, "draw"), run.drawn),
    )
    mask = Section(
        "7  Whose turn is it? The mask m = 1 marks the decisions of the response",
        (
            is_given,
            given_id,
            turn.room,
            turn.allowed,
            turn.ended,
            key(run.written),
            turn.is_end,
            turn.ends,
            run.length,
            run.words,
        ),
    )
    sections = (
        *_network_sections(memory, Y, run.read, run.network, words),
        draw,
        mask,
        Section("8  The log-probability that is kept", (words.p_log_p, key(logprobs))),
    )
    head = Head(run.word_read, run.word_written, run.mask)
    lead = (
        "π_old writes the response one word at a time: embed the word, update the memory, score every next word, draw"
    )
    sheet = Sheet("Old policy", lead, sections, (n, t), head, head.mask)
    return OldPolicy(Policy(sheet, memory, Y, logprobs, words), run, head)


def reference(old: OldPolicy) -> tuple[Policy, Block]:
    """Outlines the frozen reference, which says how likely it finds the words; and the exact KL to it."""
    lead = "π_ref, the frozen model from before, reads the same words and says how likely it finds what was written"
    distance = ExactKL("kl", "KL(π_old‖π_ref)", "exact KL to the reference")
    memory, Y = memory_weights("reference"), word_weights("reference")
    reader = _reader("reference", old, memory, Y, "log π_ref", distance)
    return reader.policy("Reference", lead, ()), reader.exact


def new_policy(old: OldPolicy, update_step: Block) -> tuple[Policy, Block, Block]:
    """Outlines the policy after the simulated update θ = θ_old + step · Δ; its entropy and how far it has moved."""
    weights = (*old.policy.memory, old.policy.Y)
    changes = [change_of("policy", weight) for weight in weights]
    E, W, Y = (updated("policy", w, change, update_step) for w, change in zip(weights, changes, strict=True))
    lead = "π_θ, the policy after the update, reads the same words; the loss compares it with π_old"
    distance = ExactKL("policy_kl", "KL(π_old‖π_θ)", "exact KL between old and new policy")
    reader = _reader("policy", old, Memory(E, W), Y, "log π_θ", distance)
    entropy = word_entropy(reader.head.mask, reader.words.p_log_p)
    spread = Section("8  How undecided the new policy is", (key(entropy),))
    return reader.policy("Policy", lead, (_update(changes),), (spread,)), reader.exact, entropy


def old_critic(old: OldPolicy) -> Critic:
    """Outlines the critic as it was when the response was written."""
    lead = "the critic when the response was written: what score it expected before each word"
    return _critic(
        "old_critic", "Old critic", lead, "V_old", memory_weights("old_critic"), head_weights("old_critic"), old, ()
    )


def new_critic(old: OldPolicy, before: Critic, update_step: Block) -> Critic:
    """Outlines the critic after the simulated update."""
    weights = (*before.memory, *before.weights)
    changes = [change_of("critic", weight) for weight in weights]
    E, W, w, b = (
        updated("critic", weight, change, update_step) for weight, change in zip(weights, changes, strict=True)
    )
    lead = "the critic after the update; the value loss compares it with the returns"
    return _critic("critic", "Critic", lead, "V", Memory(E, W), HeadWeights(w, b), old, (_update(changes),))


def reward_model(old: OldPolicy) -> tuple[Sheet, Block]:
    """Outlines the reward model, taken as trained: one number after every word, of which the last one counts."""
    lead = "reads the whole text, the end word included; its number after the last word is the score of the response"
    memory, head = memory_weights("reward_model"), head_weights("reward_model")
    here = old.head.on("reward_model")
    read = link("reward_model.read", old.rollout.read)
    network = rnn("reward_model", read, memory)
    out = scalar_head("reward_model", "RM", "number after reading the word", network.h, head)
    sections = _scalar_sections(memory, head, read, network, (key(out),))
    return Sheet("Reward model", lead, sections, (n, t), here, here.mask), out


class ExactKL(NamedTuple):
    """What the exact distance from the old policy is called."""

    name: str
    symbol: str
    meaning: str


class Reader(NamedTuple):
    """A policy that reads what the old one wrote: everything on its sheet."""

    head: Head
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
        network = _network_sections(self.memory, self.Y, self.read, self.network, self.words)
        sheet = Sheet(title, lead, (*above, *network, kept, far, *below), (n, t), self.head, self.head.mask)
        return Policy(sheet, self.memory, self.Y, self.logprobs, self.words)


def _reader(name: str, old: OldPolicy, memory: Memory, Y: Block, symbol: str, kl: ExactKL) -> Reader:
    here = old.head.on(name)
    read, written = link(f"{name}.read", old.rollout.read), link(f"{name}.written", old.rollout.written)
    p, p_log_p = old.policy.words.p, old.policy.words.p_log_p
    p_old = link(f"{name}.p_old", p, "probability under π_old", "p_old")
    p_log_p_old = link(f"{name}.p_log_p_old", p_log_p, "Σ p log p of π_old", "plogp_old")
    network = rnn(name, read, memory)
    words = softmax(name, network.h, Y)
    logprobs = word_logprobs(name, symbol, words.logp, written, here.mask)
    cross, exact = exact_kl(*kl, here.mask, p_old, p_log_p_old, words.logp)
    distance = (Row(p_old, "probability"), p_log_p_old, cross, key(exact))
    return Reader(here, read, memory, Y, network, words, written, logprobs, distance, exact)


def _critic(
    name: str, title: str, lead: str, symbol: str, memory: Memory, weights: HeadWeights, old: OldPolicy,
    above: tuple[Section, ...],
) -> Critic:  # fmt: skip
    here = old.head.on(name)
    read = link(f"{name}.read", old.rollout.read)
    network = rnn(name, read, memory)
    out = scalar_head(name, "v", "what the head says", network.h, weights)
    values = masked_values(name, symbol, here.mask, out)
    sections = _scalar_sections(memory, weights, read, network, (out, key(values)))
    return Critic(Sheet(title, lead, (*above, *sections), (n, t), here, here.mask), memory, weights, values)


def _network_sections(
    memory: Memory, Y: Block, read: Block, network: Network, words: Distribution
) -> tuple[Section, ...]:
    steps = (
        words.top,
        words.exponentials,
        words.logsumexp,
        words.logp,
        Row(words.p, "probability"),
    )
    return (
        *_memory_sections(memory, Y, read, network),
        Section("4  Score of every next word", (Row(words.logits, "score"),)),
        Section("5  Probability of every next word: soft-max", steps),
    )


def _scalar_sections(
    memory: Memory, head: HeadWeights, read: Block, network: Network, out: tuple[Item, ...]
) -> tuple[Section, ...]:
    return (
        *_memory_sections(memory, head.w, read, network),
        Section("4  One number from the memory", (Line((head.b,), "weights"), *out)),
    )


def _memory_sections(memory: Memory, beside: Block, read: Block, network: Network) -> tuple[Section, ...]:
    return (
        Section("1  What each word looks like", (Table(memory.E, across=v),)),
        Section("2  What it reads, and the weights W to the left", (read, Row(network.x, "input", beside=memory.W))),
        Section("3  Memory, and the weights to the left", (Row(network.h, "memory", beside=beside),)),
    )


def _update(changes: list[Block]) -> Section:
    tables = [Table(change, _table_axis(change)) if change.axes else Line((change,), "weights") for change in changes]
    return Section("0  The update Δ (typed): it stands for a training step", tuple(tables))


def _table_axis(weight: Block) -> Axis | None:
    """Returns the axis that runs across in a table of weights: words for an embedding, else the second one."""
    return None if len(weight.axes) == 1 else v if weight.axes[0] is v else weight.axes[1]
