"""DPO and its relatives on a page: what libraries recorded, the page of the papers at equal settings, and extreme numbers."""

from __future__ import annotations

from dataclasses import replace
from math import inf, log
from typing import Any

import pytest

pytest.importorskip("torch", reason="the pages of papers are written in torch")

import torch
from torch import Tensor

from blueprint.papers import dpo as plain
from blueprint.papers.kto import kto
from blueprint.papers.libraries.dpo import Batch, Options, Preference, dpo, logprobs
from tests.papers.preference_runs import GRADIENT, LOSS, far, numbers, taken
from tests.preference_runs import Run, recorded_file, runs

RUNS = list(runs("preference"))
WITH_LOSS = [run for run in RUNS if "loss" in run.out]


def options(run: Run) -> Options:
    """Returns the options of a run by our names."""
    c: dict[str, Any] = run.conventions
    return Options(
        form=c["loss.form"], beta=c["beta"], gamma=c["loss.gamma"], smoothing=c["loss.label_smoothing"],
        exo_eps=c["loss.exo_eps"], bco_mix=c["loss.bco_mix"], bco_threshold=c["loss.bco_threshold"],
        desirable=c["loss.desirable"], undesirable=c["loss.undesirable"], kl_mean=run.options["kl_mean"],
        weight=c["loss.weight"], mean_eps=c["loss.mean_eps"], nll_coef=c["loss.nll_coef"], nll_mean=c["loss.nll_mean"],
        nll_region=c["loss.nll_region"], logp=c["logp.of"], alpha=c["logp.alpha"], ld=c["logp.ld"], ld_from=c["logp.ld_from"],
        ld_alpha=c["logp.ld_alpha"], reference=c["reference.used"] == "on", divergence=c["margin.divergence"],
        logged=c["watch.rewards"],
    )  # fmt: skip


def batch() -> tuple[Batch, Tensor, Tensor]:
    """Returns the four pairs, the policy's logits, and the tokens written, from which log-probs are taken."""
    of, other = recorded_file()["batch"], recorded_file()["batch"]["kto_mismatched"]
    ids = torch.tensor(of["input_ids"])[:, 1:]
    logits = numbers(of["logits_policy"])[:, :-1].clone().requires_grad_()
    logp, log_square = logprobs(logits, ids)
    logp_ref, _ = logprobs(numbers(of["logits_reference"])[:, :-1], ids)
    other_ids, other_mask = torch.tensor(other["input_ids"])[:, 1:], torch.tensor(other["labels"])[:, 1:] != -100
    models = [logprobs(numbers(other[f"logits_{model}"])[:, :-1], other_ids)[0] for model in ("policy", "reference")]
    return Batch(
        logp, logp_ref, torch.tensor(of["labels"])[:, 1:] != -100, torch.tensor(of["attention_mask"])[:, 1:] == 1, log_square,
        (models[0] - models[1]).where(other_mask, 0).sum(1), numbers(of["rpo_ground_truth_rewards"]),
    ), logits, ids  # fmt: skip


SIDES = ("chosen", "rejected")


