"""The pages of the critic-free family: against what libraries computed, against each other, and where numbers are extreme."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest

pytest.importorskip("torch", reason="the pages are plain torch")

import torch
from torch import Tensor

from blueprint.papers import grpo as paper
from blueprint.papers.libraries.critic_free_advantages import Credit, Group, Shaping
from blueprint.papers.libraries.critic_free_losses import (
    Kl,
    Means,
    Objective,
    Ratio,
    Rollout,
    far_apart,
    rollout_weights,
    token_losses,
)
from blueprint.papers.libraries.grpo import Batch, Conventions, CriticFree, entropies, grpo, log_probs
from blueprint.workbooks.grpo.paper import conventions
from tests.workbooks.grpo.recorded import APART, Run, batch, off, recorded_file, runs

RUNS = list(runs())
NEAR = 1e-12
NAMES = [f"{run.library}-{run.variant}" for run in RUNS]
GROUPS = torch.arange(12) // 4
"""The prompt of each response of the recorded batch."""


def recorded(reference: str = "ref", old: str = "old") -> Batch:
    """Returns the batch of all recorded runs, the log-probs of the new policy with a gradient; pads are as the logits have them."""
    known = batch()
    logits, tokens = {name: torch.tensor(each) for name, each in known.logits.items()}, torch.tensor(known.tokens)
    said = {name: log_probs(each, tokens) for name, each in logits.items()}
    return Batch(
        torch.tensor(known.rewards), GROUPS, torch.tensor(known.greedy)[GROUPS], torch.tensor(known.truncated) == 1,
        torch.tensor(known.mask) == 1, said["new"].clone().requires_grad_(), said[old], said[reference], said["rollout"],
        entropies(logits["new"]),
    )  # fmt: skip


def computed(run: Run) -> tuple[Batch, Conventions, CriticFree]:
    given, how = recorded(run.reference, run.old), conventions({"group.of": "prompt", **run.conventions})
    return given, how, grpo(given, how)


@pytest.mark.parametrize("run", RUNS, ids=NAMES)
def test_a_page_gives_what_a_library_computed(run: Run) -> None:
    given, how, found = computed(run)
    seen = _seen(run, given, how, found)
    compared = {
        name: off(each.detach().numpy(), run.out[name], batch().mask) for name, each in seen.items() if name in run.out
    }
    if "grad_logp" in run.out:
        (slope,) = torch.autograd.grad(found.total, given.new)
        compared["grad_logp"] = off(slope.numpy(), run.out["grad_logp"], batch().mask)
    assert compared, "a run without a number that is compared"
    assert max(compared.values()) <= run.tolerance, compared


def _seen(run: Run, given: Batch, how: Conventions, found: CriticFree) -> dict[str, Any]:
    """Returns what was computed by what the record calls it."""
    mask, place, beta = given.mask, how.kl.place, how.kl.coef
    token_loss = found.weighted + (beta * found.kl if place == "loss" else 0)
    if run.library.startswith(("verl", "open_instruct", "oat")):  # before the KL
        token_loss = found.weighted
    elif run.library.startswith("nemo_rl"):  # and before the weight
        token_loss = found.token_losses
    # NeMo-RL logs the log-prob where there is no ratio, verl the geometric mean with GMPO.
    ratio = {"reinforce": {"ratio": given.new}, "gmpo": {}}.get(how.objective.objective, {"ratio": found.ratio})
    paid, last = beta * found.kl_old.where(mask, 0), mask & ~torch.nn.functional.pad(mask, (0, 1))[:, 1:]
    placed = found.compared.advantages if how.credit.credit == "to_go" else found.shaped
    rewards = (found.shaped if run.library.startswith("verl") else placed)[:, None] * last - paid * (place != "loss")
    seen = {
        **ratio, "advantages": found.advantages, "loss": found.total, "per_token_loss": token_loss,
        "per_sequence_loss": found.weighted, "sequence_ratio": found.ratio, "is_weight": found.weights,
        "is_coef": found.weights, "pg_loss": found.policy_loss, "kl_loss": found.kl_loss,
        "kl_term": beta * found.kl_loss * (place == "loss"), "loss_mask": found.counted.double(),
        "token_level_rewards": rewards, "baseline": found.compared.baseline, "baselines": found.compared.baseline,
        "kl_per_sequence": found.kl_old.sum(1), "shaped_rewards": found.shaped,
        "rewards_after_length_penalty": found.shaped, "rewards_after_kl": found.rewards,
    }  # fmt: skip
    # The KL that is paid: in the loss, or in the reward; without any, a library logs what it likes.
    return seen if place == "none" else seen | {"kl_per_token": found.kl if place == "loss" else found.kl_old}


# --- Recorded runs that stand apart


def _out(name: str) -> dict[str, Any]:
    library, variant = name.split()
    return dict(recorded_file("critic_free_runs.json")["runs"][library]["variants"][variant]["out"])


def _asked(**stages: Any) -> CriticFree:
    return grpo(recorded(), Conventions(**stages))


def test_every_recorded_run_is_looked_at() -> None:
    assert (len(RUNS), len(APART)) == (290, 6)


def test_verl_leaves_out_groups_of_equal_rewards() -> None:
    out = _out("verl_0.9.1 dapo_dynamic_sampling")
    found = _asked(group=Group(filter="constant", ddof=0))
    assert sorted(set(GROUPS[found.compared.left].tolist())) == out["kept_groups"]
    assert found.compared.deviation[::4].tolist() == pytest.approx([*out["group_std"].values()], abs=NEAR)


@pytest.mark.parametrize(("one_out", "baseline", "std"), [("True", "others", "others"), ("False", "mean", "moments")])
def test_nemo_rl_leaves_out_responses_without_a_spread(one_out: str, baseline: str, std: str) -> None:
    out = _out(f"nemo_rl_7ea279a dynamic_sampling_leave_one_out_{one_out}")
    found = _asked(group=Group(baseline, std, filter="zero_spread")).compared
    assert found.left.nonzero()[:, 0].tolist() == out["kept_samples"]
    assert found.baseline.tolist() == pytest.approx(out["baseline"], abs=NEAR)
    assert found.deviation.tolist() == pytest.approx(out["std"], abs=NEAR)


def test_nemo_rl_halves_the_reward_of_what_was_cut_off() -> None:
    found = _asked(shaping=Shaping(truncated=0.5))
    assert found.shaped.tolist() == _out("nemo_rl_7ea279a stop_properly_0_5")["shaped_rewards"]


@pytest.mark.parametrize(("how", "key"), [(Group(ddof=0, eps=1e-6), "grpo"), (Group("others", "none"), "rloo")])
def test_rllm_compares_a_response_that_is_alone_with_nothing(how: Group, key: str) -> None:
    found = _asked(of="row", group=how).compared.advantages
    assert found.tolist() == pytest.approx(_out("rllm_9beb6e0 singletons")[f"advantages_{key}"], abs=NEAR)


def test_liger_averages_luspo_with_a_kl_over_pads() -> None:
    """A defect that no convention has: (policy + β·k3)·length over all cells, of what models say of pads, too."""
    out, given = _out("liger_kernel_0.8.5 luspo_kl"), recorded()
    everywhere = replace(given, mask=torch.ones_like(given.mask))
    how = Conventions(
        ratio=Ratio(level="response"), objective=Objective(clip_low=0.002, clip_high=0.0025), kl=Kl("loss", 0.04)
    )
    found = grpo(given, how)
    lengths = given.mask.sum(1, keepdim=True)
    # Its ratio is that of the response, on pads as well.
    level = (found.free.sum(1, keepdim=True) / lengths).expand(12, 6)
    tokens = token_losses(
        found.compared.advantages[:, None], level.exp(), given.new, level, everywhere.mask, how.objective
    )
    tokens = tokens + 0.04 * grpo(everywhere, how).kl
    loss = (tokens * lengths).mean()
    (slope,) = torch.autograd.grad(loss, given.new)
    assert loss.item() == pytest.approx(out["loss"], abs=NEAR)
    assert off(tokens.detach().numpy(), out["per_token_loss"], batch().mask) <= NEAR
    assert off(slope.numpy(), out["grad_logp"], batch().mask) <= NEAR


# --- The page of the papers, and the same with options


def drawn(seed: int) -> Batch:
    """Draws a batch; the responses to a prompt stand anywhere in it."""
    rng = torch.Generator().manual_seed(seed)
    prompts, each, T, V = (
        int(torch.randint(low, high, (), generator=rng)) for low, high in ((1, 5), (2, 6), (1, 8), (2, 6))
    )
    B = prompts * each
    tokens = torch.randint(V, (B, T), generator=rng)
    z = torch.randn(B, T, V, generator=rng, dtype=torch.float64)
    near = [z + 0.3 * torch.randn(z.shape, generator=rng, dtype=torch.float64) for _ in range(3)]
    new, old, ref, rollout = (log_probs(each, tokens) for each in (z, *near))
    lengths = torch.randint(1, T + 1, (B,), generator=rng)
    group = (torch.arange(B) % prompts)[torch.randperm(B, generator=rng)]
    rewards = torch.randint(-1, 3, (B,), generator=rng) / torch.tensor(2.0, dtype=torch.float64)
    return Batch(
        rewards, group, rewards.new_zeros(B), lengths == T, torch.arange(T) < lengths[:, None], new.requires_grad_(), old, ref,
        rollout, entropies(z),
    )  # fmt: skip


def same(one: Tensor, other: Tensor) -> bool:
    return bool(torch.allclose(one, other, rtol=1e-12, atol=1e-12, equal_nan=True))


AVERAGES: list[tuple[str | int, Means]] = [
    ("response", Means("seq_mean_token_mean")), ("token", Means("token_mean")), (7, Means("seq_mean_token_sum", constant=7)),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(200))
def test_with_options_it_is_the_plain_page(seed: int) -> None:
    given = drawn(seed)
    average, means = AVERAGES[seed % 3]
    scale, high, beta = bool(seed % 2), (0.2, 0.28)[seed % 4 // 2], (0.0, 0.04)[seed % 8 // 4]
    plain = paper.grpo(
        given.new, given.old, given.ref, given.scores, given.group, given.mask, average=average, scale=scale, clip_high=high,
        kl_coef=beta,
    )  # fmt: skip
    found = grpo(
        given,
        Conventions(
            group=Group(std="group" if scale else "none"),
            objective=Objective(clip_high=high),
            kl=Kl("loss", beta),
            means=means,
        ),
    )
    assert same(plain.advantages, found.compared.advantages)
    for one, other in ((plain.ratio, found.ratio), (plain.kl, found.kl), (plain.token_losses, found.token_losses)):
        assert same(one[given.mask], other[given.mask])
    for one, other in (
        (plain.policy_loss, found.policy_loss),
        (plain.kl_loss, found.kl_loss),
        (plain.total, found.total),
    ):
        assert same(one, other)
    slopes = [torch.autograd.grad(each, given.new)[0] for each in (plain.total, found.total)]
    assert same(slopes[0], slopes[1])


@pytest.mark.parametrize("seed", range(200))
def test_with_options_it_is_rloo_and_what_dapo_adds(seed: int) -> None:
    given = drawn(seed)
    plain = paper.rloo(given.new, given.ref, given.scores, given.group, given.mask)
    first = replace(given, old=given.new.detach())
    found = grpo(
        first,
        Conventions(
            kl=Kl("reward", 0.05, "k1"), group=Group("others", "none"), objective=Objective("reinforce"),
            means=Means("seq_mean_token_sum"),
        ),
    )  # fmt: skip
    assert same(plain.rewards, found.rewards)
    assert same(plain.advantages, found.compared.advantages)
    assert same(plain.total, found.total)
    slopes = [torch.autograd.grad(each, given.new)[0] for each in (plain.total, found.total)]
    assert same(slopes[0], slopes[1])
    dapo = grpo(given, Conventions(shaping=Shaping("linear", 7, 3), group=Group(filter="constant")))
    assert same(paper.overlong(given.scores, given.mask.sum(1), 7, 3), dapo.shaped)
    left = paper.differ(dapo.shaped, given.group)
    assert left.tolist() == dapo.compared.left.tolist()
    if left.any():
        rest = paper.grpo(
            given.new[left], given.old[left], given.ref[left], dapo.shaped[left], given.group[left], given.mask[left],
            average="token",
        )  # fmt: skip
        assert same(rest.total, dapo.total)


# --- Extreme numbers: nan, ∞ and 0 where a library has them


def small(
    rewards: list[float], new: list[list[float]], old: list[list[float]] | None = None, ref: list[list[float]] | None = None,
    lengths: list[int] | None = None, group: list[int] | None = None,
) -> Batch:  # fmt: skip
    """Makes a batch of log-probs; without others the policy's own stand for the old one, the reference and the engine."""
    x = torch.tensor(new, dtype=torch.float64)
    r = torch.tensor(rewards, dtype=torch.float64)
    below, reference = (x if each is None else torch.tensor(each, dtype=torch.float64) for each in (old, ref))
    n = torch.tensor(lengths or [x.shape[1]] * len(x))
    return Batch(
        r, torch.tensor(group or [0] * len(r)), torch.zeros_like(r), n < 0, torch.arange(x.shape[1]) < n[:, None],
        x.clone().requires_grad_(), below, reference, below, torch.zeros_like(x),
    )  # fmt: skip


