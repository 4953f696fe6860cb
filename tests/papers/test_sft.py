"""Fine-tuning on a page: what libraries recorded, the page of the paper at equal settings, and extreme numbers."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch", reason="the pages of papers are written in torch")

import torch

from blueprint.papers import sft as plain
from blueprint.papers.libraries import sft as libraries
from tests.papers.preference_runs import GRADIENT, LOSS, far, numbers, taken
from tests.preference_runs import NORMALISERS, Run, recorded_file, with_loss

METRICS = {"entropy": "entropy", "mean_token_accuracy": "accuracy", "num_tokens": "tokens_read"}


RUNS = with_loss("sft")


def batch() -> dict[str, Any]:
    """The chosen responses of the four pairs."""
    of = recorded_file()["batch"]
    ids, labels, there = (torch.tensor(of[name])[:4] for name in ("input_ids", "labels", "attention_mask"))
    logits = numbers(of["logits_policy"])[:4, :-1].clone().requires_grad_()
    return {"logits": logits, "tokens": ids, "response": labels[:, 1:] != -100, "text": there[:, 1:] == 1}


def settings(run: Run) -> dict[str, Any]:
    """Returns the options of a run by our names."""
    c = run.conventions
    return {
        "region": c["region"], "normaliser": c["loss.normaliser"], "packing": c.get("packing", "none"),
        "microbatches": c["microbatches"], "mean_eps": c["loss.mean_eps"], "dft": c["loss.dft"] == "on",
    }  # fmt: skip


def test_so_many_runs_are_compared() -> None:
    assert len(RUNS) == 53


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_the_page_gives_what_a_library_computed(run: Run) -> None:
    of = batch()
    found = libraries.sft(**of, **settings(run))
    assert far(found.loss, run.out["loss"]) <= LOSS
    for theirs, ours in METRICS.items():
        if theirs in run.out.get("metrics", {}):
            assert far(getattr(found, ours).double(), run.out["metrics"][theirs]) <= LOSS
    if "grad_taken" in run.out:
        (slope,) = torch.autograd.grad(found.loss, of["logits"])
        meant = numbers(run.out["grad_taken"])
        assert (taken(slope, of["tokens"][:, 1:])[:, : meant.shape[1]] - meant).abs().max() <= GRADIENT
        if "grad_logits" in run.out:
            assert (slope - numbers(run.out["grad_logits"])[:, :-1]).abs().max() <= GRADIENT


@pytest.mark.parametrize(
    "run", [run for run in RUNS if "parts" in run.out and "trl" in run.library], ids=lambda run: run.name
)
def test_a_microbatch_adds_what_it_added_there(run: Run) -> None:
    """What each step of accumulation adds is recorded; of a mean of means before it is divided by their number."""
    parts = numbers(run.out["parts"])
    meant = parts / (1 if abs(float(parts.sum()) - run.out["loss"]) < 1e-9 else len(parts))
    assert (libraries.sft(**batch(), **settings(run)).of_microbatches - meant).abs().max() <= LOSS


def random_batch(seed: int) -> dict[str, Any]:
    """Up to five texts of up to nine tokens, each with a prompt and a response of at least one token."""
    of = torch.Generator().manual_seed(seed)
    texts, columns = (int(torch.randint(1, most, (), generator=of)) for most in (6, 9))
    logits = 3 * torch.randn(texts, columns, 5, generator=of, dtype=torch.float64)
    tokens = torch.randint(5, (texts, columns + 1), generator=of)
    start = torch.randint(columns, (texts, 1), generator=of)
    place = torch.arange(columns)
    end = start + 1 + torch.randint(columns, (texts, 1), generator=of)
    return {
        "logits": logits.requires_grad_(), "tokens": tokens, "response": (place >= start) & (place < end), "text": place < end
    }  # fmt: skip


@pytest.mark.parametrize("dft", [False, True])
def test_at_equal_settings_both_pages_are_one(dft: bool) -> None:
    for seed in range(200):
        of = random_batch(seed)
        ours = libraries.sft(**of, dft=dft)
        paper = plain.sft(of["logits"], of["tokens"], of["response"], dft=dft)
        m = of["response"]
        # Both take a logit of up to 13 off another number of its size, which is rounded to 1.8e-15, on some processors otherwise:
        # a log-prob of −3.2e-4 that is left has no 13 digits.
        assert torch.allclose(ours.logp[m], paper.logp[m], rtol=1e-13, atol=2e-15)
        for name in ("loss", "nll", "perplexity", "entropy", "accuracy"):
            assert torch.allclose(getattr(ours, name), getattr(paper, name), rtol=1e-12, atol=1e-14), (seed, name)
        slopes = [torch.autograd.grad(each.loss, of["logits"], retain_graph=True)[0] for each in (ours, paper)]
        assert (slopes[0] - slopes[1]).abs().max() <= 1e-14


def test_a_label_of_probability_1_costs_nothing_and_one_of_0_its_logit() -> None:
    """−700 is a log-prob like any other; e^709 is beyond float64, and so is the perplexity."""
    logits = torch.tensor([[[0.0, 710.0], [800.0, 0.0]]], dtype=torch.float64, requires_grad=True)
    tokens, both = torch.tensor([[0, 0, 0]]), torch.ones(1, 2, dtype=torch.bool)
    found = libraries.sft(logits, tokens, both, both)
    assert found.logp.tolist() == [[-710.0, 0.0]]
    assert found.loss.item() == 355
    assert libraries.sft(logits, tokens, both, both, normaliser="nonzero").loss.item() == 710
    only = libraries.sft(logits[:, :1], tokens[:, :2], both[:, :1], both[:, :1])
    assert only.perplexity.item() == float("inf")
    (slope,) = torch.autograd.grad(found.loss, logits)
    assert slope.tolist() == [[[-0.5, 0.5], [0.0, 0.0]]]


def test_of_nothing_to_learn_there_is_no_loss_but_where_a_library_adds_to_the_count() -> None:
    of = random_batch(0)
    nothing = torch.zeros_like(of["response"])
    assert libraries.sft(of["logits"], of["tokens"], nothing, of["text"]).loss.isnan()
    assert plain.sft(of["logits"], of["tokens"], nothing).loss.isnan()
    assert libraries.sft(of["logits"], of["tokens"], nothing, of["text"], mean_eps=1e-8).loss == 0
    assert libraries.sft(of["logits"], of["tokens"], nothing, of["text"], normaliser="row_sums").loss == 0


def test_one_token_is_a_batch() -> None:
    logits, one = torch.zeros(1, 1, 4, dtype=torch.float64), torch.ones(1, 1, dtype=torch.bool)
    for normaliser in NORMALISERS.values():
        found = libraries.sft(logits, torch.zeros(1, 2, dtype=torch.long), one, one, normaliser=normaliser)
        assert float(found.loss) == pytest.approx(torch.tensor(4.0).double().log().item(), rel=1e-15)


def test_text_behind_text_predicts_the_next_one_unless_packing_keeps_them_apart() -> None:
    tokens = torch.tensor([[1, 2, 0], [3, 2, 4]])
    text = torch.tensor([[True, False], [True, True]])
    labels = {
        packing: libraries.labels_of(tokens, text, text, region="text", packing=packing).tolist()
        for packing in ("none", "bfd", "wrapped")
    }
    assert labels["none"] == labels["bfd"] == [[2, -100], [2, 4]]
    assert labels["wrapped"] == [[2, 3], [2, 4]]
    assert libraries.labels_of(tokens, text, text, without=4).tolist() == [[2, -100], [2, -100]]


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(ValueError, match="median"):
        libraries.sft(**random_batch(0), normaliser="median")
