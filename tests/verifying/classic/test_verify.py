"""`blueprint verify` of rollouts of classic PPO: libraries' recorded runs, clean updates, and mistakes planted in updates."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="verify needs torch")

from blueprint.cli import main
from blueprint.verifying import Verdict, choose, text_of, verify_one
from blueprint.verifying.compare import AGREES, DIFFERS, TOO_COARSE
from blueprint.workbooks.classic_ppo.verifying.verify import verify
from tests.verifying.classic.rollouts import golden, read_rollout, written
from tests.verifying.classic.trainers import Run, trained

LIBRARIES = ("cleanrl", "sb3")


def verdict_on(path: Path) -> Verdict:
    """Verifies a file."""
    rollout = read_rollout(path)
    chosen = choose(rollout)
    return verify(rollout, chosen.values, chosen.preset.name)


def verified(run: Run, folder: Path) -> Verdict:
    """Writes what a run's hook writes, and verifies it."""
    return verdict_on(written(folder, *trained(run)))


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_the_libraries_computed_agrees_in_float64(library: str, tmp_path: Path) -> None:
    verdict = verdict_on(written(tmp_path, *golden(library)))
    assert {line.says for line in verdict.lines} == {AGREES}
    assert len(verdict.lines) == {"cleanrl": 11, "sb3": 10}[library]
    assert max(line.compared.largest for line in verdict.lines) < 1e-12
    assert dict(verdict.uncompared) == {}


@pytest.mark.parametrize("library", LIBRARIES)
def test_clean_updates_are_not_accused(library: str, tmp_path: Path) -> None:
    runs = [Run(library, seed=seed, first=seed % 4 == 3, steps=8 + 8 * (seed % 5)) for seed in range(24)]
    for run in runs:
        verdict = verified(run, tmp_path)
        assert verdict.agrees, (run, text_of(verdict))
        coarse = {line.compared.name for line in verdict.lines if line.says == TOO_COARSE}
        assert coarse <= ({"approx_kl.k1", "approx_kl.k3", "policy_loss"} if run.first else {"approx_kl.k1"}), run


BUGS = {
    "γ 1": ("advantages", "ppo.gamma = 1"),
    "λ 1": ("advantages", "ppo.gae_lambda = 1"),
    "λ 0.97": ("advantages", "ppo.gae_lambda = 0.97"),
    "γ missing in δ": ("advantages", "γ is forgotten: δ = r + γ·V_{t+1} − V_t (td_errors)"),
    "γ missing in the sum": ("advantages", "γ is forgotten: A_t = δ_t + γ·λ·A_{t+1} (advantages)"),
    "λ missing in the sum": ("advantages", "ppo.gae_lambda = 1 instead of"),
    "done late": ("advantages", "done one step late"),
    "no done": ("advantages", "ends of episodes not looked at"),
    "next_done forgotten": ("advantages", "the end of the last step not looked at"),
    "no bootstrap": ("advantages", "no value behind the last step"),
    "no done in δ": ("advantages", "it looks past the end: where an episode is over, no value follows (td_errors)"),
    "no done in the sum": (
        "advantages",
        "the advantage reaches back over the end of an episode: (1 − done) stops it (advantages)",
    ),
    "V(t) for V(t+1)": ("advantages", "V_t stands where V_{t+1} should"),
    "rewards late": ("advantages", "the rewards one step late"),
    "not normalised": ("advantages_used", "ppo.whiten_advantages = off"),
    "normalised over the rollout": ("advantages_used", "normalised over the whole rollout and not"),
    "variance by N": ("advantages_used", "it is divided by n: here the variance is that of a sample, by n − 1"),
    "mean kept": ("advantages_used", "the mean is not subtracted: whitening is of A − μ"),
    "flattened the other way": ("advantages_used", "the rollout flattened the other way"),
    "advantages late": ("advantages_used", "the advantages that the minibatch reads one step late"),
    "advantages transposed": ("advantages_used", "the advantages flattened the other way than the rest"),
    "returns late": ("value_loss", "the returns that the minibatch reads one step late"),
    "advantages as targets": (
        "value_loss",
        "advantage stands where the return should|advantages read in the place of returns",
    ),
    "value min": (
        "value_loss",
        "the smaller of the two value losses|min stands where max should: of both squares the larger counts",
    ),
    "ratio inverted": ("policy_loss", "the ratio is upside down"),
    "ε 0.3": ("policy_loss", "ppo.clip_range = 0.3"),
    "min for max": ("policy_loss", "max stands where min should: the worse outcome counts"),
    "no clip": ("policy_loss", "the unclipped surrogate is averaged"),
    "values not clipped": ("value_loss", "ppo.value_clip_range = off"),
    "value max": ("value_loss", "ppo.value_combine = max"),
    "value clipped alone": ("value_loss", "ppo.value_combine = clipped_only"),
    "½ other": ("value_loss", "ppo.value_factor = "),
    "c1 1": ("total_loss", "ppo.vf_coef = 1"),
    "c2 5×": ("total_loss", "ppo.ent_coef = 0.0"),
    "entropy sign": ("total_loss", "the entropy is added"),
    "k1 for k3": ("approx_kl.k3", "k1, the mean"),
    "k2 for k3": ("approx_kl.k3", "k2, half the mean square"),
}
NONE_OF_ITS_OWN = {("cleanrl", "value max"), ("sb3", "value clipped alone")}
"""Mistakes that are what the library does."""


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_mistake_is_found_where_it_is_and_named_first(library: str, bug: str, tmp_path: Path) -> None:
    verdict = verified(Run(library, bug, seed=5), tmp_path)
    if (library, bug) in NONE_OF_ITS_OWN:
        assert verdict.agrees
        return
    name, said = BUGS[bug]
    assert verdict.first is not None
    assert (verdict.first.compared.name, verdict.first.says) == (name, DIFFERS)
    assert verdict.causes, text_of(verdict)
    assert any(each in verdict.causes[0].said for each in said.split("|")), text_of(verdict)
    assert verdict.causes[0].still == ()


