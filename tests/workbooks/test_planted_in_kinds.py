"""Mistakes planted in the mathematics of a kind: check names the row, and says by which misconception it is what it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.language import Operand, Sum, exp
from blueprint.workbooks.common import n, t, v
from blueprint.workbooks.common.preference_pairs import o, p
from blueprint.workbooks.grpo.definitions.rewards_and_group_advantages import i, q
from blueprint.workbooks.reward_model.definitions import q as rankings
from blueprint.workbooks.sft.definitions import b as microbatch
from tests.workbooks.planting import Planting, planting_in
from tests.workbooks.test_backward import G

NAMED = {
    "grpo": (
        ("overlong.beyond", "begins-at-the-limit"), ("overlong.penalty", "short-is-rewarded"), ("group.others", "own-included"),
        ("group.deviation", "n-for-n-minus-one"), ("group.spread", "batch-for-group"), ("group.less_baseline", "baseline-added"),
        ("group.divided_by", "eps-inside"), ("group.scaled", "not-divided"), ("log_ratio.free", "ratio-upside-down"),
        ("ratio.mean_of_response", "sum-for-mean"), ("ratio.clipped", "one-eps-for-both"), ("ratio.clipped", "below-not-clipped"),
        ("surrogate.pessimistic", "max-for-min"), ("surrogate.pessimistic", "larger-for-bad-tokens"),
        ("surrogate", "dual-clip-for-every-token"), ("rollout.log_free", "weight-upside-down"),
        ("rollout.kept", "mask-a-token-short"), ("loss.counted", "cut-responses-counted"), ("weight.policy", "mean-of-means"),
        ("kl_new.chosen", "k1-for-the-estimator"), ("adds.kl_loss", "beta-forgotten"), ("total_loss", "entropy-turned"),
    ),
    "dpo": (
        ("policy.sum", "prompt-counted"), ("reference.mean", "not-divided"), ("logp.shorter", "longer-for-shorter"),
        ("chosen.against", "reference-forgotten"), ("rejected.against", "ratio-upside-down"), ("margin", "sides-exchanged"),
        ("margin.scaled", "beta-forgotten"), ("margin.argument", "gamma-inside-beta"), ("margin.right", "wrong-side"),
        ("loss.sigmoid", "smoothing-on-the-wrong-side"), ("loss.robust", "divided-by-one-minus-eps"),
        ("loss.ipo_target", "one-over-beta"), ("loss.ipo_off", "scaled-margin"), ("loss.apo_down", "chosen-pushed-up"),
        ("chosen.log_odds", "log-for-probability"), ("kto.z", "divided-by-pairs"), ("kto.against.argument", "z-forgotten"),
        ("nll.counted", "rejected-too"), ("nll", "response-for-the-mean"), ("loss.paired", "divided-by-responses"),
        ("total_loss", "nll-subtracted"), ("rejected.logged", "beta-forgotten"),
    ),
    "sft": (
        ("label.id", "shift-forgotten"), ("label.counts", "prompt-counted"), ("label.counts", "end-token-out"),
        ("label.counts", "everything-counts"), ("loss.share", "mean-of-means"), ("loss.share", "texts-alike"),
        ("loss.share", "texts-for-tokens"), ("label.weight", "not-masked"), ("loss.of_token", "probability-for-log-prob"),
        ("nll", "mean-over-texts"), ("perplexity", "upside-down"), ("watch.hit", "not-masked"),
    ),
    "reward_model": (
        ("read.here", "every-position"), ("score", "sum-of-all"), ("score.used", "std-forgotten"),
        ("score.deviation", "variance-for-deviation"),
        ("difference", "sides-exchanged"), ("difference", "scores-added"), ("probability", "proportional"),
        ("argument", "margin-added"),
        ("argument.right", "wrong-side"), ("loss.logsigmoid", "sign-forgotten"), ("loss.log_exp", "one-forgotten"),
        ("position.since", "not-carried-on"), ("position.longer", "shorter-for-longer"), ("position.mean", "not-divided"),
        ("weight.pair", "rankings-for-pairs"), ("preference_loss", "weights-forgotten"), ("center.square", "not-squared"),
        ("l2.of_pair", "half-forgotten"), ("total_loss", "centring-forgotten"), ("accuracy", "divided-by-responses"),
        ("rewards.margins", "chosen-alone"),
    ),
}  # fmt: skip
"""By kind rows, and misconceptions of the list."""
OTHERS: dict[tuple[str, str], Callable[[G], Operand]] = {
    ("grpo", "group.advantage"): lambda b: b["group.late"][q, i] * b["group.late"][q, i],
    ("grpo", "ratio"): lambda b: exp(b["log_ratio"][n, t] * 2),
    ("grpo", "policy.counts"): lambda b: b["keep"][n, t] * b["policy.token_loss"][n, t],
    ("grpo", "kl_loss"): lambda b: Sum((n, t), b["weight.kl.row"][n, t] * b["kl_new.k1"][n, t]),
    ("grpo", "log_ratio.grad"): lambda b: b["ratio.level_of.grad"][n, t] * 2,
    ("dpo", "chosen.logp.column"): lambda b: Sum(n, b["pair.rejected"][o, n] * b["policy.curved"][n]),
    ("dpo", "loss.weighed"): lambda b: b["weight.used"][p] * b["loss.pair"][p] * b["loss.pair"][p],
    ("dpo", "loss.pair.grad"): lambda b: b["loss.weighed.grad"][p] * 2,
    ("dpo", "margin.grad"): lambda b: b["margin.scaled.grad"][p],
    ("sft", "microbatch.loss"): lambda b: b["microbatch.tokens"][microbatch] * b["microbatch.share"][microbatch],
    ("sft", "watch.entropy_of_token"): lambda b: b["policy.entropy"][n, t] * b["label.weight"][n, t],
    ("sft", "policy.logits.grad"): lambda b: b["policy.p"][n, t, v] * b["policy.logprobs.grad"][n, t],
    ("reward_model", "chosen.score.column"): lambda b: Sum(n, b["rejected.is"][o, n] * b["score.used"][n]),
    ("reward_model", "ranking.mean"): lambda b: Sum(p, b["pair.of_ranking"][rankings, p] * b["pair.kept"][p]),
    ("reward_model", "right"): lambda b: 1 - b["ranking.best"][p],
    ("reward_model", "loss.pair.grad"): lambda b: b["weight.pair"][p] * 2,
    ("reward_model", "argument.grad"): lambda b: -b["argument.right.grad"][p],
}  # fmt: skip
"""By kind and row another equation of which nobody has made a sentence."""
AS_IT_IS = {
    "grpo": ("ratio", 600),
    "dpo": ("margin", 450),
    "sft": ("loss.share", 100),
    "reward_model": ("difference", 180),
}
"""By kind a row, and how many lines the verdict has at least."""
NUMBERS = {"reward_model": "reward model"}
Of = Callable[[str], Planting]


@pytest.fixture(scope="module")
def planting(tmp_path_factory: pytest.TempPathFactory) -> Of:
    """Saves the workbook of each kind once."""
    made: dict[str, Planting] = {}

    def of(kind: str) -> Planting:
        if kind not in made:
            made[kind] = planting_in(kind, NUMBERS.get(kind, kind), tmp_path_factory.mktemp(kind))
        return made[kind]

    return of


@pytest.mark.parametrize(("kind", "row", "name"), [(kind, *each) for kind, rows in NAMED.items() for each in rows])
def test_a_planted_misconception_is_named(planting: Of, kind: str, row: str, name: str) -> None:
    first = planting(kind).misconception(row, name)
    assert first.name == row
    assert first.likely in planting(kind).says(row, name)


@pytest.mark.parametrize(("kind", "row"), OTHERS)
def test_another_equation_is_seen(planting: Of, kind: str, row: str) -> None:
    assert planting(kind).equation(row, OTHERS[kind, row]).name == row


@pytest.mark.parametrize("kind", AS_IT_IS)
def test_the_workbook_as_it_is_agrees(planting: Of, kind: str) -> None:
    row, least = AS_IT_IS[kind]
    verdict = planting(kind).as_it_is(row)
    assert verdict.agrees
    assert len(verdict.lines) > least
