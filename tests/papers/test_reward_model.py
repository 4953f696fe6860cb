"""Reward models on a page: what libraries recorded, the page of the papers at equal settings, and extreme numbers."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

pytest.importorskip("torch", reason="the pages of papers are written in torch")

import torch
from torch import Tensor

from blueprint.papers import reward_model as plain
from blueprint.papers.libraries import reward_model as libraries
from tests.papers.preference_runs import GRADIENT, LOSS, far, numbers
from tests.preference_runs import Run, recorded_file, runs

FORMS = {
    "logsigmoid": {"form": "logsigmoid"}, "log1p_exp": {"form": "log_exp"}, "per_position": {"form": "per_position"},
    "kwise_mean_per_ranking": {"over": "rankings"}, "kwise_pairs_pooled": {"over": "pairs"},
    "softmax_best": {"form": "softmax_best", "over": "rankings"}, "accuracy_best_vs_worst": {},
}  # fmt: skip
METRICS = {
    "accuracy": "accuracy", "acc": "accuracy", "margin": "margin", "min_reward": "lowest", "max_reward": "highest",
    "rewards_chosen_mean": "mean_chosen", "rewards_rejected_mean": "mean_rejected", "loss": "loss",
    "pos_score": "mean_chosen", "neg_score": "mean_rejected", "score_diff": "margin",
}  # fmt: skip
SIDES = [f"{side}{of}" for side in ("chosen", "rejected") for of in ("", "_rewards", "_scores", "_mean_scores")]
RUNS = list(runs("reward_model"))


def batch(run: Run) -> dict[str, Any]:
    """The four pairs; or the rankings of a run, of whose responses a score is recorded and nothing else."""
    of, option = recorded_file()["batch"], run.options
    if "rankings" in run.variant or "kwise" in run.variant:
        rankings = of["rm_rankings"]
        head = numbers([score for ranking in rankings for score in ranking])[:, None]
        places = torch.split(torch.arange(len(head)), [len(ranking) for ranking in rankings])
        of_ranking = [(w, r, number) for number, each in enumerate(places) for w, r in combinations(each.tolist(), 2)]
        if option["form"] == "accuracy_best_vs_worst":
            of_ranking = [(int(each[0]), int(each[-1]), number) for number, each in enumerate(places)]
        chosen, rejected, ranking = torch.tensor(of_ranking).T
        ids, text = torch.zeros_like(head).long(), torch.ones_like(head) == 1
        counts = ranking == option["ranking"] if "ranking" in option else torch.ones_like(ranking) == 1
        margin = torch.zeros(len(ranking), dtype=head.dtype)
    else:
        head, ids = numbers(of["rm_head"]), torch.tensor(of["input_ids"])
        text, margin = torch.tensor(of["attention_mask"]) == 1, numbers(of["rm_margin"])
        chosen, rejected, ranking = torch.arange(4), torch.arange(4, 8), torch.arange(4)
        counts = torch.isin(ranking, torch.tensor([0, 1, 2, 3] if option["pairs"] == "all" else option["pairs"]))
    return {
        "head": head.clone().requires_grad_(), "ids": ids, "text": text, "is_end": (ids == of["eos_id"]) & text,
        "chosen": chosen, "rejected": rejected, "ranking": ranking, "counts": counts, "margin": margin,
    }  # fmt: skip


def settings(run: Run) -> dict[str, Any]:
    """Returns the options of a run by our names."""
    option = run.options
    subtract, divide = option["normalise"] or (0.0, 1.0)
    return {
        "score": option["read"].replace("eos", "end"), "subtract": subtract, "divide": divide, "use_margin": option["margin"],
        "center": option["center"], "l2": option.get("l2", 0.0), "mean_eps": option["mean_eps"], **FORMS[option["form"]],
    }  # fmt: skip


def gradient(run: Run) -> Tensor | None:
    """Returns the gradient that was recorded by the scores of responses, chosen ones first; of rankings as they are."""
    out = run.out
    if "grad_chosen" in out:
        return numbers(out["grad_chosen"] + out["grad_rejected"])
    if "grad_interleaved" in out:
        return numbers(out["grad_interleaved"][0::2] + out["grad_interleaved"][1::2])
    return numbers(out["grad"]) if "grad" in out else None


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_the_page_gives_what_a_library_computed(run: Run) -> None:
    """Losses, what is logged, gradients. Of normalised scores the gradient is recorded by the score that entered the loss."""
    of = batch(run)
    found = libraries.reward_model(**of, **settings(run))
    logged = run.out | run.out.get("metrics", {})
    for theirs in METRICS.keys() & logged.keys():
        assert far(getattr(found, METRICS[theirs]), logged[theirs]) <= LOSS, theirs
    if "mean_reward" in logged:
        assert far((found.mean_chosen + found.mean_rejected) / 2, logged["mean_reward"]) <= LOSS
    for theirs in (each for each in SIDES if each in logged):
        assert far(getattr(found, theirs.partition("_")[0]), logged[theirs]) <= LOSS, theirs
    if "losses" in logged and len(logged["losses"]) == 4:
        assert far(found.losses, logged["losses"]) <= LOSS
    meant = gradient(run)
    if meant is not None:
        (slope,) = torch.autograd.grad(found.loss, of["head"], retain_graph=True)
        by_response = slope.sum(1)
        kept = by_response[by_response != 0] if "ranking" in run.options else by_response
        assert (kept * settings(run)["divide"] - meant).abs().max() <= GRADIENT
    if "grad_head" in run.out:
        (slope,) = torch.autograd.grad(found.loss, of["head"])
        apart, pads = slope - numbers(run.out["grad_head"]), ~of["text"]
        assert apart[~pads].abs().max() <= GRADIENT
        assert abs(slope[pads].sum() - run.out["grad_pad_head_total"]) <= GRADIENT


def test_so_many_runs_are_compared() -> None:
    """Of two no loss is recorded: one has a loss for each ranking, one an accuracy."""
    assert len(RUNS) == 26
    assert sum("loss" in run.out for run in RUNS) == 24
    assert sum(gradient(run) is not None or "grad_head" in run.out for run in RUNS) == 20


def test_a_ranking_by_itself_has_the_loss_that_open_assistant_gives_it() -> None:
    (run,) = (run for run in RUNS if run.options.get("reduce") == "none")
    of = batch(run)
    for number, meant in enumerate(run.out["losses"]):
        alone = of | {"counts": of["ranking"] == number}
        assert far(libraries.reward_model(**alone, **settings(run)).loss, meant) <= LOSS


def test_trlx_logs_scores_at_the_end_of_the_longer_text() -> None:
    """Its loss reads them among others; the shorter text has a pad there. The page has no name for them."""
    (run,) = (run for run in RUNS if run.library.startswith("trlx"))
    of = batch(run)
    lengths = of["text"].sum(1)
    last = torch.maximum(lengths[of["chosen"]], lengths[of["rejected"]]) - 1
    for side in ("chosen", "rejected"):
        assert far(of["head"][of[side], last], run.out[f"{side}_end_scores"]) <= LOSS


def random_batch(seed: int) -> tuple[dict[str, Any], list[list[int]]]:
    """Up to three rankings of two to four responses of up to six tokens, every response in one of them."""
    of = torch.Generator().manual_seed(seed)
    many, columns = (int(torch.randint(1, most, (), generator=of)) for most in (4, 7))
    sizes = torch.randint(2, 5, (many,), generator=of).tolist()
    responses = sum(sizes)
    rankings = [each.tolist() for each in torch.split(torch.randperm(responses, generator=of), sizes)]
    ids = torch.randint(3, (responses, columns), generator=of)
    text = torch.arange(columns) < torch.randint(1, columns + 1, (responses, 1), generator=of)
    head = torch.randn(responses, columns, generator=of, dtype=torch.float64).requires_grad_()
    chosen, rejected, ranking = plain.pairs_of(rankings)
    margin = torch.rand(len(chosen), generator=of, dtype=torch.float64)
    return {
        "head": head, "ids": ids, "text": text, "is_end": torch.zeros_like(text), "chosen": chosen, "rejected": rejected,
        "ranking": ranking, "counts": torch.ones_like(chosen) == 1, "margin": margin,
    }, rankings  # fmt: skip


def of_paper(of: dict[str, Any], **settings: Any) -> plain.RewardModel:
    return plain.reward_model(of["head"], of["text"], of["chosen"], of["rejected"], of["ranking"], **settings)


@pytest.mark.parametrize("over", ["pairs", "rankings"])
def test_at_equal_settings_both_pages_are_one(over: str) -> None:
    for seed in range(200):
        of, _ = random_batch(seed)
        ours = libraries.reward_model(**of, use_margin=True, center=0.01, over=over)
        alone = {"ranking": torch.arange(len(of["chosen"]))} if over == "pairs" else {}
        paper = of_paper(of | alone, margin=of["margin"], center=0.01)
        for name in ("scores", "difference", "probability", "losses", "preference_loss", "centering_loss", "loss"):
            assert torch.allclose(getattr(ours, name), getattr(paper, name), rtol=1e-12, atol=1e-14), (seed, name)
        assert ours.accuracy == pytest.approx(float(paper.accuracy), rel=1e-14)
        slopes = [torch.autograd.grad(each.loss, of["head"])[0] for each in (ours, paper)]
        assert (slopes[0] - slopes[1]).abs().max() <= 1e-14


def test_the_best_of_two_is_bradley_and_terrys() -> None:
    """A soft-max over two responses is the sigmoid of their difference."""
    for seed in range(50):
        of, rankings = random_batch(seed)
        chosen, rejected, ranking = plain.pairs_of([each[:2] for each in rankings])
        two = of | {"chosen": chosen, "rejected": rejected, "ranking": ranking}
        two |= {"counts": ranking >= 0, "margin": torch.zeros(len(ranking))}
        best, pair = (libraries.reward_model(**two, form=form).losses for form in ("softmax_best", "logsigmoid"))
        assert torch.allclose(best, pair, rtol=1e-12, atol=0)


def test_rankings_become_pairs() -> None:
    """B > A > D > C: six pairs (InstructGPT: K(K−1)/2)."""
    chosen, rejected, ranking = plain.pairs_of([[1, 0, 3, 2], [5, 4]])
    assert [*zip(chosen.tolist(), rejected.tolist(), strict=True)] == [
        (1, 0), (1, 3), (1, 2), (0, 3), (0, 2), (3, 2), (5, 4)
    ]  # fmt: skip
    assert ranking.tolist() == [0] * 6 + [1]


def pair(r_w: float, r_l: float, columns: int = 1) -> dict[str, Any]:
    """One pair of responses of one token, and pads behind it."""
    head = torch.tensor([[r_w] + [0.0] * (columns - 1), [r_l] + [0.0] * (columns - 1)], dtype=torch.float64)
    text = (torch.arange(columns) == 0).expand(2, -1)
    one = torch.zeros(1, dtype=torch.long)
    return {
        "head": head.requires_grad_(), "ids": torch.zeros(2, columns, dtype=torch.long), "text": text, "is_end": ~text & text,
        "chosen": one, "rejected": one + 1, "ranking": one, "counts": one == 0, "margin": one.double(),
    }  # fmt: skip


def test_scores_700_apart_have_a_loss_and_a_slope() -> None:
    """log(1 + e^x), which OpenRLHF has beside the sigmoid, is infinite from x ≈ 709.8 on."""
    of = pair(-710.0, 0.0)
    found = libraries.reward_model(**of)
    assert found.loss.item() == 710
    assert torch.autograd.grad(found.loss, of["head"])[0].flatten().tolist() == [-1, 1]
    assert libraries.reward_model(**of, form="log_exp").loss.item() == float("inf")
    assert libraries.reward_model(**of, form="softmax_best").loss.item() == 710
    assert libraries.reward_model(**pair(710.0, 0.0)).loss.item() == pytest.approx(0, abs=1e-300)


def test_a_tie_is_wrong_and_costs_log_2() -> None:
    for found in (libraries.reward_model(**pair(0.5, 0.5)), of_paper(pair(0.5, 0.5))):
        assert found.accuracy.item() == 0
        assert found.loss.item() == pytest.approx(0.6931471805599453, rel=1e-15)


def test_equal_texts_are_compared_in_the_last_column() -> None:
    """DeepSpeed-Chat: a position behind both texts. (trlX has no loss for a batch with such a pair.)"""
    of = pair(0.5, 0.25, columns=3)
    found = libraries.reward_model(**of, form="per_position")
    assert found.loss.item() == pytest.approx(0.6931471805599453, rel=1e-15)
    assert torch.autograd.grad(found.loss, of["head"])[0].tolist() == [[0, 0, -0.5], [0, 0, 0.5]]


def test_no_pair_that_counts_has_a_loss_of_0() -> None:
    """NeMo-RL's mean adds 1e-8 to the number of valid pairs."""
    none = pair(1.0, 0.0) | {"counts": torch.tensor([False])}
    for over in ("pairs", "rankings"):
        assert libraries.reward_model(**none, over=over, mean_eps=1e-8).loss.item() == 0


def test_a_response_without_a_token_is_read_at_the_first_position() -> None:
    """transformers: the largest place among no tokens is 0. The page of the paper wants one token at least."""
    of = pair(1.0, 0.0, columns=2)
    assert libraries.reward_model(**of | {"text": torch.zeros(2, 2) == 1}).scores.tolist() == [1, 0]
    ends = of | {"is_end": of["text"]}
    assert libraries.reward_model(**ends, score="before_end").scores.tolist() == [1, 0]
    assert libraries.reward_model(**ends, score="last_column").scores.tolist() == [0, 0]


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="ranked"):
        libraries.reward_model(**pair(1.0, 0.0), form="ranked")
