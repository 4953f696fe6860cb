"""The sheets of a workbook that begins at logits: three policies, and what critics and reward model said."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, block, link, match, typed
from blueprint.page.outline import Line, Note, Row, Section, Sheet, Table, key
from blueprint.workbooks.common.axes import n, t, v
from blueprint.workbooks.common.definitions.choices import ROWS
from blueprint.workbooks.common.definitions.distribution import chosen_logprobs, softmax
from blueprint.workbooks.common.definitions.gae import kept_values
from blueprint.workbooks.common.definitions.metrics import per_response
from blueprint.workbooks.common.definitions.networks import Temperature, tempered
from blueprint.workbooks.common.definitions.places import end_words, ends_at
from blueprint.workbooks.common.definitions.whitening import count
from blueprint.workbooks.common.sheets.head import InView
from blueprint.workbooks.rlhf_ppo.sheets.networks import word_sections
from blueprint.workbooks.rlhf_ppo.sheets.reading import NEW, REFERENCE, Heard, Policy, policy_that_reads
from blueprint.workbooks.rlhf_ppo.steps import Models
from blueprint.workbooks.rlhf_ppo.texts import Texts

LEAD = "π_old, which wrote the words: its logits are given, in every slot, used or not"
RAW = "A critic's number is given in every slot: some libraries read it behind a response too."


class GivenTexts(NamedTuple):
    """The vocabulary and its end word, what was written, the slots, and where an end word ends a response."""

    vocabulary: Block
    end_word: Block
    end_id: Block
    texts: Texts
    slots: Block
    is_end: Block
    ends: Block
    head: InView


def given_texts() -> GivenTexts:
    """Makes the typed words of every slot, the typed mask, and what follows from them."""
    vocabulary = typed("vocabulary", (v,), "vocab", "words", text=True)
    end_word = typed("end_word", (), "end_word", "the word that ends a response", text=True)
    written = typed("word_written", (n, t), "writes", "word in the slot", text=True)
    m = typed("mask", (n, t), "m", "mask: 1 on the response", unit="0 or 1", decimals=0)
    a = block("rollout.written", (n, t), "a", "id of the word, counted from 0", decimals=0)
    end_id = block("end_id", (), "end_id", "id of the end word", decimals=0)
    S = block("slots", (n, t), "S", "1 in every slot, padding included", unit="0 or 1", decimals=0)
    a[n, t] = match(v, vocabulary[v], written[n, t])
    end_id[()] = match(v, vocabulary[v], end_word)
    S[n, t.last + 1] = 0
    S[n, t] = 1
    is_end, ends = at_end = end_words()
    ends_at(at_end, a, m, end_id)
    texts = Texts(a, written, m, per_response("response.length", m, ROWS), count("response.words", m, ROWS))
    return GivenTexts(vocabulary, end_word, end_id, texts, S, is_end, ends, InView(written, m))


def texts_sheet(given: GivenTexts) -> tuple[Section, ...]:
    """Outlines vocabulary, words and mask."""
    t_ = given.texts
    return (
        Section(
            "Vocabulary",
            (Table(given.vocabulary, role="text"), Line((given.end_word,), "line"), Line((given.end_id,))),
        ),
        Section(
            "Words of every slot, and which of them are the response",
            (
                Row(t_.word_written, "text"),
                Row(t_.mask),
                given.slots,
                t_.written,
                given.is_end,
                given.ends,
                t_.length,
                t_.words,
            ),
        ),
    )


def given_models(given: GivenTexts, temperature: Temperature) -> Models:
    """Outlines three policies by their typed logits, and two critics and a reward model by their typed numbers."""
    old = _old(given, _logits("old", temperature))
    heard = Heard(given.head, given.slots, given.texts.written, old.words)
    reference, policy = (
        policy_that_reads(part, heard, _logits(part.name, temperature), ()) for part in (REFERENCE, NEW)
    )
    before, after = (_critic(name, whose, given) for name, whose in CRITICS)
    score = typed("reward_model.score", (n,), "RM", "score of the response")
    sheets = [_critic_sheet(title, given, parts) for title, parts in (("Old critic", before), ("Critic", after))]
    scored = _scored(score, given)
    return Models(
        given.texts, given.head, old, reference, policy, before[-1], after[-1], score,
        (old.sheet, reference.policy.sheet, scored, sheets[0]), (policy.policy.sheet, sheets[1]), given.ends, given.slots,
    )  # fmt: skip


CRITICS = (("old_critic", "old"), ("critic", "new"))


def _logits(name: str, temperature: Temperature) -> tuple[Block, ...]:
    """Types a policy's logits, and divides them by the temperature."""
    return tempered(name, typed(f"{name}.logits", (n, t, v), "z", "logit of every next word", decimals=2), temperature)


def _old(given: GivenTexts, logits: tuple[Block, ...]) -> Policy:
    """Outlines the old policy: from its logits to the log-probability that is kept."""
    here = given.head.on("old")
    written, S = link("old.written", given.texts.written), link("old.slots", given.slots)
    words = softmax("old", logits[-1])
    logprobs = chosen_logprobs("old", words.logp, written, S)
    kept = Section("The word that was written", (written, S, words.p_log_p, key(logprobs)))
    sections = (*word_sections(logits, words), kept)
    return Policy(Sheet("Old policy", LEAD, sections, (n, t), here.rows, here.mask), logprobs, words)


def _critic(name: str, whose: str, given: GivenTexts) -> tuple[Block, Block, Block]:
    """Types a critic's number in every slot; returns the slots, the typed row and the values."""
    out = typed(f"{name}.out", (n, t), "v", f"{whose} critic's number in the slot", decimals=2)
    S = link(f"{name}.slots", given.slots)
    return S, out, kept_values(ROWS.row(f"{name}.values"), out, S)


def _critic_sheet(title: str, given: GivenTexts, parts: tuple[Block, Block, Block]) -> Sheet:
    here = given.head.on(title.lower().replace(" ", "_"))
    section = Section("The value in every slot", (Note(RAW), *parts[:2], key(parts[2])))
    return Sheet(title, f"what the {title.lower()} says before each word", (section,), (n, t), here.rows, here.mask)


def _scored(score: Block, given: GivenTexts) -> Sheet:
    here = given.head.on("reward_model")
    section = Section("One score for each response", (key(score),))
    lead = "what the reward model gave; conventions decide where it lands"
    return Sheet("Reward model", lead, (section,), (n, t), here.rows, here.mask)
