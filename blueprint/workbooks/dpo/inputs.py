"""What is given: pairs of responses, and what two models say of them, and of mismatched ones; a sheet for each model."""

from blueprint.language import Block, Sum, equal, link, match, size, typed
from blueprint.page.outline import Line, Note, Row, Section, Sheet, Table, key, minor
from blueprint.workbooks.common import InView, Rows, chosen_logprobs, defined, named, several, sheet_of, softmax
from blueprint.workbooks.common.pairs import columns
from blueprint.workbooks.dpo.definitions.axes import n, o, p, t, v
from blueprint.workbooks.dpo.definitions.steps import LABELS

LEAD = "pairs of a chosen and a rejected response to the same prompt, side by side; logits stand on the sheets of their models"
PAIRS = (
    "The two responses of a pair bear the same number; 1 marks the chosen one. A pair is a column on the sheet Pairs."
)
WHY_MISMATCHED = (
    "KTO asks how far the policy is from the reference where nothing was chosen: on the answer to another prompt."
)
LEFT_OUT = "Where a file does not give it, each text itself stands here, of which both models say the same: the log-ratio is 0."
MODELS = {
    "policy": ("Policy", "π_θ, the policy in training, reads both texts of each pair; the loss moves it"),
    "reference": ("Reference", "π_ref, the frozen model from before, reads the same texts"),
    "mismatched.policy": ("Policy elsewhere", "π_θ reads each prompt with the response to another one; only KTO asks for it"),
    "mismatched.reference": ("Reference elsewhere", "π_ref reads them, too; only KTO asks for it"),
}  # fmt: skip
"""Title and lead of each model's sheet."""


def texts() -> Rows:
    """Makes what is typed of pairs, and what follows from it, by name."""
    vocabulary = typed("vocabulary", (v,), "vocab", "tokens", text=True)
    written = typed("word_written", (n, t), "writes", "token at the position", text=True, edges=(t.first - 1,))
    mask = typed("mask", (n, t), "mask", "1 on the response", unit="0 or 1", decimals=0)
    there = typed("text.mask", (n, t), "text_mask", "1 on prompt and response, 0 on pads", unit="0 or 1", decimals=0)
    other = typed("mismatched.word_written", (n, t), "writes'", "token of the mismatched text", text=True)
    other_mask = typed("mismatched.tokens", (n, t), "m'", "1 on the mismatched response", unit="0 or 1", decimals=0)
    ids = defined(LABELS.row("rollout.written"), match(v, vocabulary[v], written[n, t]))
    others = defined(LABELS.row("mismatched.written"), match(v, vocabulary[v], other[n, t]))
    m, text = LABELS.row("response.tokens", mask[n, t]), LABELS.row("text.tokens")
    text[n, t.first - 1] = 1
    text[n, t] = there[n, t]
    return {**named(vocabulary, written, mask, there, other, other_mask, ids, others, m, text), **belonging()}


def belonging() -> Rows:
    """Makes what is typed of each response: its pair, whether it was chosen, its true reward; and what follows from it."""
    pair = typed("pair.number", (n,), "no", "number of the pair", decimals=0)
    good = typed("response.chosen", (n,), "chosen", "1 on the chosen response", unit="0 or 1", decimals=0)
    true = typed("true.reward", (n,), "r*", "true reward, which RPO alone reads", decimals=2)
    return {**named(pair, good, true), **places(pair, good)}


def selecting() -> tuple[str, ...]:
    """Names the rows that say which response is which of which pair."""
    return ("pair.apart", "pair.of_row", "pair.chosen", "pair.rejected")


def places(pair: Block, good: Block) -> dict[str, Block]:
    """Says which response belongs to which pair. pair, good: (n), the number of the pair, 1 on the chosen response."""
    count = LABELS.one("count.pairs", size(p))
    apart = LABELS.along("pair.apart", (o, n))
    apart[o.first - 1, n] = pair[n]
    apart[o, n] = apart[o - 1, n] - 1
    either = LABELS.along("pair.of_row", (o, n), equal(apart[o, n], 0))
    chosen = LABELS.along("pair.chosen", (o, n), either[o, n] * good[n])
    rejected = LABELS.along("pair.rejected", (o, n), either[o, n] - chosen[o, n])
    number = typed("pair.column", (p,), "pair", "number of the pair in this column", decimals=0)
    found = named(count, apart, either, chosen, rejected, number)
    return {**found, **columns(number, LABELS), "pair.either": either}


def inputs_sheet(given: Rows) -> Sheet:
    """Outlines vocabulary and pairs."""
    texts_ = ("word_written", "mask", "text.mask", "rollout.written", "response.tokens", "text.tokens")
    others = ("mismatched.word_written", "mismatched.tokens", "mismatched.written")
    sections = (
        Section("Vocabulary", (Line((given["count.pairs"],), "line"), Table(given["vocabulary"], role="text"))),
        Section("The pairs", (Note(PAIRS), given["pair.number"], given["response.chosen"],
                              *(Row(given[name], "text" if name == "word_written" else "") for name in texts_),
                              given["true.reward"])),
        Section("Which response is which", tuple(minor(given[name]) for name in selecting())),
        Section("Mismatched texts",
                (Note(f"{WHY_MISMATCHED} {LEFT_OUT}"), Row(given[others[0]], "text"), *map(minor, several(given, *others[1:])))),
    )  # fmt: skip
    return Sheet("Inputs", LEAD, sections, (n, t))


def model_sheet(
    name: str,
    given: Rows,
    head: InView,
    logits: tuple[Block, ...] = (),
    above: tuple[Section, ...] = (),
    first: int = 1,
) -> tuple[Sheet, Rows]:
    """Outlines what a model says of every token: soft-max of its logits, and the log-prob of the token written.

    logits: what a network made of the tokens read, in the sections `above`, of which the first has the number `first`; without
    them they are typed.
    """
    title, lead = MODELS[name]
    z = logits or (typed(f"{name}.logits", (n, t, v), "z", "logit of every next token", decimals=2),)
    words = softmax(name, z[-1], LABELS)
    here = head.on(name)
    written = link(f"{name}.written", given["mismatched.written" if "." in name else "rollout.written"])
    logprobs = chosen_logprobs(name, words.logp, written, use=LABELS)
    steps = map(minor, (words.top, words.exponentials, words.logsumexp, words.logp))
    made = [logprobs]
    if name == "policy":
        made.append(LABELS.row("policy.square", Sum(v, words.p[n, t, v] * words.p[n, t, v])))
    sections = [
        *above,
        Section("Probability of every next token: soft-max", (*z, *steps, Row(words.p, "probability"))),
        Section("The token that was written", (written, words.p_log_p, key(logprobs), *map(minor, made[1:]))),
    ]
    return sheet_of(title, lead, sections, here, first), named(*made)