@pytest.mark.parametrize("library", LIBRARIES)
def test_log_probs_of_other_steps_are_seen_before_the_first_update_only(library: str, tmp_path: Path) -> None:
    run = Run(library, "log-probs of the wrong steps", first=True)
    first = verified(run, tmp_path).first
    assert first is not None
    assert first.called == "new log-probs against old"
    tensors, metadata = trained(run)
    later = verdict_on(written(tmp_path, tensors, metadata | {"optimizer_step": "1"}))
    assert later.agrees
    assert not any("how many updates" in note for note in later.notes)
    unsaid = {key: each for key, each in metadata.items() if key != "optimizer_step"}
    assert any(
        "how many updates came before it" in note for note in verdict_on(written(tmp_path, tensors, unsaid)).notes
    )


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_a_difference_of_a_hundredth_in_any_number_is_found_or_too_coarse_to_tell(share: float, tmp_path: Path) -> None:
    tensors, metadata = trained(Run("cleanrl", seed=2))
    for name, value in metadata["logged"].items():
        moved = metadata | {"logged": metadata["logged"] | {name: value * (1 + share) + share * (value == 0)}}
        lines = {line.called: line.says for line in verdict_on(written(tmp_path, tensors, moved)).lines}
        assert lines[name] in (DIFFERS, TOO_COARSE), (name, lines[name])


def test_one_damaged_advantage_is_placed_by_environment_and_step(tmp_path: Path) -> None:
    tensors, metadata = trained(Run("sb3"))
    tensors["advantages"][7, 2] += 0.5
    verdict = verdict_on(written(tmp_path, tensors, metadata))
    assert verdict.first is not None
    spot = verdict.first.compared.spot
    assert spot is not None
    assert (spot.row, spot.first, spot.last) == (2, 7, 7)
    assert "First deviation: advantages, environment 2, step 7: logged" in text_of(verdict)
    assert "In that environment 1 of its steps deviates, in all 1 of 96" in text_of(verdict)


def test_time_limits_add_gamma_times_the_value_of_the_last_state_to_the_reward(tmp_path: Path) -> None:
    tensors, metadata = trained(Run("sb3"))
    terminal = np.zeros_like(tensors["rewards"])
    terminal[3, 1], terminal[9, 0] = 2.5, -1.25
    env = (tensors["rewards"] - np.float32(0.98) * terminal).astype(np.float32)
    whole = tensors | {"rewards_env": env, "terminal_values": terminal}
    assert verdict_on(written(tmp_path, whole, metadata)).agrees
    undiscounted = whole | {"rewards_env": (tensors["rewards"] - terminal).astype(np.float32)}
    verdict = verdict_on(written(tmp_path, undiscounted, metadata))
    assert verdict.first is not None
    assert verdict.first.compared.name == "rewards"
    assert "at a time limit with γ·V(terminal)): gamma is left out" in verdict.causes[0].said


def test_the_command_says_it_all_and_ends_with_the_code(tmp_path: Path) -> None:
    path = written(tmp_path, *trained(Run("sb3", "variance by N")))
    result = CliRunner().invoke(main, ["verify", str(path)])
    assert result.exit_code == 1
    assert "A rollout of classic PPO: 3 environments, 32 steps each, a minibatch of 24." in result.stdout
    assert "ppo.gamma = 0.98 (the file says so; sb3: 0.99)" in result.stdout
    assert "First deviation: mb_advantages, row of the minibatch 0: logged" in result.stdout
    assert "then everything else agrees, too." in result.stdout
    found = json.loads(CliRunner().invoke(main, ["verify", str(path), "--json"]).stdout)
    assert (found["agrees"], found["first"]["quantity"], found["environments"]) == (False, "advantages_used", 3)
    assert found["causes"][0]["rest_agrees"] is True
    again = CliRunner().invoke(main, ["verify", str(written(tmp_path, *trained(Run("sb3"))))])
    assert again.exit_code == 0
    assert "All 10 logged quantities agree." in again.stdout