def slope(found: CriticFree, given: Batch) -> Tensor:
    return torch.autograd.grad(found.total, given.new)[0]


PLAIN = Group(std="none")
ROWS = Means("seq_mean_token_mean")


def test_a_log_ratio_of_700_is_still_a_number() -> None:
    given = small([1, 0], [[0.0], [0.0]], [[-700.0], [-700.0]])
    found = grpo(given, Conventions(group=PLAIN))
    assert found.token_losses.flatten().tolist() == pytest.approx(
        [-0.6, 0.5 * torch.tensor(700.0).double().exp().item()]
    )
    good, bad = slope(found, given).flatten().tolist()
    assert good == 0
    assert bad == pytest.approx(0.25 * torch.tensor(700.0).double().exp().item())


def test_beyond_709_the_loss_of_a_good_token_is_clipped_and_its_gradient_is_none() -> None:
    """0·∞: torch takes the gradient of the branch that is not chosen, too. verl and SkyRL hold the log-ratio at 20 before."""
    given = small([1, 0], [[0.0], [0.0]], [[-710.0], [0.0]])
    found = grpo(given, Conventions(group=PLAIN))
    assert found.total.item() == pytest.approx(-0.05)
    assert slope(found, given)[0].isnan().all()
    held = grpo(given, Conventions(group=PLAIN, ratio=Ratio(clamp=20)))
    assert held.total.item() == pytest.approx(-0.05)
    assert slope(held, given).flatten().tolist() == pytest.approx([0, 0.25])


