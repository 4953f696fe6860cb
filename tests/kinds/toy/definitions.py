"""The loss of preference pairs: −log σ(β·(score of the chosen answer − score of the rejected one))."""

from __future__ import annotations

from typing import Any

from blueprint.inputs import Numbers
from blueprint.notation import Axis, Block, Sum, block, exp, gradient, log, size, typed
from blueprint.page.outline import Blueprint, Note, Section, Sheet
from blueprint.workbooks.common import facts_of, with_backward
from blueprint.workbooks.common.definitions.settings_presets_and_ranges import Settings, settings, settings_sections
from tests.kinds.toy.level import SETTINGS

p, s, t = Axis("p", "pair", start=1), Axis("s", "side", start=1), Axis("t", "token", start=1)


def preference(numbers: Numbers, witnessed: Any = None) -> Blueprint:
    """Makes the blueprint of preference pairs."""
    chosen = settings(numbers.ppo, SETTINGS)
    sides = typed("sides", (s,), "side", "which answer of a pair", text=True)
    logprobs = typed("logprobs", (p, s, t), "log π", "log-probability of the token", unit="≤ 0")
    sign = typed("sign", (s,), "±", "1 for the chosen answer, −1 for the rejected one", decimals=0)
    rows = loss_of(logprobs, sign, chosen)
    given = numbers["pairs.logprobs"]
    pairs = Section("The answers", (sides, sign, logprobs, *rows[:5]))
    start = Section("What this is", (Note(f"{numbers.title}: {numbers.about}"), rows[-1]))
    return Blueprint(
        title=numbers.title,
        sheets=(
            Sheet("Start", "a chosen and a rejected answer to each prompt, and how well they are told apart", (start,)),
            Sheet("Inputs", "the settings", tuple(settings_sections(chosen)), widths=(12,) * 8),
            Sheet("Pairs", "from log-probs to the loss", (pairs, Section("The loss", tuple(rows[5:-1]))), (t,)),
        ),
        sizes=dict(zip((p, s, t), given.shape, strict=True)),
        typed=chosen.typed | {sides: ["chosen", "rejected"], sign: [1.0, -1.0], logprobs: given},
        names={s: sides},
        choices=chosen.choices,
        ranges=chosen.ranges,
        facts=facts_of(numbers.name, "pairs"),
        result=rows[-1],
    )


def loss_of(logprobs: Block, sign: Block, chosen: Settings) -> list[Block]:
    """Scores answers, and compares the two of each pair; logprobs: (pair, side, token); sign: (side)."""
    tokens = block("tokens", (), "T", "tokens of an answer", decimals=0)
    pairs = block("pairs", (), "N", "pairs", decimals=0)
    total = block("answer.sum", (p, s), "S_sum", "log-probability of the answer")
    mean = block("answer.mean", (p, s), "S_mean", "log-probability of the answer, per token")
    score = block("score", (p, s), "S", "score of the answer (chosen on Inputs)")
    margin = block("margin", (p,), "M", "how much higher the chosen answer scores")
    loss = block("loss", (p,), "L_p", "loss of the pair")
    whole = block("preference_loss", (), "L", "loss: mean over pairs")
    tokens[()] = size(t)
    pairs[()] = size(p)
    total[p, s] = Sum(t, logprobs[p, s, t])
    mean[p, s] = total[p, s] / tokens
    score[p, s] = chosen.switch["answer"].choose(sum=total[p, s], mean=mean[p, s])
    margin[p] = Sum(s, sign[s] * score[p, s])
    loss[p] = log(1 + exp(-chosen.used["beta"] * margin[p]))
    whole[()] = Sum(p, loss[p]) / pairs
    return [tokens, pairs, total, mean, score, margin, loss, whole]


def with_slopes(outline: Blueprint) -> Blueprint:
    """Adds the gradient of the loss to the log-probs."""
    rows = {each.name: each for each in outline.blocks()}
    return with_backward(outline, gradient(rows["preference_loss"], wrt=[rows["logprobs"]]))
