"""The sheets of GRPO: prompts, responses and what models say of them, the steps in order, Walk through one token, and charts; and
what the page "Which GRPO is it?" says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from blueprint.language import Axis, Block, Max, block, equal, link, match, maximum, size, sqrt, typed, where
from blueprint.page.outline import Chart, Item, Line, Row, Scale, Section, Series, Sheet, Table, key, minor
from blueprint.workbooks.common import (
    ROWS,
    Choices,
    InView,
    Rows,
    charts,
    chosen_logprobs,
    defined,
    entropy,
    named,
    per_response,
    sheet_of,
    softmax,
)
from blueprint.workbooks.common.conventions import Values, comparison_in
from blueprint.workbooks.common.numbers_file import EVERY_WORD
from blueprint.workbooks.common.sheets.charts import Drawn
from blueprint.workbooks.common.sheets.walk import shown_in
from blueprint.workbooks.grpo.definitions.rewards_and_group_advantages import LABELS, i, n, o, q, t, v
from blueprint.workbooks.grpo.schema import GRPO, ONLY_RUN

LEAD_INPUTS = "the prompts, the responses to each side by side, and how each was scored; {} stand on {}"
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
    return Sheet("Inputs", LEAD_INPUTS.format(*where), sections, (n, t))


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


SHOWN = shown_in(Path(__file__).parent)


def step_sheets(
    made: Mapping[str, Sequence[Block]], given: Rows, head: InView, placed: tuple[Block, ...]
) -> list[Sheet]:
    """Outlines the sheets of steps: rows that one looks for are marked, and those that few ask for folded.

    made: all rows by the titles of their sections. placed: what else says, in the columns of groups, which response stands where.
    """
    sheets = []
    for title, said in SHOWN.sheets.items():
        titles, across = said["sections"], (q, i) if title == "Groups" else (n, t)
        sections = [
            Section(each, tuple(SHOWN.row(row, title == "Diagnostics") for row in made[each] if row.axes != (o,)))
            for each in titles
        ]
        if title == "Groups":
            columns = [row for each in titles for row in made[each] if row.axes == (o,)]
            below = (given["response.left"], given["response.is"], *placed, *columns)
            sections[0] = replace(sections[0], items=(Row(given["group.response"]), *sections[0].items))
            sections.append(Section("Which response stands where", tuple(map(minor, below))))
        here = head.on(f"on_{title.lower()}") if across == (n, t) else None
        sheet = Sheet(title, said["lead"], tuple(sections), across, closed=title != "Diagnostics")
        sheets.append(replace(sheet, head=here.rows, grey=here.mask) if here else sheet)
    return sheets


RATES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98)
LENGTHS = tuple(range(1, 13))
ODDS, LENGTH = Axis("p", "success rate", size=len(RATES)), Axis("l", "length", size=len(LENGTHS))


def charts_of(rows: Rows, head: tuple[Block, ...], use: Choices) -> tuple[Sheet, Mapping[Block, object]]:
    """Outlines the gallery, and returns it with what is typed there."""
    named = block("bar.word", (n, t), "token", "token of the response, below its bars")
    named[n, t] = where(equal(rows["mask"][n, t], 1), rows["word_written"][n, t], "")
    drawn = [_clip(rows, use), _odds(rows, use), _groups(rows), _lengths(rows), _whitening(rows, named)]
    return charts.charts_sheet(drawn, head)


def _odds(rows: Rows, use: Choices) -> Drawn:
    """Draws the advantages of right and wrong responses over the share of right ones."""
    p = typed("odds.p", (ODDS,), "p", "success rate: share of right responses", decimals=2)
    G, ddof = rows["count.group"], use.used["group.ddof"]
    square = p[ODDS] * (1 - p[ODDS]) * G / maximum(G - ddof, 1)
    spread = charts.curve(
        "odds.spread", ODDS, "σ_p", "standard deviation of rewards 1 and 0: √(p(1 − p)), by G − ddof", sqrt(square)
    )
    right = charts.curve(
        "odds.right", ODDS, "A_right", "right response: √((1 − p)/p), by G − ddof", (1 - p[ODDS]) / spread[ODDS]
    )
    wrong = charts.curve(
        "odds.wrong", ODDS, "A_wrong", "wrong response: −√(p/(1 − p)), by G − ddof", -(p[ODDS] / spread[ODDS])
    )
    left = charts.curve("odds.right_left", ODDS, "A_right_raw", "right response, not divided", 1 - p[ODDS])
    under = charts.curve("odds.wrong_left", ODDS, "A_wrong_raw", "wrong response, not divided", -p[ODDS])
    chart = Chart(
        "Advantage over success rate", "scatter",
        (Series("right", right, p), Series("wrong", wrong, p), Series("right, no std", left, p),
         Series("wrong, no std", under, p),
         Series("responses of this batch", rows["group.advantage"], rows["seen.mean"], dots=True)),
        Scale("mean reward of the group (success rate p, if rewards are 0 or 1)", 0, 1, 0.25), Scale("advantage"),
        "Divided by the std, the only right response to a hard question counts most, and the only wrong one to an easy question; "
        "without the std no advantage is beyond ±1. A group of equal rewards lies at 0.",
    )  # fmt: skip
    return Drawn(
        chart, Section("Advantage over success rate: curves", _tables(p, spread, right, wrong, left, under)), {p: RATES}
    )


def _tables(*blocks: Block) -> tuple[Item, ...]:
    return tuple(Table(each, role="fixed" if each.typed else "plain") for each in blocks)


def _groups(rows: Rows) -> Drawn:
    """Draws rewards and advantages of the responses, from cells without gaps: between groups of columns some would be empty."""
    number = charts.curve("bar.number", n, "no_bar", "number of the response", rows["response.number"][n], decimals=0)
    reward = charts.curve("bar.reward", n, "R_bar", "reward of the response", rows["reward"][n])
    advantage = charts.curve("bar.advantage", n, "A_bar", "advantage of the response", rows["advantage.response"][n])
    chart = Chart(
        "Reward and advantage of every response", "bars",
        (Series("reward", reward, number), Series("advantage", advantage, number)),
        Scale("number of the response"), Scale("reward, advantage"),
        "What a response is worth depends on its group: the same reward lifts it in one and not in the other. "
        "Where all rewards are equal there is no advantage: nothing is learned from that group.",
        charts.SHORT,
    )  # fmt: skip
    return Drawn(chart, Section("Reward and advantage: bars", _tables(number, reward, advantage)), {})


def _lengths(rows: Rows) -> Drawn:
    """Draws the weight of a token over the length of its response, by aggregation."""
    l = typed("length.grid", (LENGTH,), "len_l", "tokens of a response", decimals=0)  # noqa: E741
    count, mean = rows["average.rows"], rows["average.token_mean"]
    longest = block("length.most", (), "len_max", "tokens of the longest response", decimals=0)
    longest[()] = maximum(Max(n, rows["average.length"][n]), 1)
    seq = charts.curve("length.seq_mean", LENGTH, "1/Blen", "weight of a token: mean of means", 1 / (count * l[LENGTH]))
    token = charts.curve(
        "length.token_mean", LENGTH, "1/N_l", "weight of a token: mean over all tokens", mean + 0 * l[LENGTH]
    )
    constant = charts.curve(
        "length.constant", LENGTH, "1/Bmax", "weight of a token: constant", 1 / (count * longest) + 0 * l[LENGTH]
    )
    chart = Chart(
        "Weight of a token over the length of its response", "scatter",
        (Series("mean of means: 1/(B·len)", seq, l), Series("token mean: 1/N", token, l),
         Series("constant: 1/(B·longest)", constant, l),
         Series("responses of this batch", rows["weight.policy"], rows["average.length"], dots=True)),
        Scale("tokens of the response that count", 0), Scale("weight of each of its tokens", 0),
        "With a mean of means a token of a long response counts less: long wrong responses are punished less, token by token. "
        "With a token mean or a constant all tokens count alike.",
    )  # fmt: skip
    below: tuple[Item, ...] = (
        Line((longest,)),
        *(Table(each, role="fixed" if each.typed else "plain") for each in (l, seq, token, constant)),
    )
    return Drawn(chart, Section("Weight over length: curves", below), {l: LENGTHS})


def _whitening(rows: Rows, named: Block) -> Drawn:
    """Draws the advantages of all tokens, as they are and whitened over the batch."""
    within = charts.Within.of(rows)
    chart = Chart(
        "Advantage of every token, as it is and whitened", "bars",
        (Series("A", rows["advantage.token"], named), Series("A, whitened over tokens", rows["advantage.whitened"], named)),
        Scale("tokens of the responses, response after response"), Scale("advantage"),
        "Whitening takes the mean over all tokens off and divides by their spread: long responses pull the mean, and "
        "a group of equal rewards, at 0 before, is pushed after all.",
        charts.SHORT, wide=True, among=within.among, given=within.given,
    )  # fmt: skip
    return Drawn(chart, Section("The tokens below the bars", (named,)), {})


def _clip(rows: Rows, use: Choices) -> Drawn:
    """Draws the clip of these conventions, with the tokens of this batch on it."""
    ends = {"clip_range": use.used["loss.clip_low"], "loss.clip_range_high": use.used["loss.clip_high"]}
    points = charts.Points(*(rows[name] for name in ("ratio", "advantages", "surrogate", "word_written", "mask")))
    return charts.clip_picture(points, Choices({**use.used, **ends}, use.switch, labels=use.labels))


SAYS_NOTHING = {
    "kl.place": ("none",), "group.std": ("none",), "advantage.whiten": ("none",), "rollout.level": ("none",),
    "rollout.reject": ("off",), "reward.overlong": ("off",),
}  # fmt: skip
"""Settings with the words by which their parts say nothing."""
WITH_RATIO = ("clip", "cispo", "ratio", "sapo", "gmpo", "vespo")
ONLY_WITH = (
    ("loss.objective", ("clip",), ("loss.dual_clip", "loss.delta")),
    ("loss.objective", ("clip", "cispo", "gmpo"), ("loss.clip_low", "loss.clip_high")),
    ("loss.objective", WITH_RATIO, ("ratio.level", "ratio.length_eps")),
    (
        "loss.objective",
        ("clip", "cispo", "ratio", "sapo"),
        ("ratio.clamp",),
    ),  # others take log-ratios that nothing holds
    ("ratio.level", ("token",), ("ratio.clamp",)),
    ("ratio.level", ("own_token",), ("ratio.sequence_most",)),
    ("loss.aggregation", ("token_mean",), ("loss.at_least",)),
)
"""A setting, and with which of its words alone others say something."""


def silent(values: Values) -> tuple[str, ...]:
    """Lists the conventions that say nothing: parts of what is not done, ratios and clips of a loss that has none."""
    found = [key for key, each in GRPO.items() if values.get(each.part_of) in SAYS_NOTHING.get(each.part_of, ())]
    return tuple(
        dict.fromkeys([*found, *(key for by, words, keys in ONLY_WITH if values[by] not in words for key in keys)])
    )


COMPARISON = comparison_in(Path(__file__).parent, of_the_batch=ONLY_RUN, silent=silent, parts={EVERY_WORD: True})