def test_what_bounds_a_bad_token() -> None:
    given = small([1, 0], [[0.0], [0.0]], [[0.0], [-700.0]])
    dual = grpo(given, Conventions(group=PLAIN, objective=Objective(dual_clip=3)))
    assert dual.token_losses[1].item() == 1.5
    delta = grpo(given, Conventions(group=PLAIN, objective=Objective(delta=4)))
    assert delta.token_losses[1].item() == 2
    for found in (dual, delta):
        assert slope(found, given)[1].item() == 0


def test_a_product_over_a_response_overflows_where_a_mean_does_not() -> None:
    given = small([1, 0], [[0.0] * 4] * 2, [[-200.0] * 4] * 2)
    ratios = [
        grpo(given, Conventions(ratio=Ratio(level=level))).ratio[0, 0].item() for level in ("product", "response")
    ]
    assert ratios == [inf, pytest.approx(torch.tensor(200.0).double().exp().item())]


@pytest.mark.parametrize("eps", [1e-4, 1e-6, 1e-9])
def test_equal_rewards_teach_nothing(eps: float) -> None:
    given = small([0.1, 0.1, 0.1], [[-1.0]] * 3)
    found = grpo(given, Conventions(group=Group(eps=eps)))
    assert found.compared.advantages.tolist() == pytest.approx([0] * 3, abs=1e-6)
    assert slope(found, given).flatten().tolist() == pytest.approx([0] * 3, abs=1e-6)