def logged(run: Run, found: Preference) -> dict[str, Tensor]:
    """Returns what a library logs, by its names."""
    (r_w, r_l), (mean_w, mean_l), (logp_w, logp_l) = found.rewards, found.mean_rewards, found.mean_logp
    use = options(run)
    odds_w, odds_l = (x - (-x.expm1()).log() for x in found.logp.chunk(2))
    odds, right = odds_w - odds_l, torch.nn.functional.logsigmoid(odds_w - odds_l)
    nll = found.nll if use.nll_coef else torch.zeros_like(found.nll)
    losses = found.kto_losses if use.form == "kto" else found.losses
    names = {
        "rewards/margins": found.mean_margin, "rewards/accuracies": found.accuracy, "accuracy": found.accuracy,
        "acc": found.accuracy, "nll_loss": nll, "sft_loss": nll, "preference_loss": found.preference_loss, "loss": found.loss,
        "kl": found.kto_point, "KL": found.kto_point, "log_odds_chosen": odds.mean(), "log_odds": odds.mean(),
        "Log Odds": odds.mean(), "log_odds_ratio": right.mean(), "Log Odds Ratio": right.mean(), "odds_ratio_loss": -right.mean(),
        "Positive Geometric Mean": logp_w, "Negative Geometric Mean": logp_l, "chosen_geometric_mean": logp_w,
        "rejected_geometric_mean": logp_l, "per_pair_loss": losses, "losses": losses, "loss/train": losses, "rewards_logged":
        found.rewards.flatten(), "policy_logps": found.logp, "reference_logps": found.logp_ref, "pos_prob": found.logp[:4],
        "neg_prob": found.logp[4:], "rewards_train/margins": r_w - r_l, "rewards_train/accuracies": (r_w > r_l).double(),
    }  # fmt: skip
    for side, mean, each, logp, of_side in zip(
        SIDES, (mean_w, mean_l), (r_w, r_l), (logp_w, logp_l), (slice(4), slice(4, 8)), strict=True
    ):
        names |= {
            f"rewards/{side}": mean, f"rewards_{side}_mean": mean, f"rewards/{side}_sum": 4 * mean, f"logps/{side}": logp,
            f"logps/{side}_sum": 4 * logp, f"{side}_rewards": each, f"rewards_train/{side}": each,
            f"{side}_logps": found.logp[of_side], f"ref_{side}_logps": found.logp_ref[of_side],
            f"logps_train/{side}": found.logp[of_side],
        }  # fmt: skip
    return names


OF_ONE = {"log_odds_ratio": "colossalchat", "nll_loss": "openrlhf"}
"""Where one library means something else: odds of tokens; the mean of rows whatever is added."""
NO_NAME = (
    "grad_", "loss_float32", "loss_bfloat16", "logits/", "entropy", "num_", "mean_token_accuracy", "count/", "note",
    "chosen_logps_avg",
)  # fmt: skip
"""Slopes are compared by themselves; the others tell of tokens, rounding or how many there are, and the page has none of them."""


@pytest.mark.parametrize("run", WITH_LOSS, ids=lambda run: run.name)
def test_the_page_gives_what_a_library_computed(run: Run) -> None:
    of, logits, ids = batch()
    found = dpo(of, options(run))
    assert far(found.loss, run.out["loss"]) <= LOSS
    names, out = logged(run, found), run.out | run.out.get("metrics", {}) | run.out.get("logged", {})
    for theirs in out.keys() - {"metrics", "logged", "grad_taken", "grad_logits"}:
        if not theirs.startswith(NO_NAME) and not run.library.startswith(OF_ONE.get(theirs, "nobody")):
            meant = numbers(out[theirs])
            ours = names[theirs].mean() if meant.ndim == 0 else names[theirs].expand_as(meant)
            assert far(ours, out[theirs]) <= LOSS, theirs
    if "grad_taken" in run.out:
        (slope,) = torch.autograd.grad(found.loss, logits)
        meant = numbers(run.out["grad_taken"])
        assert (taken(slope, ids)[:, : meant.shape[1]] - meant).abs().max() <= GRADIENT
        if "grad_logits" in run.out:
            assert (slope - numbers(run.out["grad_logits"])[:, :-1]).abs().max() <= GRADIENT


def test_what_single_libraries_mean_by_a_name() -> None:
    """ColossalChat's log-odds are those of all tokens; OpenRLHF logs the NLL that it does not add, a mean over responses."""
    of, _, _ = batch()
    by_name = {run.name: run for run in RUNS}
    run = by_name["colossalchat_4f9953b-odds_ratio_loss"]
    odds = of.logp - (1.0001 - of.logp.exp()).log()
    apart = odds[:4][of.mask[:4]].mean() - odds[4:][of.mask[4:]].mean()
    assert far(apart, run.out["log_odds_ratio"]) <= LOSS
    for run in (run for run in RUNS if run.library.startswith("openrlhf")):
        found = dpo(of, replace(options(run), nll_mean="sequence_mean"))
        assert far(found.nll, run.out["nll_loss"]) <= LOSS


