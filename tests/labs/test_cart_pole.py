"""What a run on cart-pole computes: its loss is the page's, its ends are gymnasium's, its digits are the seed's."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

pytest.importorskip("torch", reason="labs compute with torch: install the extra [torch]")
pytest.importorskip("gymnasium", reason="cart-pole is an environment of gymnasium: install the extra [lab]")

import torch

from blueprint.labs import cart_pole
from blueprint.labs.agent_and_rollout import Environments, Rollout, agent_of, minibatches, play
from blueprint.labs.cart_pole import Run, Trainer, moment, trained
from blueprint.labs.settings import LabError, settings
from blueprint.papers import reinforce
from blueprint.papers.classic_ppo import classic_ppo

EQUAL = 1e-12
"""What two ways to the same gradient may differ by: some hundred roundings of numbers near 1."""
METHODS = ("ppo", "a2c", "reinforce")


def test_the_example_of_the_module_is_true() -> None:
    found = doctest.testmod(cart_pole)
    assert (found.attempted, found.failed) == (3, 0)


def first(method: str, **changed: object) -> tuple[Trainer, Rollout]:
    """Returns a trainer, and the rollout of an iteration that it has not learned of."""
    trainer = Trainer(settings(method, seed=3, changed=changed))
    return trainer, play(trainer.agent, trainer.environments, trainer.generator)[0]


def slopes(trainer: Trainer, loss: torch.Tensor) -> np.ndarray:
    """Returns a gradient by all weights as one array."""
    return np.concatenate([each.flatten().numpy() for each in trainer.gradient(loss)])


@pytest.fixture(scope="module")
def run() -> Run:
    """A run of the small recipe."""
    return trained(settings("ppo", steps=1_920, recipe="by-hand"))


def test_a2c_is_ppo_with_one_epoch_one_minibatch_and_no_clip() -> None:
    ppo, a2c = settings("ppo"), settings("a2c")
    told = {key for key, value in ppo.model_dump().items() if getattr(a2c, key) != value}
    assert told == {"method", "epochs", "minibatch", "clip_range", "rollout_steps", "lr"}
    assert (a2c.epochs, a2c.minibatch, a2c.clip_range) == (1, "all", "off")


@pytest.mark.parametrize("clip", [0.2, float("inf")])
@pytest.mark.parametrize("ent_coef", [0.0, 0.01])
def test_the_gradient_of_the_first_step_is_that_of_advantage_times_log_prob(clip: float, ent_coef: float) -> None:
    """Mnih et al. 2016: ∇ −Â·log π, the critic's square and the entropy; by the page's ratio it is the same."""
    trainer, rollout = first("ppo", ent_coef=ent_coef)
    (batch,) = minibatches(rollout, trainer.use, trainer.generator)
    by_ratio = slopes(trainer, trainer.loss(batch, clip).total)
    log_p = trainer.agent.logits(batch.observations).log_softmax(-1)
    taken = log_p[torch.arange(len(batch.actions)), batch.actions]
    advantages = batch.returns - batch.values
    whitened = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    errors = trainer.agent.values(batch.observations) - batch.returns
    entropy = -(log_p.exp() * log_p).sum(-1).mean()
    a2c = -(whitened * taken).mean() + trainer.use.vf_coef * (errors**2).mean() / 2 - ent_coef * entropy
    by_log_prob = slopes(trainer, a2c)
    assert np.abs(by_ratio).max() > 0.1
    np.testing.assert_allclose(by_ratio, by_log_prob, rtol=0, atol=EQUAL)


def test_a_second_step_is_not_a2cs() -> None:
    of = moment(settings("ppo"), 0, 5)
    assert float((of.found.ratio - 1).abs().max()) > 1e-3


def test_reinforce_is_the_score_function_of_its_page() -> None:
    """Williams 1992: (G − b)·∇ log π of every step; the batch's mean is the baseline, and σ its scale."""
    trainer, rollout = first("reinforce")
    (batch,) = minibatches(rollout, trainer.use, trainer.generator)
    by_loss = slopes(trainer, trainer.loss(batch, float("inf")).total)
    logits = trainer.agent.logits(batch.observations)
    score = reinforce.scores(logits.detach())[torch.arange(len(logits)), batch.actions]
    weight = (batch.returns - batch.returns.mean()) / (batch.returns.std() + 1e-8)
    upstream = -(weight[:, None] * score) / len(logits)
    weights = trainer.agent.weights
    found = torch.autograd.grad(logits, weights, upstream, allow_unused=True, materialize_grads=True)
    by_score = np.concatenate([each.flatten().numpy() for each in found])
    assert np.abs(by_score).max() > 1e-3
    np.testing.assert_allclose(by_loss, by_score, rtol=0, atol=EQUAL)


