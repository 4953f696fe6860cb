"""Equations of GRPO as TRL spells them, and whose reward or advantage a response may have by mistake: none is a change of one part
of a definition.

RLOO's advantage is defined by the mean of the others, and computed from the mean of all: (r − mean)·n/(n − 1). And the KL comes
to each token's loss, and the sum is averaged once: the definitions average both, and add up the means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

import numpy as np

from blueprint.dumps import Array
from blueprint.language import Constant, Expr, Position, Ref, Sum, block, exp, reading
from blueprint.misconceptions import Change, Names
from blueprint.verifying import Definitions, Settings, Try, of_equations, of_other_forms, spelled
from blueprint.verifying.equations import Between, to
from blueprint.workbooks.common import Choices, Rows
from blueprint.workbooks.grpo.definitions.rewards_and_group_advantages import LABELS, i, n, q, t
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.schema import GRPO
from blueprint.workbooks.grpo.verifying.feeding import EQUATIONS, PLACE, Fed, order_of
from blueprint.workbooks.grpo.verifying.top_entropy import of_least

LEFT, MEAN, K3 = "group.less_baseline", "group.mean", "kl_new.k3"


def of_trl(settings: Settings, wanted: tuple[str, ...], known: tuple[str, ...]) -> Iterator[Try]:
    """Yields every change of one part of an equation as TRL spells it, between what is known and what is wanted; and other
    quantiles of the entropies."""
    equations = EQUATIONS.under(settings)
    on_the_way = equations.reached(tuple(each for each in wanted if each in equations.rows), known)
    b = Names({**{block.name: block for block in equations.numbers}, **equations.rows}, {})

    def changes(name: str, expr: Expr) -> Iterator[Try]:
        return spelled(Between(EQUATIONS, settings, wanted[:1], known), name, expr, {})

    if "keep.least" in on_the_way:
        yield from of_least(settings)
    if K3 in on_the_way:
        x = -b("kl_new.k1")
        yield from changes(K3, exp(x) - x - Constant(1))
    if LEFT not in on_the_way or settings["group.baseline"] not in ("mean", "others"):
        return
    of_group = [*changes(MEAN, Sum(i, Ref(b["group.reward"], (Position(q), Position(i)))) / b("count.group"))]
    size, own = b("count.group"), equations.rows[LEFT].definitions[0].expr
    left = b("group.reward") - Ref(b[MEAN], (Position(q),))
    if settings["group.baseline"] == "mean":
        yield from of_group  # in the spread, too
    else:  # of RLOO the mean is in the advantage alone, where the definition has that of the others
        left = left * size / (size - 1)
        yield from changes(LEFT, left)
    for each in of_group:
        mean = equations.changed(MEAN, each.ways["equations"][MEAN])
        alone = f"{each.label}, in {LEFT} alone" if settings["group.baseline"] == "mean" else each.label
        yield each._replace(label=alone, ways={"equations": {LEFT: to(own, reading(left, {b[MEAN]: mean}))}})


MODE = "loss.aggregation"
TYPED = {
    "policy.counts": (n, t), "kl_new.counts": (n, t), "loss.counted": (n, t), "joined.tokens": (), "joined.responses": (),
    "joined.bonus": (),
}  # fmt: skip


def _derived(given: Rows, use: Choices) -> Rows:
    """Makes loss and KL of each token, their sums over the tokens of each response, and the mean of these."""
    loss, counts, tokens, responses = (
        given[name] for name in ("policy.counts", "loss.counted", "joined.tokens", "joined.responses")
    )
    paid = block("joined.kl", (n, t), "k", "β times the KL of the token")
    paid[n, t] = use.used["kl.coef"] * given["kl_new.counts"][n, t]
    each = block("joined.each", (n, t), "ℓ", "loss of the token, with its KL")
    each[n, t] = loss[n, t] + paid[n, t]
    sums = block("joined.sums", (n,), "s", "sum over the tokens of the response")
    sums[n] = Sum(t, counts[n, t] * each[n, t])
    mean = block("joined.means", (n,), "s̄", "mean over the tokens of the response")
    mean[n] = sums[n] / Sum(t, counts[n, t])
    made = {
        "token_mean": lambda: Sum(n, sums[n]) / tokens,
        "seq_mean_token_mean": lambda: Sum(n, mean[n]) / responses,
        "seq_mean_token_sum": lambda: Sum(n, sums[n]) / responses / use.used["loss.constant"],
    }
    average = block("joined.mean", (), "L̄", "mean of the losses")
    average[()] = made[use.switch[MODE].words[0]]()
    total = block("joined.total", (), "L", "total loss")
    total[()] = average - given["joined.bonus"]
    return {each.name: each for each in (paid, each, sums, mean, average, total)}


JOINED = Definitions(GRPO, LABELS.labels, TYPED, _derived, masks=("loss.counted",))
WORDS = ("token_mean", "seq_mean_token_mean", "seq_mean_token_sum")


def of_joined(settings: Settings) -> Iterator[Try]:
    """Yields every change of one part of these equations, where a KL that is paid in the loss is averaged as the rest is."""
    alike = settings["kl.place"] != "loss" or settings["kl.aggregation"] == "as_policy"
    if settings[MODE] in WORDS and alike:
        forms = chain(*of_other_forms(JOINED, settings, ("joined.total",), ()))
        for each in (*of_equations(JOINED, settings, "joined.total", ()), *forms):
            yield each._replace(ways={"joined": each.ways["equations"]})


def joined_total(
    settings: Settings, of: Mapping[str, Array], changes: Mapping[str, Change], share: float, bonus: float
) -> float:
    """Computes the total with changes. of: the typed rows of tokens, [B, T]; share: of a mean over this file, as it counts in that
    over a larger batch; bonus: what is taken off for entropy."""
    counts = of["loss.counted"]
    numbers = {"joined.tokens": counts.sum() / share, "joined.responses": len(counts) / share, "joined.bonus": bonus}
    known = {**of, **{name: np.asarray(each) for name, each in numbers.items()}}
    if settings["kl.place"] != "loss":
        known["kl_new.counts"] = np.zeros_like(known["kl_new.counts"])
    sizes = {n: counts.shape[0], t: counts.shape[1]}
    return float(JOINED.values(settings, sizes, known, ("joined.total",), changes)["joined.total"])


def _of_neighbour(of: Fed, by: int) -> Array:
    """Takes the response before (1) or behind (−1) in the rollout; the last stands before the first."""
    order = np.argsort(of[PLACE], kind="stable")
    found = np.empty_like(order)
    found[order] = np.roll(order, by)
    return found


def _of_table(of: Fed, axis: int, by: int) -> Array:
    """Takes the response before or behind in the group (axis 1), or in the same place of another group (0)."""
    sizes, order = np.bincount(of["group"]), order_of(of)
    found = np.arange(len(order))
    if sizes.min() == sizes.max():
        table = order.reshape(len(sizes), -1)
        found[table.ravel()] = np.roll(table, by, axis=axis).ravel()
    return found


def _transposed(of: Fed) -> Array:
    """Takes of a table of as many rows as groups are large, one column for each group, what stands in the same place column by
    column."""
    sizes, order = np.bincount(of["group"]), np.argsort(of[PLACE], kind="stable")
    found = np.arange(len(order))
    if sizes.min() == sizes.max():
        found[order] = order.reshape(-1, len(sizes)).T.ravel()
    return found


def _through(of: Fed, order: Callable[[Array], Array]) -> Array:
    """Takes the response to which an order leads that is made of the places in the rollout, where files have another order."""
    return order(np.argsort(np.argsort(of[PLACE], kind="stable"), kind="stable"))


ROWS: Mapping[str, Callable[[Fed], Array]] = {
    "of the response before in the rollout": partial(_of_neighbour, by=1),
    "of the response behind in the rollout": partial(_of_neighbour, by=-1),
    "of the response before in its group": partial(_of_table, axis=1, by=1),
    "of the response behind in its group": partial(_of_table, axis=1, by=-1),
    "of the group before": partial(_of_table, axis=0, by=1),
    "of the group behind": partial(_of_table, axis=0, by=-1),
    "of another row: rows of files are not brought into the order of the rollout": partial(
        _through, order=lambda place: place
    ),
    "of another row: the order of the rollout is undone where it should be made": partial(
        _through, order=lambda place: place[place]
    ),
    "of another row: the order of the rollout is not undone": partial(_through, order=np.argsort),
}


OF_FILE = {
    "less their mean": (False, False),
    "less their mean over tokens": (True, False),
    "whitened": (False, True),
    "whitened over tokens": (True, True),
}
"""By what is said of advantages, whether over tokens, not responses, and whether they are divided by their deviation, too."""


def of_each_file(own: Array, mask: Array, word: str) -> Array:
    """Returns the advantages of a file less their mean over it, or whitened by it, as where each rank takes its own."""
    of_tokens, divided = OF_FILE[word]
    there = mask.any(axis=1)
    if not there.any():
        return own
    of_responses = np.where(mask, own, 0.0).sum(axis=1)[there] / mask.sum(axis=1)[there]
    some = own[mask] if of_tokens else of_responses
    spread = some.std(ddof=1) if divided and len(some) > 1 else 1.0
    with np.errstate(divide="ignore", invalid="ignore"):  # of equal ones
        return np.asarray(np.where(mask, (own - some.mean()) / spread, 0.0))


IN_REWARD = ("reward", "reward_token")
"""Where a KL is paid that is taken off the score of its response."""


def _scores_of(rows: Callable[[Fed], Array], step: GroupedStep, of: Fed) -> Array:
    return of["score"][rows(of)]


def of_other_rows(settings: Settings, sizes: Sequence[int]) -> Iterator[Try]:
    """Yields rewards, then advantages, that are those of other responses; or that each file makes of its own.

    sizes: how many responses each group has.
    """
    for says, rows in ROWS.items():
        yield Try(f"the advantage {says}", settings, {"rows_given": rows})
        if "rollout" in says:  # within a group it is the same
            yield Try(f"the reward {says}", settings, {"rows_read": rows})
        if settings["kl.place"] in IN_REWARD:
            yield Try(f"the score {says}, with its own KL", settings, {"scored": partial(_scores_of, rows)})
    if len({*sizes}) == 1 and len(sizes) > 1:
        both = {"groups": ("interleaved", 0), "rows_given": _transposed}
        yield Try("the advantages of interleaved groups, laid out one group after the other", settings, both)
    for says in OF_FILE:
        yield Try(f"advantages {says} over each file", settings, {"of_file": says})
