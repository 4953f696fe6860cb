"""A reward that a rule gives: whether the answer is right, whether the response has its form, and what its length costs.

Sources: GRPO, 2402.03300, section 4.1 (a score for each response); DeepSeek-R1, 2501.12948, section 2.2.2 (accuracy and format);
the length penalty, score − 0.01·max(0, tokens − limit), is the textbook's.
"""

from blueprint.language import Block, Max, Sum, equal, match, maximum, number
from blueprint.workbooks.common import Rows, Settings, named
from blueprint.workbooks.grpo.definitions.axes import i, n, o, q, t, v
from blueprint.workbooks.grpo.definitions.steps import LABELS


def answers(given: Rows) -> Rows:
    """Finds the answer of each response's prompt, as an id, (n). given: the answers (q), the vocabulary, and who stands where."""
    answer, vocabulary, is_ = given["answer"], given["vocabulary"], given["response.is"]
    ids = LABELS.along("answer.id", (q,), match(v, vocabulary[v], answer[q]))
    placed = LABELS.along("answer.placed", (q, i), ids[q])
    return named(ids, placed, LABELS.each("answer.of", Sum((q, i), placed[q, i] * is_[q, i, n])))


def rules(given: Rows, written: Block, m: Block, ends: Block, length: Block, chosen: Settings) -> Rows:
    """Scores each response, (n). written, m, ends: (n, t), the id of each token, the mask, and 1 where the text ends."""
    use, answer = chosen.used, given["answer.of"]
    hit = LABELS.row("rule.hit")
    hit[n, t.first - 1] = 0
    hit[n, t] = m[n, t] * equal(written[n, t], answer[n])
    last = LABELS.row("rule.last", hit[n, t - 1] * ends[n, t])
    anywhere, at_end = (
        LABELS.each(f"rule.right.{name}", Max(t, x[n, t])) for name, x in (("anywhere", hit), ("at_end", last))
    )
    right = LABELS.each("rule.right", chosen.switch["reward.answer"].choose(anywhere=anywhere[n], at_end=at_end[n]))
    form = LABELS.each("rule.form", 1 - given["truncated"][n])
    beyond = LABELS.each("rule.beyond", maximum(0, length[n] - use["reward.free_tokens"]))
    cost = LABELS.each("rule.cost", use["reward.token_cost"] * beyond[n])
    earned = LABELS.each("rule.earned", use["reward.right"] * right[n] + use["reward.form"] * form[n])
    return named(
        hit, last, anywhere, at_end, right, form, beyond, cost, earned, LABELS.each("score.rules", earned[n] - cost[n])
    )


def scores(given: Rows, chosen: Settings) -> Block:
    """Takes the score of each response, (n), from the rules, as typed, or from the reward model."""
    switch = chosen.switch["reward.from"]
    rows = {of: given[f"score.{of}"][n] for of in ("rules", "typed", "model")}
    return LABELS.each("score", switch.choose(**rows))


def same_prompt(given: Rows) -> tuple[Rows, Block]:
    """Adds up the tokens of each prompt, weighed by their places squared, so that another token or order gives another sum.

    Returns the rows on the way, (n, t), (o), (q, i), and how far that of each response is from the largest of its group.
    """
    ids, is_given, same, is_ = (given[name] for name in ("given_id", "is_given", "response.same", "response.is"))
    place = LABELS.row("prompt.place", number(t) * (ids[n, t] + is_given[n, t]) * number(t))
    total = LABELS.each("prompt.total", ids[n, t.first - 1] + Sum(t, place[n, t]))
    down = LABELS.along("prompt.column", (o,), Sum(n, same[o, n] * total[n]))
    groups = LABELS.along("prompt.group", (q, i), Sum(o, is_[q, i, o] * down[o]))
    largest = LABELS.along("prompt.largest", (q,), Max(i, groups[q, i]))
    apart = LABELS.along("prompt.apart", (q, i), largest[q] - groups[q, i])
    found = LABELS.each("check.same_prompt", Sum((q, i), apart[q, i] * is_[q, i, n]))
    return named(place, total, down, groups, largest, apart), found
