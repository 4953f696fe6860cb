"""The command `blueprint lab cart-pole`: tables, a chart, a minibatch as a workbook, and its refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="labs compute with torch: install the extra [torch]")
pytest.importorskip("gymnasium", reason="cart-pole is an environment of gymnasium: install the extra [lab]")

from blueprint import api
from blueprint.checking import Checked
from blueprint.checking.checker import check
from blueprint.labs import agent_and_rollout, cart_pole, stable_baselines
from blueprint.labs.cart_pole import moment
from blueprint.labs.export import workbook_numbers
from blueprint.labs.settings import LabError, settings
from blueprint.labs.study import Study, begin, begun, read
from blueprint.page.read import read as read_workbook
from tests.commands import run_command

SHORT = ["lab", "cart-pole", "--steps", "512"]


pytestmark = pytest.mark.usefixtures("folder")


def test_runs_are_tables_and_a_chart(folder: Path) -> None:
    pytest.importorskip("matplotlib", reason="charts need matplotlib: install the extra [plot]")
    said = run_command(*SHORT, "--method", "ppo,a2c", "--seeds", "2", "-o", "kept", "--plot", "both.png")
    assert said.exit_code == 0, said.output
    assert "100 new episodes, actions drawn:" in said.stdout
    study = read(folder / "kept")
    results = study.frame()
    assert results["label"].tolist() == ["ppo", "ppo", "a2c", "a2c"]
    assert results["seed"].tolist() == [0, 1, 0, 1]
    assert study.frame("iterations").groupby(["label", "seed"])["steps"].max().tolist() == [512] * 4
    for name, run in study.frame("episodes").groupby(["label", "seed"]):
        last = study.frame("iterations").set_index(["label", "seed"]).loc[[name], "length"].iloc[-1]
        assert last == pytest.approx(run["length"].tail(20).mean(), rel=1e-5)
    assert (folder / "both.png").read_bytes().startswith(b"\x89PNG")
    again = run_command(*SHORT, "-o", "kept")
    assert again.exit_code == 2
    assert "is there already" in again.stderr


def test_a_sweep_is_a_run_for_each_value(folder: Path) -> None:
    assert run_command(*SHORT, "--sweep", "gae_lambda=0,1", "-o", "kept").exit_code == 0
    assert read(folder / "kept").labels == ["gae_lambda 0", "gae_lambda 1"]


@pytest.mark.parametrize(
    ("arguments", "whole"),
    [
        (["--recipe", "by-hand", "--iteration", "2", "--minibatch", "3"], False),
        (["--set", "rollout_steps=8", "--set", "minibatch=64", "--iteration", "2", "--minibatch", "2"], True),
        (["--method", "reinforce", "--iteration", "0"], False),
    ],
)
def test_any_minibatch_is_a_workbook_that_torch_agrees_with(folder: Path, arguments: list[str], whole: bool) -> None:
    said = run_command("lab", "cart-pole", *arguments, "-o", "mini.xlsx")
    assert said.exit_code == 0, said.output
    assert "proof: ironcalc recalculated" in said.stdout
    assert "Its total loss is the run's" in said.stdout
    assert float(said.stdout.rsplit("the difference is ", 1)[1].strip().rstrip(".")) < 1e-12
    assert check([Checked(folder / "mini.xlsx")], "cpu", "float64").agrees
    use = settings(
        "reinforce" if "reinforce" in arguments else "ppo",
        recipe="by-hand" if "by-hand" in arguments else None,
        changed=[each for each in arguments if "=" in each],
    )
    numbers = workbook_numbers(moment(use, int(arguments[arguments.index("--iteration") + 1]), 2 if whole else 1))
    assert ("the whole rollout" in numbers["about"]) is whole


@pytest.mark.parametrize(
    ("changed", "shape"),
    [
        ({"minibatch": 7}, (1, 7)),
        ({"minibatch": 8}, (4, 2)),
        ({"rollout_steps": 1}, (4, 2)),
        ({"rollout_steps": 2}, (8, 2)),
        ({"minibatch": 60}, (6, 10)),
    ],
)
def test_a_minibatch_stands_in_two_columns_or_more(changed: dict[str, int], shape: tuple[int, int]) -> None:
    numbers = workbook_numbers(moment(settings("ppo", changed=changed), 0, 1))
    assert np.array(numbers["rollout"]["actions"]).shape == shape
    assert api.build(numbers).loss == pytest.approx(
        moment(settings("ppo", changed=changed), 0, 1).found.total.item(), abs=1e-12
    )


def test_the_networks_of_a_minibatch_are_a_workbook(folder: Path) -> None:
    """From observations and weights to what the workbook of the loss has typed; the engine has proved the formulas."""
    of = ["lab", "cart-pole", "--recipe", "by-hand", "--iteration", "2", "--minibatch", "4"]
    said = run_command(*of, "--networks", "-o", "net.xlsx")
    assert said.exit_code == 0, said.output
    assert "proof: ironcalc recalculated 1,869 of 1,869 formulas" in said.stdout
    found = read_workbook(folder / "net.xlsx")
    step = moment(settings("ppo", recipe="by-hand"), 2, 4)
    typed = workbook_numbers(step)["rollout"]
    for own, there in (("old", "old"), ("new", "new")):
        for quantity in ("logits", "values"):
            expected = np.array(typed[f"{quantity}_{there}"]).reshape(found[f"{own}.{quantity}"].shape)
            np.testing.assert_allclose(found[f"{own}.{quantity}"], expected, rtol=0, atol=1e-12)
    log_ratio = step.found.ratio.log().flatten().numpy()
    np.testing.assert_allclose(found["new.logprobs"] - found["old.logprobs"], log_ratio, rtol=0, atol=1e-12)
    assert found["new.entropy"].mean() == pytest.approx(step.found.entropy.item(), abs=1e-12)
    wide = run_command("lab", "cart-pole", "--iteration", "0", "--networks")
    assert wide.exit_code == 2
    assert wide.stderr.startswith(
        "Error: --networks with hidden = [64, 64]: a sheet shows one hidden layer of at most 64 units; write"
    )


def test_the_gradients_of_a_minibatch_are_the_trainers(folder: Path) -> None:
    """∂L/∂logits of the workbook, carried through the network by torch, is the gradient of every weight."""
    import torch

    use = settings("ppo", recipe="by-hand")
    of = moment(use, 1, 2)
    book = api.build(workbook_numbers(of), gradients=True)
    trainer = cart_pole.Trainer(use)
    trainer.iterate()
    _, batch, clip, _ = trainer.iterate(2)
    assert batch is not None
    expected = trainer.gradient(trainer.loss(batch, clip).total)
    logits, values = trainer.agent.logits(batch.observations), trainer.agent.values(batch.observations)
    blocks = {block.name: array for block, array in book.values.arrays.items()}
    by_logits = torch.tensor(blocks["policy.logits.grad"]).reshape(-1, 2)
    by_values = torch.tensor(blocks["values.new.grad"]).reshape(-1)
    found = torch.autograd.grad(
        [logits, values], trainer.agent.weights, [by_logits, by_values], allow_unused=True, materialize_grads=True
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


REFUSED = {
    "a workbook of no minibatch": (["-o", "x.xlsx"], "x.xlsx: a workbook is of one minibatch: say which, with --iteration N"),
    "a minibatch of no iteration": (["--minibatch", "2"], "a minibatch is of an iteration: say which, with --iteration N"),
    "several runs": (["--iteration", "1", "--seeds", "2"], "--iteration with --seeds: a workbook is of one minibatch of one run"),
    "an iteration behind the end": (["--iteration", "2"], "there is no iteration 2: after 2 iterations, counted from 0, the 512"),
    "a minibatch behind the end": (
        ["--iteration", "0", "--minibatch", "21"],
        "iteration 0 has no minibatch 21: it has 20, in 20 epochs, counted from 1",
    ),
    "a sweep of nothing": (["--sweep", "gamma"], "--sweep gamma: expected a setting and its values, such as"),
    "an unknown method": (["--method", "ppo,sarsa"], "there is no method sarsa: write one of ppo, a2c, reinforce"),
    "a chart of no kind": (["--plot", "x.gif"], "--plot x.gif: found the ending .gif, expected one of .png, .svg, .pdf"),
    "panels of no chart": (["--panel", "kl"], "--panel: only a chart has panels: add --plot FILE, or leave it out"),
    "panels of a workbook": (["--iteration", "0", "--panel", "kl"], "--panel: only a chart has panels"),
    "no workbook to prove": (["--no-proof"], "--no-proof: only a minibatch's workbook is proved: add --iteration N, or leave"),
    "a chart in no folder": (["-o", "kept", "--plot", "none/x.png"], "none/x.png cannot be written: there is no folder none"),
    "no PPO to compare": (["--method", "a2c", "--compare-sb3"], "--compare-sb3 with --method a2c: it stands beside PPO"),
    "what has no number": (["--set", "lr=1e155", "--set", "max_norm=1e155"], "ppo, seed 0: iteration "),
    "too large a workbook": (
        ["--set", "environments=65", "--set", "rollout_steps=2", "--set", "minibatch=all", "--iteration", "0"],
        "iteration 0, minibatch 1 as a workbook: found 130 steps in 65 rows of 2, and a workbook holds 64 rows of 500",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_is_a_sentence(folder: Path, case: str) -> None:
    arguments, sentence = REFUSED[case]
    said = run_command(*SHORT, *arguments)
    assert said.exit_code == 2
    assert said.stderr.startswith(f"Error: {sentence}")
    assert list(folder.iterdir()) == []


def test_without_gymnasium_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_and_rollout, "find_spec", lambda name: None)
    said = run_command(*SHORT)
    assert said.exit_code == 2
    expected = 'cart-pole is an environment of gymnasium, which is not installed: python -m pip install ".[torch,lab]"'
    assert said.stderr == f"Error: ppo, seed 0: {expected}\n"
    with pytest.raises(LabError, match="which is not installed"):
        api.lab(steps=512)


def test_without_stable_baselines_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stable_baselines, "find_spec", lambda name: None)
    with pytest.raises(
        LabError, match=r'^--compare-sb3 needs Stable-Baselines3, .*: python -m pip install "\.\[torch,lab\]"$'
    ):
        stable_baselines.trained(settings("ppo"))
    said = run_command(*SHORT, "--compare-sb3")
    assert said.exit_code == 2
    assert said.stdout == ""  # before anything is trained


def test_an_interrupted_run_says_what_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cart_pole.Trainer.iterate

    def interrupted(trainer: cart_pole.Trainer, stop_before: int = 0) -> object:
        if trainer.use.seed == 1:
            raise KeyboardInterrupt
        return whole(trainer, stop_before)

    monkeypatch.setattr(cart_pole.Trainer, "iterate", interrupted)
    said = run_command(*SHORT, "--seeds", "2", "-o", "kept")
    assert said.exit_code == 130
    assert "Interrupted in ppo, seed 1, which is not kept; the runs finished before it (1) are in kept:" in said.stderr
    assert said.stderr.rstrip().endswith("the same command goes on with it.")
    assert read(folder / "kept").frame()["seed"].tolist() == [0]
    trained = set[int]()

    def noted(trainer: cart_pole.Trainer, stop_before: int = 0) -> object:
        trained.add(trainer.use.seed)
        return whole(trainer, stop_before)

    monkeypatch.setattr(cart_pole.Trainer, "iterate", noted)
    first = (folder / "kept" / "iterations.csv").read_text(encoding="utf-8")
    again = run_command(*SHORT, "--seeds", "2", "-o", "kept")
    assert again.exit_code == 0, again.output
    assert again.stdout.startswith("kept: 1 of 2 runs are there already, and are not trained again\n")
    assert trained == {1}
    assert read(folder / "kept").frame()["seed"].tolist() == [0, 1]
    assert (folder / "kept" / "iterations.csv").read_text(encoding="utf-8").startswith(first)


def test_what_cannot_be_is_refused_before_anything_is_trained(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "taken").write_text("a file", encoding="utf-8")
    monkeypatch.setattr(cart_pole.Trainer, "iterate", lambda *given: pytest.fail("something was trained"))
    said = run_command(*SHORT, "-o", "taken")
    assert (said.exit_code, "taken cannot be made (is a file): name another folder" in said.stderr) == (2, True)
    said = run_command(*SHORT, "--iteration", "2", "-o", "it.xlsx")
    assert (said.exit_code, "there is no iteration 2: after 2 iterations" in said.stderr) == (2, True)


def test_stable_baselines_runs_by_the_same_settings(folder: Path) -> None:
    pytest.importorskip("stable_baselines3", reason="the comparison needs Stable-Baselines3: install the extra [lab]")
    said = run_command(*SHORT, "--recipe", "by-hand", "--compare-sb3", "-o", "kept")
    assert said.exit_code == 0, said.output
    results = read(folder / "kept").frame().set_index("label")
    assert results.loc["ppo", "steps"] == results.loc["Stable-Baselines3", "steps"] == 512
    assert results.loc["ppo", "iterations"] == results.loc["Stable-Baselines3", "iterations"] == 8
    with pytest.raises(LabError, match="--compare-sb3 with shared_trunk = True: it stands beside PPO"):
        stable_baselines.trained(settings("ppo", changed={"shared_trunk": True}))


def test_a_folder_begun_anew_has_no_results_of_the_plan_before(folder: Path) -> None:
    one, other = ([("ppo", settings("ppo", steps=512, changed=[f"gamma={gamma}"]))] for gamma in (0.9, 0.5))
    assert run_command(*SHORT, "--set", "gamma=0.9", "-o", "kept").exit_code == 0
    assert (begun(folder / "kept", one) or Study()).finished
    begin(folder / "kept", other)  # as --force does, before the first run is finished
    assert not (begun(folder / "kept", other) or Study()).finished