def test_reinforce_plays_whole_episodes_and_its_returns_are_discounted_sums() -> None:
    trainer, rollout = first("reinforce", gamma=0.9)
    lengths = rollout.counts.sum(1)
    assert rollout.done[torch.arange(8), lengths - 1].all()
    assert trainer.steps == int(lengths.sum())
    for row, length in zip(rollout.returns, lengths.tolist(), strict=True):
        expected = [(1 - 0.9 ** (length - t)) / 0.1 for t in range(length)]
        np.testing.assert_allclose(row[:length].numpy(), expected, rtol=1e-12)


def test_one_step_episodes_have_the_loss_of_the_whole_rollout() -> None:
    """A minibatch is M episodes of one step whose reward is the return; the page on the rollout itself says the same."""
    trainer, rollout = first("ppo", ent_coef=0.01)
    (batch,) = minibatches(rollout, trainer.use, trainer.generator)
    use, new = trainer.use, trainer.agent.says(rollout.observations, rollout.actions)
    whole = classic_ppo(
        rewards=rollout.rewards, done=rollout.done, logp_old=rollout.logp, logp_new=new.logp, values_old=rollout.values,
        values_new=trainer.agent.values(rollout.observations), entropy=new.entropy, gamma=use.gamma, lam=use.gae_lambda,
        clip=0.2, value_clip=float("inf"), value_coef=use.vf_coef, entropy_coef=use.ent_coef,
    )  # fmt: skip
    cut = trainer.loss(batch, 0.2)
    np.testing.assert_allclose(cut.advantages.detach().flatten(), whole.advantages.detach().flatten(), atol=EQUAL)
    assert abs(float((cut.total - whole.total).detach())) < EQUAL


def test_every_step_of_a_rollout_is_in_one_minibatch_of_an_epoch() -> None:
    trainer, rollout = first("ppo", minibatch=60)
    batches = minibatches(rollout, trainer.use, trainer.generator)
    assert [len(batch.actions) for batch in batches] == [60, 60, 60, 60, 16]
    seen = torch.cat([batch.returns for batch in batches]).sort().values
    np.testing.assert_array_equal(seen, rollout.returns.flatten().sort().values)
    again = minibatches(rollout, trainer.use, trainer.generator)
    assert not torch.equal(batches[0].returns, again[0].returns)


def test_a_time_limit_is_no_end() -> None:
    """γ·V of what would have come is in the reward of the cut step, and in no other one; a pole that fell has reward 1."""
    use = settings("ppo", changed={"time_limit": 12, "rollout_steps": 40})
    environments, generator = Environments(use), torch.Generator().manual_seed(1)
    agent = agent_of(use, 4, 2, generator)
    rollout, ended = play(agent, environments, generator)
    cut = rollout.done & ~rollout.terminated
    assert cut.any()
    assert rollout.terminated.any()
    np.testing.assert_array_equal(rollout.rewards[~cut], 1.0)
    assert {each.length for each in ended} >= {12}
    assert max(each.length for each in ended) == 12
    n, t = (int(each[0]) for each in cut.nonzero(as_tuple=True))
    after = _stepped(rollout.observations[n, t].numpy(), int(rollout.actions[n, t]))
    expected = 1 + use.gamma * float(agent.values(torch.tensor(after)[None]).detach()[0])
    assert float(rollout.rewards[n, t]) == pytest.approx(expected, abs=1e-6)  # gymnasium's observations are float32
    assert float(rollout.advantages[n, t]) == pytest.approx(expected - float(rollout.values[n, t]), abs=1e-6)


