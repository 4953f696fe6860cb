"""What is given: the prompts, the responses to them, and what four models and the scores say of them; a sheet for each."""

from blueprint.language import Block, equal, link, match, size, typed
from blueprint.page.outline import Line, Row, Section, Sheet, Table, key, minor
from blueprint.workbooks.common import (
    ROWS,
    InView,
    Rows,
    chosen_logprobs,
    defined,
    entropy,
    named,
    per_response,
    sheet_of,
    softmax,
)
from blueprint.workbooks.grpo.definitions.axes import i, n, o, q, t, v
from blueprint.workbooks.grpo.definitions.steps import LABELS

LEAD = "the prompts, the responses to each side by side, and how each was scored; {} stand on {}"
MODELS = {
    "engine": ("Engine", "what the generation engine, which wrote the tokens, says of them"),
    "old": ("Old policy", "π_old, the policy at the start of the step, reads the same tokens"),
    "reference": ("Reference", "π_ref, the frozen model from before, reads the same tokens"),
    "policy": ("Policy", "π_θ, the policy in training, reads the same tokens; the loss moves it"),
}
"""Title and lead of each model's sheet."""


def texts() -> Rows:
    """Makes what is typed of prompts and responses, and what follows from it, by name; tokens are those of a vocabulary."""
    given, vocabulary = responses(), typed("vocabulary", (v,), "vocab", "tokens", text=True)
    ids = defined(LABELS.row("rollout.written"), match(v, vocabulary[v], given["word_written"][n, t]))
    return {**named(vocabulary, ids), **given}


def responses() -> dict[str, Block]:
    """Makes what is typed of prompts and responses, and what follows from it, by name; a token is a text."""
    prompt = typed("prompt", (q,), "prompt", "text of the prompt", text=True)
    written = typed("word_written", (n, t), "writes", "token at the position", text=True)
    mask = typed("mask", (n, t), "mask", "1 on the response", unit="0 or 1", decimals=0)
    truncated = typed("truncated", (n,), "cut", "1 where the response was cut off", unit="0 or 1", decimals=0)
    score = typed("score", (n,), "score", "score of the response", decimals=2)
    greedy = typed("greedy", (q,), "score_g", "score of the greedy response to the prompt", decimals=2)
    m = LABELS.row("response.tokens")
    m[n, t.last + 1] = 0
    m[n, t] = mask[n, t]
    length = per_response("response.length", m, ROWS)
    return {**named(prompt, written, mask, truncated, score, greedy, m, length), **places()}


def places() -> dict[str, Block]:
    """Counts prompts and responses, and says which response stands in which place of a group, and in which column."""
    counts = tuple(
        LABELS.one(f"count.{of}", size(axis)) for of, axis in (("prompts", q), ("group", i), ("responses", n))
    )
    stands = typed("group.response", (q, i), "no", "number of the response that stands here", decimals=0)
    own = typed("response.number", (n,), "no_n", "number of the response", decimals=0)
    left, apart = LABELS.along("response.left", (q, i, o)), LABELS.along("response.apart", (o, n))
    left[q, i, o.first - 1] = stands[q, i]
    left[q, i, o] = left[q, i, o - 1] - 1
    is_ = LABELS.along("response.is", (q, i, o), equal(left[q, i, o], 0))
    apart[o.first - 1, n] = own[n]
    apart[o, n] = apart[o - 1, n] - 1
    same = LABELS.along("response.same", (o, n), equal(apart[o, n], 0))
    return named(*counts, stands, own, left, is_, apart, same)


def inputs_sheet(given: Rows) -> Sheet:
    """Outlines prompts and responses, and the vocabulary where there is one."""
    texts = ("word_written", "mask", "truncated", "score", "rollout.written", "response.tokens", "response.length")
    columns = ("response.number", "response.apart", "response.same")
    words = tuple(Table(given[name], role="text") for name in ("vocabulary",) if name in given)
    counts = (Line((given[f"count.{of}"],), "line") for of in ("prompts", "group", "responses"))
    sections = (
        Section("Vocabulary and prompts" if words else "Prompts",
                (*counts, *words, Table(given["prompt"], role="text"), Table(given["greedy"]))),
        Section("The responses, those to a prompt side by side",
                tuple(Row(given[name], "text" if name == "word_written" else "") for name in texts if name in given)),
        Section("Which column is that of which response", tuple(minor(given[name]) for name in columns)),
    )  # fmt: skip
    where = ("logits", "the sheets of their models") if words else ("log-probs", "a sheet of their own")
    return Sheet("Inputs", LEAD.format(*where), sections, (n, t))


def model_sheet(name: str, given: Rows, head: InView) -> tuple[Sheet, Rows]:
    """Outlines what a model says of every token: soft-max of its logits, and the log-prob of the token written."""
    title, lead = MODELS[name]
    logits = typed(f"{name}.logits", (n, t, v), "z", "logit of every next token", decimals=2)
    words = softmax(name, logits, LABELS)
    here = head.on(name)
    written = link(f"{name}.written", given["rollout.written"])
    logprobs = chosen_logprobs(name, words.logp, written, here.mask, LABELS)
    steps = map(minor, (words.top, words.exponentials, words.logsumexp, words.logp))
    sections = [
        Section("Probability of every next token: soft-max", (logits, *steps, Row(words.p, "probability"))),
        Section("The token that was written", (written, words.p_log_p, key(logprobs))),
    ]
    rows: list[Block] = [logprobs]
    if name == "policy":
        rows.append(entropy(name, words.p_log_p, here.mask, LABELS))
        sections.append(Section("How undecided the policy is", (key(rows[-1]),)))
    return sheet_of(title, lead, sections, here), named(*rows)