def test_equal_rewards_without_an_epsilon_have_no_number() -> None:
    """0/0. NeMo-RL does not divide where the deviation is 0."""
    given = small([1, 1], [[-1.0]] * 2)
    assert grpo(given, Conventions(group=Group(eps=0))).total.isnan()
    assert grpo(given, Conventions(group=Group(eps=0, zero_std="skip"))).total.item() == 0
    nemo = small([1, 0, 0, 0], [[-1.0]] * 4)
    found = grpo(nemo, Conventions(group=Group("others", "others", eps=1e-6, zero_std="skip"))).compared
    assert found.advantages[0].item() == 1


@pytest.mark.filterwarnings("ignore:std")
def test_one_response_is_compared_with_nothing() -> None:
    """verl: the mean is 0 and the deviation 1. torch.std alone, as on the page of the papers, has no number for it."""
    given = small([0.5], [[-1.0]])
    assert grpo(given, Conventions()).compared.advantages.item() == pytest.approx(0.5 / 1.0001)
    plain = paper.grpo(given.new, given.old, given.ref, given.scores, given.group, given.mask)
    assert plain.total.isnan()


def test_one_response_is_compared_with_the_greedy_one_and_with_the_batch() -> None:
    """ReMax writes one response to a prompt, and verl's compute_remax_outcome_advantage does not ask how many there are."""
    given = replace(small([1, 0.5], [[-1.0]] * 2, group=[0, 1]), greedy=torch.tensor([0.25, 0.5], dtype=torch.float64))
    greedy, batch_mean = (grpo(given, Conventions(group=Group(of, "none"))).compared for of in ("greedy", "batch"))
    assert greedy.advantages.tolist() == [0.75, 0]
    assert batch_mean.advantages.tolist() == [0.25, -0.25]