def test_the_run_of_a_function_has_the_gradient_by_log_probs_of_responses() -> None:
    """The first DPO repository: ∂L/∂log π of the sum of a response is that of each of its tokens."""
    (run,) = (run for run in RUNS if run.variant == "dpo_function")
    of, _, _ = batch()
    logp = of.logp.detach().requires_grad_()
    found = dpo(replace(of, logp=logp), Options())
    assert far(found.losses, run.out["losses"]) <= LOSS
    (slope,) = torch.autograd.grad(found.loss, logp)
    for rows, side, rewards in zip((slice(4), slice(4, 8)), SIDES, found.rewards, strict=True):
        assert far(rewards, run.out[f"{side}_rewards"]) <= LOSS
        meant = numbers(run.out[f"grad_policy_{side}_logps"])[:, None].expand(4, 8)
        assert (slope[rows] - meant)[of.mask[rows]].abs().max() <= GRADIENT
    assert not slope[~of.mask].any()


def test_slic_of_halos_runs_with_one_pair_at_a_time() -> None:
    """A loss of pairs plus one of tokens, [1] + [1, T]: of four pairs the shapes do not fit, and so none is recorded."""
    (run,) = (run for run in RUNS if "one_pair_at_a_time" in run.out)
    use = replace(options(run), nll_coef=run.options["lambda_coef"], nll_mean="cells")
    of, _, _ = batch()
    for place, meant in enumerate(run.out["one_pair_at_a_time"]):
        pair = Batch(*(each[[place, place + 4]] for each in vars(of).values()))
        found = dpo(pair, use)
        assert far(found.loss, meant["loss"]) <= LOSS
        assert far(found.rewards[:, 0], [meant["chosen_reward"], meant["rejected_reward"]]) <= LOSS


def test_so_many_runs_are_compared() -> None:
    """211 with those of fine-tuning, on each number of microbatches, and of reward models; two without a loss have a test each."""
    assert len(RUNS) == 132
    assert len(WITH_LOSS) == 130
    assert sum("grad_taken" in run.out for run in WITH_LOSS) == 128
    assert len(RUNS) + len(list(runs("sft"))) + len(list(runs("reward_model"))) == 211


def random_batch(seed: int) -> Batch:
    """Up to four pairs of responses of up to six tokens, behind prompts."""
    of = torch.Generator().manual_seed(seed)
    pairs, columns = (int(torch.randint(1, most, (), generator=of)) for most in (5, 7))
    logp, logp_ref = (-3 * torch.rand(2 * pairs, columns, generator=of, dtype=torch.float64) for _ in range(2))
    start = torch.randint(columns, (2 * pairs, 1), generator=of)
    place = torch.arange(columns)
    end = start + 1 + torch.randint(columns, (2 * pairs, 1), generator=of)
    elsewhere, rewards = (torch.randn(2 * pairs, generator=of, dtype=torch.float64) for _ in range(2))
    return Batch(
        logp.requires_grad_(),
        logp_ref,
        (place >= start) & (place < end),
        place < end,
        2 * logp.detach(),
        elsewhere,
        rewards,
    )


EQUAL: dict[str, tuple[dict[str, Any], Options]] = {
    "dpo": ({"beta": 0.3}, Options(beta=0.3)),
    "cdpo": ({"smoothing": 0.2}, Options(smoothing=0.2)),
    "ipo": ({"loss": "ipo", "beta": 0.5}, Options(form="ipo", beta=0.5)),
    "simpo": (
        {"loss": "simpo", "beta": 2.0, "gamma": 1.0},
        Options(logp="mean", reference=False, beta=2.0, gamma=1.0),
    ),
    "orpo": (
        {"loss": "orpo", "beta": 0.2},
        Options(form="orpo", logp="mean", reference=False, beta=0.2, nll_coef=1.0, nll_mean="sequence_mean"),
    ),
}
"""The paper's settings, and the options of libraries that are the same."""


