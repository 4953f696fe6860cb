"""What is given: texts, and which of their responses were compared; a sheet for the texts, and one for the pairs."""

from collections.abc import Mapping

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Block, Sum, equal, filled, match, size, typed, where
from blueprint.page.outline import Item, Line, Note, Row, Section, Sheet, Table, key, minor
from blueprint.workbooks.common import FIXED, Rows, named, several
from blueprint.workbooks.common.pairs import columns
from blueprint.workbooks.common.rollout import padded
from blueprint.workbooks.reward_model.definitions.axes import n, o, p, q, t, v
from blueprint.workbooks.reward_model.definitions.steps import LABELS, Steps
from blueprint.workbooks.reward_model.schema import PAIRS

LEAD = "the texts whose responses were compared: a column for each token, and the number of each response"
LEAD_RANKINGS = "which response is better: a column for each pair; every two responses of a ranking are a pair"
ONE = "A text is a prompt and its response, the end token with it. An empty cell behind it is a pad, which a model reads as id 0."
COMPARED = (
    "A pair is the number of the better and the number of the worse response; one response may stand in several pairs."
)
RANKED = "A ranking of K responses makes K(K − 1)/2 pairs. A pair that comes from none is a ranking of its own."
COUNTS = "0 leaves a pair out, as NeMo-RL does with an invalid one."
SHIFT, SCALE, SHEET, FLOAT32 = 10.0, 2.0, 708.0, 88.7
"""The shift and the factor on Pairs; from where on e^x is no number in a sheet, and in float32."""


def texts(words: str) -> dict[str, Block]:
    """Makes what is typed of texts and pairs, and what follows from it, by name. words: what the typed texts are called."""
    vocabulary = typed("vocabulary", (v,), "vocab", "tokens", text=True)
    word = typed(words, (n, t), "token", "token that is read; blank: a pad", text=True)
    end = typed("text.end", (), "end", "token that ends a text", text=True)
    number = typed("response.number", (n,), "no", "number of the response", decimals=0)
    end_id = LABELS.one("text.end_id", match(v, vocabulary[v], end))
    ids = LABELS.row("token.id", where(filled(word[n, t]), match(v, vocabulary[v], word[n, t]), 0))
    text = LABELS.row("text.there", filled(word[n, t]))
    as_end = LABELS.row("token.as_end", equal(ids[n, t], end_id))
    is_end = LABELS.row("token.is_end", text[n, t] * as_end[n, t])
    count = LABELS.one("count.responses", size(n))
    found = named(vocabulary, word, end, number, end_id, ids, text, as_end, is_end, count)
    return {**found, **_singles(), **_pairs(number)}


def _singles() -> dict[str, Block]:
    """Makes the numbers that are typed once."""
    return named(
        typed("shift", (), "s", "added to every score", decimals=1),
        typed("scale", (), "k", "by which every score is multiplied", decimals=1),
        typed("overflow.sheet", (), "most", "from here on e^x is no number in a sheet", decimals=1),
        typed("overflow.float32", (), "most_32", "from here on e^x is infinite in float32", decimals=1),
    )


def _pairs(number: Block) -> dict[str, Block]:
    """Makes what is typed of pairs, (p), and says which response and which ranking each is of."""
    chosen, rejected = (
        typed(f"{side}.number", (p,), f"no_{sign}", f"number of the {side} response", decimals=0)
        for side, sign in (("chosen", "w"), ("rejected", "l"))
    )
    column = typed("pair.column", (p,), "pair", "number of the pair in this column", decimals=0)
    margin = typed("pair.margin", (p,), "m", "how far the two are meant to be apart", decimals=2)
    ranking = typed("pair.ranking", (p,), "ranking", "number of the ranking of the pair", decimals=0)
    counts = typed("pair.counts", (p,), "counts", "1 on pairs that count", unit="0 or 1", decimals=0)
    laid = columns(column, LABELS)
    apart = LABELS.along("ranking.apart", (q, p))
    apart[q.first - 1, p] = ranking[p]
    apart[q, p] = apart[q - 1, p] - 1
    of = LABELS.along("pair.of_ranking", (q, p), equal(apart[q, p], 0))
    return {**named(chosen, rejected, column, margin, ranking, counts, apart, of), **laid,
            **_selected(number, {"chosen": chosen, "rejected": rejected}, laid["pair.same"])}  # fmt: skip