def test_one_token_cannot_be_whitened_by_n_less_1() -> None:
    """verl's masked_whiten: 0/0; OpenRLHF, by n: 0."""
    given = small([0.5], [[-1.0]])
    verl = Conventions(group=Group("none", "none"), credit=Credit(whiten="tokens"))
    assert grpo(given, verl).advantages.isnan().all()
    openrlhf = Credit(whiten="tokens", whiten_form="at_least", whiten_ddof=0)
    assert grpo(given, replace(verl, credit=openrlhf)).advantages.item() == 0


def test_a_response_without_tokens_counts_as_one_of_loss_0() -> None:
    """On the page of the papers it has no mean."""
    given = small([1, 0], [[-1.0, -1.0]] * 2, lengths=[2, 0])
    found = grpo(given, Conventions(group=PLAIN, means=ROWS))
    assert found.total.item() == -0.25
    assert slope(found, given).isfinite().all()
    plain = paper.grpo(given.new, given.old, given.ref, given.scores, given.group, given.mask)
    assert plain.total.isnan()


def test_without_any_token_a_mean_has_no_number_unless_it_divides_by_1_at_least() -> None:
    given = small([1, 0], [[-1.0]] * 2, lengths=[0, 0])
    assert grpo(given, Conventions(means=Means(at_least=0))).total.isnan()
    assert grpo(given, Conventions()).total.item() == 0


def test_a_kl_that_overflows_is_held_and_has_no_gradient_then() -> None:
    given = small([1, 0], [[-800.0], [-1.0]], ref=[[0.0], [-1.0]])
    assert grpo(given, Conventions(kl=Kl("loss", 1.0))).kl_loss.item() == inf
    for weight in ("none", "own"):
        nemo = Conventions(group=PLAIN, ratio=Ratio(old="new"), kl=Kl("loss", 1.0, "k3", 20, 10, weight))
        found = grpo(given, nemo)
        assert found.kl.flatten().tolist() == [10, 0]
        assert slope(found, given).flatten().tolist() == [-0.25, 0.25]  # the policy's alone


def test_a_token_that_is_certain() -> None:
    """Its log-prob and its entropy are 0; two engines that are certain agree, and where the trainer alone is, it is ∞ apart."""
    z = torch.tensor([[[1000.0, 0.0], [0.0, 1000.0]]], dtype=torch.float64)
    said = log_probs(z, torch.tensor([[0, 0]]))
    assert said.tolist() == [[0, -1000]]
    assert entropies(z).tolist() == [[0, 0]]
    how = Rollout("token", "filter", 0, 1, "binary_kl")
    certain, likely = torch.zeros(1, 2, dtype=torch.float64), torch.tensor([[0.0, -0.5]], dtype=torch.float64)
    mask = torch.ones(1, 2, dtype=torch.bool)
    assert far_apart(certain, likely, mask, how).tolist() == [[0, inf]]
    assert rollout_weights(certain, likely, mask, how).tolist() == [[1, 0]]


def test_a_weight_beyond_its_bounds_is_cut_or_does_not_count() -> None:
    learner, rollout = torch.zeros(1, 2, dtype=torch.float64), torch.tensor([[-700.0, 0.0]], dtype=torch.float64)
    mask = torch.ones(1, 2, dtype=torch.bool)
    modes = {
        mode: rollout_weights(learner, rollout, mask, Rollout("token", mode, high=2)).tolist()
        for mode in ("truncate", "mask")
    }
    assert modes == {"truncate": [[2, 1]], "mask": [[0, 1]]}
    product = Rollout("product", "mask", high=3, clamp=20)
    assert rollout_weights(learner, rollout, mask, product).tolist() == [[0, 0]]