def test_settings_asked_for_go_over_those_of_the_file(tmp_path: Path) -> None:
    path = str(written(tmp_path, *trained(Run("cleanrl"))))
    result = CliRunner().invoke(main, ["verify", path, "--set", "ppo.gae_lambda=0.9"])
    assert result.exit_code == 1
    assert "ppo.gae_lambda = 0.9 (as asked; cleanrl: 0.95)" in result.stdout
    for wrong, said in (
        ("ppo.lam=1", "--set ppo.lam: unknown"),
        ("ppo.gamma=2", "--set ppo.gamma: found 2, expected 0 to 1"),
        ("ppo.value_norm=l3", "--set ppo.value_norm: found l3, expected one of l2, smooth_l1"),
        ("gamma", "expected a key, an equals sign and a value"),
    ):
        refused = CliRunner().invoke(main, ["verify", path, "--set", wrong])
        assert refused.exit_code == 2
        assert said in refused.stderr
    refused = CliRunner().invoke(main, ["verify", path, "--preset", "verl"])
    assert refused.exit_code == 2


def test_a_rollout_without_losses_shows_what_they_come_to(tmp_path: Path) -> None:
    tensors, metadata = trained(Run("cleanrl"))
    kept = {name: each for name, each in tensors.items() if name not in ("advantages", "returns", "mb_advantages")}
    verdict = verdict_on(written(tmp_path, kept, metadata | {"logged": {}}))
    assert verdict.agrees
    assert "policy_loss, recomputed: " in text_of(verdict)


def test_what_cannot_be_computed_is_said(tmp_path: Path) -> None:
    tensors, metadata = trained(Run("cleanrl"))
    kept = {name: each for name, each in tensors.items() if name not in ("newlogprob", "entropy")}
    verdict = verdict_on(written(tmp_path, kept, metadata))
    assert verdict.uncompared["pg_loss"] == "logprobs_new"
    assert verdict.uncompared["loss"] == "policy_loss and entropy"
    assert verdict.agrees


def test_a_minibatch_of_the_whole_rollout_needs_no_rows(tmp_path: Path) -> None:
    tensors, metadata = trained(Run("cleanrl", minibatch=96))
    order = np.argsort(tensors["rows"])
    wide = {
        name: tensors[name][order].reshape(32, 3) for name in ("newlogprob", "newvalue", "entropy", "mb_advantages")
    }
    without = {name: each for name, each in tensors.items() if name != "rows"} | wide
    verdict = verdict_on(written(tmp_path, without, metadata))
    assert verdict.agrees, text_of(verdict)
    assert verdict.replayed.batch.whole


def test_tolerance_is_multiplied(tmp_path: Path) -> None:
    rollout = read_rollout(written(tmp_path, *trained(Run("cleanrl"))))
    values = choose(rollout).values
    narrow, wide = (verify(rollout, values, factor=factor).lines[0].compared.allowed for factor in (1.0, 10.0))
    assert wide == pytest.approx(10 * narrow)
    moved = replace(rollout, tensors={**rollout.tensors, "advantages": rollout.tensors["advantages"] + 3 * narrow})
    assert not verify(moved, values).agrees


@pytest.mark.parametrize(
    ("library", "lacks", "takes"),
    [("cleanrl", "values", "values_old"), ("sb3", "values", "values_old"), ("cleanrl", "next_value", "next_values")],
)
def test_what_is_made_of_a_tensor_that_is_not_there_is_not_accused(
    library: str, lacks: str, takes: str, tmp_path: Path
) -> None:
    """The minibatch's advantages are made of the file's own ones."""
    tensors, metadata = golden(library)
    del tensors[lacks]
    found = verify_one(read_rollout(written(tmp_path, tensors, metadata))).verdict
    assert found.agrees
    assert found.uncompared["advantages"] == takes
    assert {"advantages_used", "policy_loss"} <= {line.compared.name for line in found.lines}


def test_the_explained_variance_of_equal_returns_is_no_number_in_the_libraries(tmp_path: Path) -> None:
    tensors, metadata = golden("cleanrl")
    zero = ("rewards", "values", "next_value", "advantages", "returns", "mb_advantages")
    flat = {name: np.zeros_like(tensors[name]) for name in zero}
    said = {**metadata, "logged": {"explained_variance": float("nan")}}
    found = verify_one(read_rollout(written(tmp_path, {**tensors, **flat}, said))).verdict
    line = next(line for line in found.lines if line.compared.name == "explained_variance.old")
    assert line.says == "agrees"
    assert str(line.compared.recomputed) == "nan"
