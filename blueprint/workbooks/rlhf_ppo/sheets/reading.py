"""A policy that reads what the old one wrote: how likely it finds each word, and how far it is from the old policy."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Section, Sheet, key, minor
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.distribution import (
    Distribution,
    chosen_logprobs,
    entropy,
    exact_kl,
    softmax,
)
from blueprint.workbooks.common.sheets.head import InView
from blueprint.workbooks.rlhf_ppo.sheets.networks import word_sections


class Policy(NamedTuple):
    """A policy's sheet and what others read from it: log-probs of the written words, and the whole distribution."""

    sheet: Sheet
    logprobs: Block
    words: Distribution


class Read(NamedTuple):
    """A policy that read the words, its exact KL from the old policy, and its entropy if it is the new one."""

    policy: Policy
    exact: Block
    entropy: Block | None


class Heard(NamedTuple):
    """What is read: the rows in view, the words written (ids), and the old policy's distribution.

    slots: (n, t), where log-probs are taken; none: on the response alone.
    """

    head: InView
    slots: Block | None
    written: Block
    words: Distribution


class Part(NamedTuple):
    """What a policy's part is: name, title and lead, and what the names of its KL from π_old begin with."""

    name: str
    title: str
    lead: str
    distance: str


REFERENCE = Part(
    "reference",
    "Reference",
    "π_ref, the frozen model from before, reads the same words and says how likely it finds what was written",
    "kl",
)
NEW = Part(
    "policy",
    "Policy",
    "π_θ, the policy after the update, reads the same words; the loss compares it with π_old",
    "policy_kl",
)


def policy_that_reads(
    part: Part, heard: Heard, logits: tuple[Block, ...], above: tuple[Section, ...], first: int = 1
) -> Read:
    """Outlines a policy from its logits on; `above` are the sections before them, the first of them with the number `first`."""
    name, here = part.name, heard.head.on(part.name)
    written = link(f"{name}.written", heard.written)
    counted = here.mask if heard.slots is None else link(f"{name}.slots", heard.slots)
    p_old = link(f"{name}.p_old", heard.words.p, "probability under π_old", "p_old")
    p_log_p_old = link(f"{name}.p_log_p_old", heard.words.p_log_p, "Σ p log p of π_old", "plogp_old")
    words = softmax(name, logits[-1])
    logprobs = chosen_logprobs(name, words.logp, written, counted)
    cross, exact = exact_kl(part.distance, p_old, p_log_p_old, words.logp, counted)
    places = () if heard.slots is None else (counted,)
    kept = Section("The word that was written", (written, *places, key(logprobs), words.p_log_p))
    far = (minor(p_old, "probability"), p_log_p_old, cross, key(exact))
    sections = [*above, *word_sections(logits, words), kept]
    sections.append(Section(f"How far from the old policy: {exact.symbol}", far))
    undecided = entropy(name, words.p_log_p, counted) if part is NEW else None
    if undecided is not None:
        sections.append(Section("How undecided the new policy is", (key(undecided),)))
    sheet = Sheet(part.title, part.lead, tuple(sections), (n, t), here.rows, here.mask, first=first)
    return Read(Policy(sheet, logprobs, words), exact, undecided)
