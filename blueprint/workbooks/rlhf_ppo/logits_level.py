"""The blueprint that begins at logits: three policies' logits, critics' values and scores are given; no model is run."""

import numpy as np

from blueprint.language import Block, Operand, block, link, match, typed
from blueprint.page.outline import Blueprint, Line, Note, Row, Section, Sheet, Table, key
from blueprint.workbooks.common import (
    EQUAL_RETURNS,
    ROWS,
    InView,
    Rows,
    Witnessed,
    checks,
    chosen_logprobs,
    chosen_of,
    count,
    defined,
    ends_at,
    kept_values,
    n,
    named,
    per_response,
    rows_on,
    sheet_of,
    softmax,
    t,
    tempered,
    v,
)
from blueprint.workbooks.common.sheets.policies import NEW, REFERENCE, policy_that_reads, word_sections
from blueprint.workbooks.rlhf_ppo.inputs.given import CRITICS, POLICIES
from blueprint.workbooks.rlhf_ppo.inputs.result import RlhfNumbers
from blueprint.workbooks.rlhf_ppo.steps import Models
from blueprint.workbooks.rlhf_ppo.whole import Start, whole

LEAD = "everything typed that is not a logit, a value or a score; those stand on their own sheets"
OLD = "π_old, which wrote the tokens: its logits are given, in every position, used or not"
RAW = "A critic's number is given in every position: some libraries read it behind a response too."


def logits_level(numbers: RlhfNumbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint that begins at logits; with a witness's numbers if there are any."""
    live = chosen_of(numbers.ppo, numbers.conventions, without=("update_step",))
    given = given_texts()
    start = Start(
        numbers=numbers,
        settings=live.settings,
        live=live,
        models=given_models(given, live.temperature),
        inputs=inputs_sheet(given),
        sizes=dict(zip((n, t, v), numbers["old.logits"].shape, strict=True)),
        names={v: given["vocabulary"]},
        checked=([checks.is_0_or_1("mask", given["mask"])], []),
        typed=_typed(numbers),
        ranges={"mask": (0, 1)},
        words=("word_written", "end_word"),
    )
    return whole(start, witnessed)


def _typed(numbers: RlhfNumbers) -> dict[str, object]:
    """Lists what is typed by the names of its blocks."""
    return {
        "vocabulary": list(numbers["text.vocabulary"]),
        "end_word": numbers["text.end_word"],
        "mask": numbers["text.mask"],
        "word_written": np.array(numbers["text.responses"], dtype=object),
        "reward_model.score": numbers["reward_model.scores"],
        **{f"{name}.logits": numbers[f"{name}.logits"] for name in POLICIES},
        **{f"{name}.out": numbers[f"{name}.values"] for name in CRITICS},
        "explained_variance.floor": EQUAL_RETURNS,
    }


def given_texts() -> dict[str, Block]:
    """Makes the typed tokens of every slot, the typed mask, and what follows from them, by name."""
    vocabulary = typed("vocabulary", (v,), "vocab", "tokens", text=True)
    end_word = typed("end_word", (), "end_word", "the token that ends a response", text=True)
    written = typed("word_written", (n, t), "writes", "token at the position", text=True)
    m = typed("mask", (n, t), "m", "mask: 1 on the response", unit="0 or 1", decimals=0)
    ids = block("rollout.written", (n, t), "a", "id of the token, counted from 0", decimals=0)
    a = defined(ids, match(v, vocabulary[v], written[n, t]))
    end_id = defined(
        block("end_id", (), "end_id", "id of the end token", decimals=0), match(v, vocabulary[v], end_word)
    )
    S = block("slots", (n, t), "S", "1 in every position, padding included", unit="0 or 1", decimals=0)
    S[n, t.last + 1] = 0
    S[n, t] = 1
    is_end, ends = ROWS.rows("rollout.is_end", "rollout.ends")
    ends_at(is_end, ends, a, m, end_id)
    counts = (per_response("response.length", m, ROWS), count("response.words", m, ROWS))
    return named(vocabulary, end_word, end_id, written, m, S, a, is_end, ends, *counts)


def inputs_sheet(given: Rows) -> Sheet:
    """Outlines vocabulary, tokens and mask."""
    vocabulary, end_word, end_id, written, mask, *others = given.values()
    words = (Table(vocabulary, role="text"), Line((end_word,), "line"), Line((end_id,)))
    title = "Tokens of every position, and which of them are the response"
    sections = (Section("Vocabulary", words), Section(title, (Row(written, "text"), Row(mask), *others)))
    return Sheet("Inputs", LEAD, sections, (n, t))


def given_models(given: Rows, temperature: Operand) -> Models:
    """Outlines three policies by their typed logits, and two critics and a reward model by their typed numbers."""
    head = InView(given["word_written"], given["mask"])
    old = _old(given, head, _logits("old", temperature))
    rows = {**given, **rows_on(old)}
    reference, policy = (
        policy_that_reads(part, head, rows, _logits(part.name, temperature)) for part in (REFERENCE, NEW)
    )
    before = (old, reference, _reward_model(head), _critic("old_critic", "old", "Old critic", given, head))
    between = (policy, _critic("critic", "new", "Critic", given, head))
    return Models(head, before, between, {**given, **rows_on(*before, *between)})


def _logits(name: str, temperature: Operand) -> tuple[Block, ...]:
    """Types a policy's logits, and divides them by the temperature."""
    return tempered(name, typed(f"{name}.logits", (n, t, v), "z", "logit of every next token", decimals=2), temperature)


def _old(given: Rows, head: InView, logits: tuple[Block, ...]) -> Sheet:
    """Outlines the old policy: from its logits to the log-probability that is kept."""
    written, S = link("old.written", given["rollout.written"]), link("old.slots", given["slots"])
    words = softmax("old", logits[-1])
    kept = (written, S, words.p_log_p, key(chosen_logprobs("old", words.logp, written, S)))
    sections = (*word_sections(logits, words), Section("The token that was written", kept))
    return sheet_of("Old policy", OLD, sections, head.on("old"))


def _critic(name: str, whose: str, title: str, given: Rows, head: InView) -> Sheet:
    """Outlines a critic by its typed number in every slot."""
    out = typed(f"{name}.out", (n, t), "v", f"{whose} critic's number at the position", decimals=2)
    S = link(f"{name}.slots", given["slots"])
    values = kept_values(ROWS.row(f"{name}.values"), out, S)
    section = Section("The value in every position", (Note(RAW), S, out, key(values)))
    return sheet_of(title, f"what the {title.lower()} says before each token", (section,), head.on(name))


def _reward_model(head: InView) -> Sheet:
    score = typed("reward_model.score", (n,), "RM", "score of the response")
    section = Section("One score for each response", (key(score),))
    return sheet_of(
        "Reward model",
        "what the reward model gave; conventions decide where it lands",
        (section,),
        head.on("reward_model"),
    )
