"""KTO on single responses: what its files hold, and its definitions: log-ratios, the KL of responses to other prompts, the loss,
what is logged; and misconceptions about it. What it says and its sheets stand in `lesson.toml`.

Sources: KTO, 2402.01306, eq. 7 and 8; APO, 2408.06266, eq. 7 (APO-zero); TRL 1.16.0, trl/trainer/kto_trainer.py, `_compute_loss`.
"""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.inputs import (
    LONGEST,
    ROWS,
    Catalogue,
    Draft,
    Level,
    Numbers,
    Part,
    catalogue,
    padded,
    refusal,
    settings_in,
    within,
)
from blueprint.inputs.entries import About, Flag, LogProb
from blueprint.language import Axis, Block, Sum, equal, exp, less, maximum, minimum, size, typed, where
from blueprint.misconceptions import equation, of, operand, turned, without
from blueprint.workbooks.common import Choices, Rows, Settings, all_in_range, checks, labels, named
from blueprint.workbooks.common.lesson import Lesson

FOLDER = Path(__file__).parent
RECORDS = settings_in(FOLDER)
SETTINGS = RECORDS.settings
MODELS = ("policy", "reference")
_TOKEN = "token of the response"


@cache
def kto_presets() -> Catalogue:
    """Read the presets of KTO: the default and the libraries, by version."""
    return catalogue(FOLDER, RECORDS)


def _checked(draft: Draft) -> Numbers:
    """Make the numbers of a checked file. Raises NumbersError where no response has a token."""
    parts = draft.fitted()
    if not any(map(len, parts["policy.logprobs"])):
        raise refusal("policy.logprobs", "no token in any response", "a token in at least one of them")
    return draft.numbers(parts)


def _typed(numbers: Numbers) -> dict[str, Any]:
    """Lay the log-probs of each response out, 0 behind its last token."""
    rows = {model: numbers[f"{model}.logprobs"] for model in MODELS}
    width = max(map(len, rows["policy"]))
    return {
        "mask": padded([[1.0] * len(row) for row in rows["policy"]], width, 0.0),
        **{f"{model}.logprobs": padded(each, width, 0.0) for model, each in rows.items()},
    }


def _saved(file: Any, parts: Any) -> dict[str, Any]:
    """Return the log-probs of a saved workbook, each response as long as it is."""
    mask = np.nan_to_num(file.array("mask", 2))
    return {f"{model}.logprobs": within(file.array(f"{model}.logprobs", 2), mask, float) for model in MODELS}


LEVEL = Level(
    "kto",
    "single-responses",
    "single responses, each good or bad by itself, with their log-probs",
    parts=(
        Part("responses.prompts", About, ("response",), "what was asked; a line for each response", noun="prompt", block="prompt"),
        Part("responses.good", Flag, ("response",), "1 where the response is desirable, 0 where it is not", block="response.good"),
        Part("policy.logprobs", LogProb, ("response", _TOKEN), "a list for each response, a log-prob for each of its tokens"),
        Part("policy.elsewhere", LogProb, ("response",), "log-prob of the response to another prompt, behind this prompt",
             block="elsewhere.policy"),
        Part("reference.logprobs", LogProb, ("response", _TOKEN), "the same under the reference"),
        Part("reference.elsewhere", LogProb, ("response",), "the same under the reference", block="elsewhere.reference"),
    ),
    tables={
        "kto": "settings; one that is left out is as here", "responses": "what was asked, and whether the response is good",
        "policy": "log-probs of the policy in training", "reference": "log-probs of the reference",
    },
    settings=SETTINGS,
    of_settings="kto",
    limits={"response": ROWS, _TOKEN: (0, LONGEST)},
    ragged=(_TOKEN,),
    make=_checked,
    more_typed=_typed,
    more_saved=_saved,
)  # fmt: skip


n = Axis("n", "response", start=1)
t = Axis("t", "token", start=1)
LABELS = labels(own=__package__)
GIVEN = {
    **dict.fromkeys(("mask", "policy.logprobs", "reference.logprobs"), (n, t)),
    **dict.fromkeys(("response.good", "elsewhere.policy", "elsewhere.reference"), (n,)),
}
"""What is typed of responses, and along what it lies."""


def responses(of: Rows, use: Choices) -> Rows:
    """Types what is known of each response, (n), and of each of its tokens, (n, t). of: nothing yet."""
    return named(
        typed("prompt", (n,), "prompt", "what was asked", text=True),
        typed("response.good", (n,), "good", "1: desirable, 0: undesirable", unit="0 or 1", decimals=0),
        typed("mask", (n, t), "mask", "1 on a token of the response", unit="0 or 1", decimals=0),
        typed("policy.logprobs", (n, t), "log π", "log-prob of the token: policy", unit="≤ 0"),
        typed("reference.logprobs", (n, t), "log π_ref", "log-prob of the token: reference", unit="≤ 0"),
        typed("elsewhere.policy", (n,), "log π′", "log-prob of another’s response", unit="≤ 0"),
        typed("elsewhere.reference", (n,), "log π_ref′", "log π_ref of another’s response", unit="≤ 0"),
    )  # fmt: skip


def log_ratios(of: Rows, use: Choices) -> Rows:
    """Sums the log-probs of each response, (n), and compares the policy with the reference."""
    m = of["mask"]
    logp, logp_ref = (
        use.along(f"single.{model}", (n,), Sum(t, m[n, t] * of[f"{model}.logprobs"][n, t]))
        for model in ("policy", "reference")
    )
    return named(logp, logp_ref, use.along("single.ratio", (n,), logp[n] - logp_ref[n]))