@pytest.mark.parametrize("name", EQUAL)
def test_at_equal_settings_both_pages_are_one(name: str) -> None:
    settings, use = EQUAL[name]
    for seed in range(200):
        of = random_batch(seed)
        ours, paper = dpo(of, use), plain.dpo(of.logp, of.logp_ref, of.mask, **settings)
        found = {"logp": ours.logp, "rewards": ours.rewards.flatten(), "margin": ours.margin, "loss": ours.loss}
        found |= {"accuracy": ours.accuracy} | ({"losses": ours.losses} if name != "orpo" else {})
        for each, value in found.items():
            assert torch.allclose(value, getattr(paper, each), rtol=1e-12, atol=1e-13), (seed, each)
        slopes = [torch.autograd.grad(each.loss, of.logp)[0] for each in (ours, paper)]
        assert torch.allclose(slopes[0], slopes[1], rtol=1e-11, atol=1e-13)


def test_at_equal_settings_both_pages_are_one_of_single_responses() -> None:
    for seed in range(200):
        of = random_batch(seed)
        ratio = (of.logp - of.logp_ref).where(of.mask, 0).sum(1)
        good = torch.arange(len(ratio)) < len(ratio) // 2
        paper = kto(ratio, good, of.elsewhere, beta=0.3, desirable=1.33)
        ours = dpo(of, Options(form="kto", beta=0.3, desirable=1.33))
        for found, meant in (
            (ours.kto_losses, paper.losses),
            (ours.loss, paper.loss),
            (ours.kto_point, paper.reference_point),
        ):
            assert torch.allclose(found, meant, rtol=1e-13, atol=1e-15)
        slopes = [torch.autograd.grad(each.loss, of.logp)[0] for each in (ours, paper)]
        assert torch.allclose(slopes[0], slopes[1], rtol=1e-12, atol=1e-15)


def pair(chosen: float, rejected: float, tokens: int = 1, ref: float = 0.0) -> Batch:
    """One pair, whose responses have so many tokens of one log-prob each."""
    logp = torch.tensor([[chosen] * tokens, [rejected] * tokens], dtype=torch.float64, requires_grad=True)
    there = torch.ones_like(logp) == 1
    two = torch.zeros(2, dtype=torch.float64)
    return Batch(logp, torch.full_like(logp, ref).detach(), there, there, logp.detach(), two, two)


@pytest.mark.parametrize(
    ("form", "loss"),
    [
        ("sigmoid", 700.0), ("robust", 700.0), ("hinge", 701.0), ("slic", 701.0), ("ipo", 700.5**2), ("aot", 700.0),
        ("apo_zero", 2.0), ("apo_down", 1.0), ("sppo", 200.5**2 + 500.5**2), ("nca", 450.0), ("bco", 700.0),
        ("rpo_squared", 700.0**2), ("rpo_backward", 350 - log(2)), ("rpo_forward", log(2)), ("discopop", 700.0),
        ("exo", -log(0.001)),
    ],
)  # fmt: skip
def test_log_ratios_of_hundreds_have_a_loss_and_a_slope(form: str, loss: float) -> None:
    """a = −200, c = 500, h = −700: no form overflows that does not have e^−x of x beyond −709."""
    of = replace(pair(-200.0, -300.0), logp_ref=torch.tensor([[0.0], [-800.0]], dtype=torch.float64))
    found = dpo(of, Options(form=form, beta=1.0))
    assert found.loss.item() == pytest.approx(loss, rel=1e-12)
    assert torch.autograd.grad(found.loss, of.logp)[0].isfinite().all()