def _selected(number: Block, sides: Mapping[str, Block], same: Block) -> dict[str, Block]:
    """Says which response is the chosen, and which the rejected one of each pair, (o, n)."""
    found: dict[str, Block] = {}
    for side, of in sides.items():
        down = LABELS.along(f"{side}.number.column", (o,), Sum(p, same[o, p] * of[p]))
        found |= named(down, LABELS.along(f"{side}.is", (o, n), equal(down[o], number[n])))
    return found


def inputs_sheet(given: Rows, words: str, made: Steps) -> Sheet:
    """Outlines vocabulary, texts, and where positions stand in a column."""
    ids = ("text.there", "token.as_end", "token.is_end")
    singles = ("count.responses", "text.end_id")
    more = tuple(Section(title, tuple(map(minor, made.sections[title]))) for title in made.sheets.get("Inputs", ()))
    sections = (
        Section("Vocabulary", (Table(given["vocabulary"], role="text"), Line((given["text.end"],), "text"),
                               *(Line((given[name],)) for name in singles))),
        Section("The texts", (Note(ONE), given["response.number"], Row(given[words], "text"), given["token.id"],
                              *map(minor, several(given, *ids)))),
        Section("Which response is which of each pair", tuple(minor(given[f"{side}.is"]) for side in ("chosen", "rejected"))),
        *more,
    )  # fmt: skip
    return Sheet("Inputs", LEAD, sections, (n, t))


def rankings_sheet(given: Rows, made: Steps) -> Sheet:
    """Outlines the pairs, and of which ranking each is."""
    places = ("pair.left", "pair.same", "pair.before", "chosen.number.column", "rejected.number.column")
    typed_: tuple[Item, ...] = tuple(given[name] for name in ("pair.column", *PAIRS.values()))
    sections = (
        Section("The pairs", (*map(Note, (COMPARED, RANKED, COUNTS)), *typed_)),
        Section("Which pair stands where", tuple(minor(given[name]) for name in places)),
        Section(
            "Which pair is of which ranking", tuple(map(minor, several(given, "ranking.apart", "pair.of_ranking")))
        ),
        *(Section(title, tuple(_row(row) for row in made.sections[title])) for title in made.sheets["Rankings"]),
        Section(
            "What Pairs tries: only differences count",
            (Line((given["shift"],), "line"), Line((given["scale"],), "line")),
        ),
        Section(FIXED, tuple(map(Row, made.sections[FIXED]))),
    )
    return Sheet("Rankings", LEAD_RANKINGS, sections, (p,), closed=True)


def _row(row: Block) -> Row:
    return key(row) if row.name == "weight.pair" else Row(row) if not row.axes else minor(row)


def typed_texts(numbers: Numbers, words: str, width: int) -> dict[str, object]:
    """Lists what is typed of texts and pairs by the names of its blocks. width: how many columns there are."""
    return {
        "vocabulary": list(numbers["text.vocabulary"]),
        "text.end": numbers["text.end"],
        words: padded(numbers["text.texts"], width),
        "response.number": np.arange(1.0, 1 + len(numbers["text.texts"])),
        "pair.column": np.arange(1.0, 1 + len(numbers["pairs.chosen"])),
        **{name: numbers[f"pairs.{key}"] for key, name in PAIRS.items()},
        "shift": SHIFT, "scale": SCALE, "overflow.sheet": SHEET, "overflow.float32": FLOAT32,
    }  # fmt: skip
