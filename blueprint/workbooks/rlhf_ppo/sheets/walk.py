"""What Walk derives of one decision of RLHF PPO: how the word came about, its reward and advantage, and its loss."""

from __future__ import annotations

from blueprint.language import Block
from blueprint.page.outline import Listed, Section, Step
from blueprint.workbooks.common.sheets.loss import walked
from blueprint.workbooks.common.sheets.walk import Items, Titled, titled_sections
from blueprint.workbooks.common.signal import Whole
from blueprint.workbooks.rlhf_ppo.steps import Models, Steps


def walk_sections(steps: Steps) -> list[Section]:
    """Outlines the whole derivation of one word, from what was read to its share of the loss."""
    m, s, loss = steps.models, steps.signal, steps.loss
    way = m.way
    value = (way.expects, m.V_new) if way else ()
    return titled_sections(
        *written_sections(m),
        *model_sections(m),
        *signal_sections(s),
        *walked(loss, value, steps.entropy),
    )


def written_sections(m: Models) -> tuple[Titled, ...]:
    """Outlines how the old policy wrote the word: the word read, memory, soft-max and draw, as far as that is run here."""
    way, run, words = m.way, m.texts, m.old.words
    soft = ("Every next word: logits and soft-max", (
        Listed(words.logits), words.top, Listed(words.exponentials), words.logsumexp, Listed(words.p),
    ))  # fmt: skip
    if way is None:
        return soft, ("The word written", (run.mask, run.written))
    h = way.network.h
    embedded = Listed(way.embedding, member=way.read, says="embedding of the word read")
    read = (way.read, embedded, Listed(h, by=-1), Step(h, member=0), Listed(h))
    drawn: Items = (*run.how, Step(way.upto, member=way.drawn), way.drawn, run.mask, run.written)
    return ("The word read, and the memory", read), soft, ("The draw, and the word written", drawn)


def model_sections(m: Models) -> tuple[Titled, ...]:
    """Outlines what the models say of the word: three policies, reward model and critic."""
    a, way = m.texts.written, m.way
    policies = {"old policy": m.old, "reference": m.reference.policy, "new policy": m.policy.policy}
    likely = (
        (f"How likely was the word to the {whose}?", (
            Step(policy.words.logits, member=a), Step(policy.words.logp, member=a), policy.logprobs,
        ))
        for whose, policy in policies.items()
    )  # fmt: skip
    if way is None:
        return tuple(likely)
    judged = (Step(way.scored, later=True), m.score, way.expected, m.V_old)
    return *likely, ("Reward model and old critic", judged)


def walk_sections_of_signal(signal: Whole, mask: Block) -> list[Section]:
    """Outlines the derivation of one word's advantage, from given log-probs, value and score."""
    given = (signal.given.logp_old, signal.given.logp_ref, signal.placed, signal.gae.V)
    return titled_sections(("The decision", (mask, *given)), *signal_sections(signal))


def signal_sections(signal: Whole) -> tuple[Titled, ...]:
    """Outlines reward and advantage of one word."""
    kl, estimate, white = signal.kl, signal.gae, signal.white
    return (
        ("Reward", (kl.k1, kl.k2, kl.k3, kl.used, signal.paid.penalty, signal.rewards.used)),
        ("Advantage", (
            estimate.td_errors, estimate.advantages, estimate.returns, white.of.mean, white.of.centred,
            white.of.variance, white.whitened, white.used,
        )),
    )  # fmt: skip