def _stepped(state: np.ndarray, action: int) -> np.ndarray:
    """Returns the state after a step: Barto, Sutton & Anderson 1983, by Euler's method as gymnasium has it."""
    x, v, angle, turn = state
    force, length, pole, total, tau = (10.0 if action else -10.0), 0.5, 0.1, 1.1, 0.02
    sin, cos = np.sin(angle), np.cos(angle)
    push = (force + pole * length * turn**2 * sin) / total
    bend = (9.8 * sin - cos * push) / (length * (4 / 3 - pole * cos**2 / total))
    run = push - pole * length * bend * cos / total
    return np.array([x + tau * v, v + tau * run, angle + tau * turn, turn + tau * bend])


def test_the_environment_is_the_one_that_was_computed_by_hand() -> None:
    from blueprint.labs.agent_and_rollout import opened

    vector = opened(1, 500)
    vector.reset(seed=0)
    vector.envs[0].unwrapped.state = np.array([0, 0, 0.05, 0])
    seen = [vector.step(np.array([1]))[0][0] for _ in range(3)]
    expected = [
        (0, 0.194371, 0.05, -0.276498),
        (0.003887, 0.388745, 0.04447, -0.553001),
        (0.011662, 0.583215, 0.03341, -0.831348),
    ]
    np.testing.assert_allclose(seen, expected, atol=5e-7)
    np.testing.assert_allclose(_stepped(np.array([0, 0, 0.05, 0]), 1), expected[0], atol=5e-7)


def test_a_run_learns() -> None:
    """REINFORCE is the quickest to do so in a test: three times the length within 8,000 steps (PPO's own runs are in docs)."""
    found = trained(settings("reinforce", steps=8_000))
    lengths = found.episodes()["length"]
    assert lengths.tail(20).mean() > 3 * lengths.head(20).mean()
    assert found.evaluate(20).mean() > 3 * lengths.head(20).mean()


def test_a_run_says_what_came_of_it(run: Run) -> None:
    assert f"{len(run.ended):,} episodes ended" in repr(run)
    frame = run.frame()
    assert frame["steps"].tolist() == [*range(64, 1_921, 64)]
    assert frame["a2c_gap"].max() < EQUAL
    assert frame["entropy"].between(0, np.log(2) + EQUAL).all()
    assert (frame["kl"] >= 0).all()


def test_a_length_is_never_that_of_no_episode(run: Run) -> None:
    """Where none ended in an iteration, a mean over its episodes alone would print 0 of an agent that never falls."""
    frame = run.frame()
    assert (frame["ended"] == 0).any()
    assert frame["length"].min() > 5


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_digits(method: str) -> None:
    one, other, third = (trained(settings(method, seed=seed, steps=600)).frame() for seed in (1, 1, 2))
    assert one.equals(other)
    assert not one.equals(third)


def test_a_shared_trunk_has_its_weights_once() -> None:
    apart, shared = (Trainer(settings("ppo", changed={"shared_trunk": of})).agent for of in (False, True))
    counts = [sum(each.numel() for each in agent.weights) for agent in (apart, shared)]
    assert counts == [4 * 64 + 64 + 64 * 64 + 64 + 64 * 2 + 2 + 4 * 64 + 64 + 64 * 64 + 64 + 64 + 1, 4675]


def test_orthogonal_layers_begin_as_they_should() -> None:
    agent = agent_of(settings("ppo"), 4, 2, torch.Generator().manual_seed(0))
    _, _, hidden, bias, head, *_ = agent.weights
    np.testing.assert_allclose((hidden @ hidden.T).detach(), 2 * np.eye(64), atol=EQUAL)
    np.testing.assert_allclose((head @ head.T).detach(), 1e-4 * np.eye(2), atol=EQUAL)
    assert not bias.any()


def test_what_is_no_number_ends_a_run_with_its_place() -> None:
    with pytest.raises(
        LabError, match=r"^iteration \d+, after [\d,]+ steps: .* is no number any more, so the run ends there; make lr"
    ):
        trained(settings("ppo", steps=25_600, changed={"lr": 1e155, "max_norm": 1e155, "epochs": 4}))
