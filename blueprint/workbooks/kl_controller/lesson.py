"""The adaptive KL controller: what it is fed, and how it raises the KL coefficient β where the KL is above its target, and lowers
it below; and misconceptions about it. What it says and its sheet stand in `lesson.toml`.
"""

from pathlib import Path
from typing import Any

import numpy as np

from blueprint.inputs import LONGEST, ROWS, Level, Part, Values, settings_in
from blueprint.inputs.entries import Number, Positive
from blueprint.language import Axis, Block, Sum, maximum, minimum, size
from blueprint.misconceptions import (
    becomes,
    equation,
    instead,
    of,
    operand,
    operation,
    row,
    swapped,
    turned,
    upside_down,
    without,
)
from blueprint.workbooks.common import (
    Choices,
    Identity,
    Rows,
    Settings,
    Written,
    all_in_range,
    labels,
    not_negative,
)
from blueprint.workbooks.common.lesson import Lesson

FOLDER = Path(__file__).parent
SETTINGS = settings_in(FOLDER).settings


def _whole_lengths(file: Any, parts: Values) -> Values:
    """Return the lengths of a saved file's responses; a part of a token is refused, with its cell."""
    return {"responses.lengths": np.array(file.whole("responses.length"))}


LEVEL = Level(
    "kl_controller",
    "controller",
    "what the KL controller is fed",
    parts=(
        Part(
            "responses.kl_sums",
            Number,
            ("update", "response"),
            "KL to the reference, summed over the tokens of a response",
            block="responses.kl",
        ),
        Part(
            "responses.lengths",
            Positive,
            ("update", "response"),
            "tokens of a response, in the shape of kl_sums",
            block="responses.length",
        ),
    ),
    tables={
        "controller": "settings; one that is left out is as in the preset",
        "responses": "a row per update, an entry per response",
    },
    settings=SETTINGS,
    of_settings="controller",
    limits={"update": (1, LONGEST), "response": ROWS},
    more_saved=_whole_lengths,
)


u = Axis("u", "update", start=1)
i = Axis("i", "response", start=1)
LABELS = labels(own=__package__)


def controlled(of: Rows, use: Written) -> None:
    """Adapts β to the KL of the responses: β ← β·(1 + e·n/K) with e = KL/target − 1, clipped. β has a start column.

    What is fed is the KL of whole responses, or their mean per token. of: nothing yet.
    """
    by = use.used
    sums = use.typed("responses.kl", (u, i), "KL_sum", "KL of the response, summed over its tokens", decimals=1)
    lengths = use.typed("responses.length", (u, i), "len", "tokens of the response", unit="≥ 1", decimals=0)
    responses = use.one("responses.count", size(i))
    per_token = use.row("responses.kl_per_word", sums[u, i] / lengths[u, i])
    seq_sum = use.each("kl.seq_sum", Sum(i, sums[u, i]) / responses)
    token_mean = use.each("kl.token_mean", Sum(i, per_token[u, i]) / responses)
    fed = use.each("kl.fed", use.switch["kl_stat"].choose(seq_sum=seq_sum[u], token_mean=token_mean[u]))
    raw = use.each("error.raw", fed[u] / by["target"] - 1)
    error = use.each("error", maximum(-by["error_clip"], minimum(by["error_clip"], raw[u])))
    factor = use.each("factor", 1 + error[u] * by["n_steps"] / by["horizon"])
    after = use.each("kl_coef.after")
    after[u.first - 1] = by["kl_coef"]
    before = use.each("kl_coef.before", after[u - 1])
    after[u] = before[u] * factor[u]
    updates = use.one("updates", size(u))
    last = use.one("last_update", updates - 1)
    use.one("final_kl_coef", after[last])


def checks_of(rows: Rows, chosen: Settings, use: Choices) -> list[Block]:
    """Measures how far factors, directions, β and lengths are from what they must be."""
    by, factor = use.used, rows["factor"]
    largest = by["error_clip"] * by["n_steps"] / by["horizon"]
    return [
        use.each("check.factor", maximum(0, abs(factor[u] - 1) - largest)),
        use.each("check.way", maximum(0, -rows["error"][u] * (rows["kl.fed"][u] - by["target"]))),
        not_negative("positive", rows["kl_coef.after"]),
        use.row("check.length", maximum(0, 1 - rows["responses.length"][u, i])),
        all_in_range(chosen),
    ]


def product_of_factors(rows: Rows, use: Choices) -> list[Identity]:
    """Measures how far β is from the product of all factors."""
    product = use.each("identity.product")
    product[u.first - 1] = 1
    product[u] = product[u - 1] * rows["factor"][u]
    distance = abs(use.used["kl_coef"] * product[u] - rows["kl_coef.after"][u])
    return [Identity((product,), use.each("check.product", distance))]


LESSON = Lesson(
    FOLDER,
    LEVEL,
    LABELS,
    n=u,
    t=i,
    steps=(controlled,),
    checks=checks_of,
    identities=product_of_factors,
    sizes={u: "responses.kl", i: ("responses.kl", 1)},
)


# fmt: off
MISCONCEPTIONS = (
    *of("kl.seq_sum",
        ("sum-for-mean", "The sum is not divided by the number of responses.", operand("div"))),
    *of("responses.kl_per_word",
        ("not-per-token", "The KL of a response is not divided by its length.", operand("div"))),
    *of("kl.token_mean",
        ("sum-for-mean", "The sum is not divided by the number of responses.", operand("div")),
        ("sums-for-means", "The responses' sums are averaged, not their means per token.",
         instead("responses.kl_per_word", "responses.kl"))),
    *of("kl.fed",
        ("mean-per-token-fed", "The mean per token is fed; which statistic is in use is said on Inputs.", row("kl.token_mean")),
        ("sum-per-response-fed", "The sum per response is fed; which statistic is in use is said on Inputs.", row("kl.seq_sum"))),
    *of("error.raw",
        ("one-forgotten", "The − 1 is forgotten: the error is how far KL/KL_goal is from 1.", operand("sub")),
        ("error-turned", "The sign is turned: too much KL is an error above 0.", turned()),
        ("difference-for-proportion", "The difference is not divided by the goal: the error is a proportion, KL/KL_goal − 1.",
         equation(lambda b: b("kl.fed") - b("target"))),
        ("upside-down", "The proportion is upside down: it is KL/KL_goal.", upside_down)),
    *of("error",
        ("not-clipped", "The error is not clipped.", row("error.raw")),
        ("below-not-clipped", "The error is not clipped from below.", operand("maximum", 1)),
        ("above-not-clipped", "The error is not clipped from above.", operand("minimum", 1))),
    *of("factor",
        ("error-turned", "The error is subtracted: with too much KL, β grows.", turned("error")),
        ("one-forgotten", "The 1 is forgotten: β is multiplied by 1 + e·n/K.", operand("add", 1)),
        ("raw-for-clipped", "The raw error stands where the clipped one should.", instead("error", "error.raw")),
        ("upside-down", "n/K is upside down: the horizon divides.", swapped("n_steps", "horizon")),
        ("steps-forgotten", "n, the number of steps, is forgotten.", without("n_steps"))),
    *of("kl_coef.after",
        ("divided-for-multiplied", "β is divided by the factor: it is multiplied.", operation("mul", "div")),
        ("factor-added", "The factor is added: β is multiplied by it.", operation("mul", "add")),
        ("from-the-start", "It begins at β_0 again: each update goes on from the β before it.",
         becomes("kl_coef.before", lambda b: b("kl_coef")))),
)
# fmt: on