def reference_point(of: Rows, use: Choices) -> Rows:
    """Estimates the KL to the reference, z, on prompts with the response to another one; APO-zero compares with 0 instead."""
    apart = use.along("elsewhere.ratio", (n,), of["elsewhere.policy"][n] - of["elsewhere.reference"][n])
    count = use.one("single.count", size(n))
    mean = use.one("elsewhere.mean", Sum(n, apart[n]) / count)
    kl = use.one("elsewhere.kl", maximum(0, mean))
    z = use.one("single.z", where(use.switch["loss_type"].says("kto"), kl, 0))
    return named(apart, count, mean, kl, z)


def loss(of: Rows, use: Choices) -> Rows:
    """Asks of each response, (n), how far it is on its side of z; and how the loss moves with its log-prob.

    Nothing flows back through z. σ(x) is written so that no e^x overflows.
    """
    by, good = use.used, of["response.good"]
    side = use.along("single.side", (n,), 2 * good[n] - 1)
    x = use.along("single.argument", (n,), by["beta"] * side[n] * (of["single.ratio"][n] - of["single.z"]))
    near = use.along("single.likely", (n,), exp(minimum(x[n], 0)) / (1 + exp(-abs(x[n]))))
    weight = use.along(
        "single.weight", (n,), where(equal(good[n], 1), by["desirable_weight"], by["undesirable_weight"])
    )
    each = use.along("single.loss", (n,), weight[n] * (1 - near[n]))
    total = use.one("total_loss", Sum(n, each[n]) / of["single.count"])
    away = use.along("single.unlikely", (n,), exp(minimum(-x[n], 0)) / (1 + exp(-abs(x[n]))))
    slope = -(side[n] * weight[n] * by["beta"] * near[n] * away[n] / of["single.count"])
    return named(side, x, near, weight, each, total, away, use.along("single.slope", (n,), slope))


def logged(of: Rows, use: Choices) -> Rows:
    """Averages rewards and log-probs over either side; a side that has no response stands at 0, and TRL logs nothing of it."""
    good, beta = of["response.good"], use.used["beta"]
    reward = use.along("single.reward", (n,), beta * of["single.ratio"][n])
    chosen = use.one("count.chosen", Sum(n, good[n]))
    rejected = use.one("count.rejected", of["single.count"] - chosen)
    bad = use.along("single.bad", (n,), 1 - good[n])
    found = [reward, chosen, rejected, bad]
    for what, row in (("reward", reward), ("logps", of["single.policy"])):
        up, down = Sum(n, good[n] * row[n]), Sum(n, bad[n] * row[n])
        found += [
            use.one(f"single.{what}.chosen", where(less(0, chosen), up / chosen, 0)),
            use.one(f"single.{what}.rejected", where(less(0, rejected), down / rejected, 0)),
        ]
    return named(*found, use.one("single.margin", found[4] - found[5]))


STEPS = (responses, log_ratios, reference_point, loss, logged)


def derived(given: Rows, use: Choices) -> Rows:
    """Makes every row that is computed, by name, of what is given."""
    rows = dict(given)
    for step in STEPS[1:]:
        rows |= step(rows, use)
    return {name: row for name, row in rows.items() if name not in given}


def in_turn(of: Rows, use: Choices) -> list[Block]:
    """Measures how far from 0 is what must be 0: two ways to σ(−x), and that a mask holds 0 and 1."""
    return [
        use.along("check.likely", (n,), abs(of["single.likely"][n] + of["single.unlikely"][n] - 1)),
        checks.is_0_or_1("mask", of["mask"], use=use),
        checks.is_0_or_1("good", of["response.good"], use=use),
    ]


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block]:
    """Measure how far from 0 is what must be 0."""
    return [*in_turn(of, use), all_in_range(chosen)]


LESSON = Lesson(FOLDER, LEVEL, LABELS, n=n, steps=STEPS, checks=checks_of, sizes={n: "response.good", t: ("mask", 1)})


# fmt: off
MISCONCEPTIONS = (
    *of("single.ratio",
        ("reference-forgotten", "The reference is forgotten: this is a log-prob.", operand("sub")),
        ("sign-turned", "The sign is turned: the policy stands above, the reference below.", turned())),
    *of("elsewhere.kl",
        ("below-0", "It is never below 0: the mean is held there.", operand("maximum", 1))),
    *of("single.argument",
        ("z-forgotten", "z is left out: KTO asks by how much a response is above z.", equation(
            lambda b: b("beta") * b("single.side") * b("single.ratio"))),
        ("sign-forgotten", "A bad response has the same sign as a good one: it is to lie below z.", without("single.side")),
        ("beta-forgotten", "β is forgotten.", without("beta"))),
    *of("single.loss",
        ("likely-for-one-less", "This is λ·σ: the loss is λ·(1 − σ).", equation(lambda b: b("single.weight") * b("single.likely"))),
        ("weight-forgotten", "The weight λ is forgotten.", without("single.weight"))),
    *of("single.reward",
        ("beta-forgotten", "β is forgotten: a reward is β times the log-ratio.", without("beta"))),
    *of("total_loss",
        ("sum-for-mean", "The sum is not divided by the number of responses.", operand("div"))),
    *of("single.slope",
        ("not-divided", "A response is one of several: the slope of their mean is divided by their number.", operand("div")),
        ("value-for-loss", "The sign is that of the value; a loss falls where the value rises.", turned("single.side"))),
)
# fmt: on