def test_forward_kl_is_infinite_where_its_exponential_is() -> None:
    """f-DPO: 1 − e^−x of x = −710. TRL clamps nothing, and neither does the page."""
    found = dpo(pair(-710.0, 0.0), Options(divergence="forward_kl"))
    assert found.margin.item() == -inf
    assert found.loss.item() == inf
    assert dpo(pair(-700.0, 0.0), Options(divergence="js")).margin.item() == pytest.approx(log(2) - 700, rel=1e-12)


def test_certain_responses_have_no_odds() -> None:
    """ORPO at probability 1: of the chosen response the loss is 0 and its slope nan, of the rejected one infinite, of both nan."""
    use = Options(form="orpo", logp="mean", reference=False)
    first = pair(0.0, -1.0)
    found = dpo(first, use)
    assert found.loss.item() == 0
    assert torch.autograd.grad(found.loss, first.logp)[0][0].isnan().all()
    assert dpo(pair(-1.0, 0.0), use).loss.item() == inf
    assert dpo(pair(0.0, 0.0), use).loss.isnan()
    assert plain.dpo(first.logp, first.logp_ref, first.mask, loss="orpo").loss.item() == 0


def test_the_start_is_a_tie() -> None:
    """Policy = reference: log 2, hinge 1, IPO 1/4β², KTO ½, NCA and BCO 2 log 2; a tie is wrong; ∂L/∂log π = ∓β/2B."""
    of = pair(-1.0, -1.0, tokens=3, ref=-1.0)
    meant = {"sigmoid": log(2), "hinge": 1, "ipo": 25, "kto": 0.5, "nca": 2 * log(2), "bco": 2 * log(2), "aot": log(2)}
    for form, loss in meant.items():
        found = dpo(of, Options(form=form))
        assert found.loss.item() == pytest.approx(loss, rel=1e-14), form
        assert found.accuracy.item() == 0
    (slope,) = torch.autograd.grad(dpo(of, Options()).loss, of.logp)
    assert slope.tolist() == [[-0.05] * 3, [0.05] * 3]


def test_an_empty_response_has_the_log_prob_that_a_library_gives_it() -> None:
    """A sum of no token is 0. A mean is 0 in TRL's DPO, which divides by 1 at least, and nan without a reference."""
    of = pair(-1.0, -2.0, tokens=2)
    of = replace(of, mask=torch.tensor([[True, True], [False, False]]))
    assert dpo(of, Options()).logp.tolist() == [-2, 0]
    assert dpo(of, Options(logp="mean")).logp.tolist() == [-1, 0]
    assert dpo(of, Options(logp="mean", reference=False)).logp[1].isnan()
    assert plain.dpo(of.logp, of.logp_ref, of.mask, loss="simpo").loss.isnan()
    assert dpo(of, Options(weight="wpo")).losses.isfinite().all()


def test_halos_mean_is_nan_on_a_first_step() -> None:
    """It counts the tokens on which policy and reference differ: of none there is no mean."""
    of = pair(-1.0, -1.0, tokens=2, ref=-1.0)
    assert dpo(of, Options(form="ipo", logp="mean_nonzero")).loss.isnan()


def test_clamps_hold() -> None:
    """KTO's z is never negative; the weight of TRL 0.24.0 never above 1, that of the paper may be."""
    of = replace(pair(-1.0, -2.0), elsewhere=torch.tensor([-3.0, -5.0], dtype=torch.float64))
    assert dpo(of, Options(form="kto")).kto_point.item() == 0
    sure = replace(of, log_square=torch.full((2, 1), -5.0, dtype=torch.float64))
    weighed, plain_loss = (
        dpo(sure, Options(weight=weight)).losses / dpo(sure, Options()).losses for weight in ("wpo", "wpo_shifted")
    )
    assert weighed.item() == pytest.approx(torch.tensor(7.0).double().exp().item(), rel=1e-12)
    assert plain_loss.item() == 1


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(KeyError, match="dop"):
        dpo(pair(-1.0, -2.0), Options(form="dop"))
    of = pair(-1.0, -2.0)
    with pytest.raises(ValueError, match="dop"):
        plain.dpo(of.logp, of.logp_ref, of.mask, loss="dop")
