"""The run: it comes to what it could come to at best, goes on with the same digits, and any iteration is a workbook."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import blueprint as bp
from blueprint.files import SaveError
from blueprint.inputs import NumbersError
from blueprint.training.export import farthest, next_weights, workbook_numbers
from blueprint.training.folder import Folder, RunError
from blueprint.training.optimum import Everything
from blueprint.training.run import Run, opened, trained
from blueprint.training.run_toml import BUILT_IN, built_in_text, run_numbers, toml_of
from blueprint.training.summary_and_plot import beginning, endings, explained

SMALL = {"update.iterations": 25, "sft.steps": 20, "reward_model.steps": 20, "comparisons.pairs": 50}
LAST = 40
NEAR = 0.05
"""How far the mean of 40 iterations, of 8 responses each, may lie from the optimum: their standard error is about 0.05."""


SECONDS = 15
"""Of processor time that three β with 160 iterations of 8 responses may take, fine-tuning and reward model in it."""


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, float]:
    path, began = tmp_path_factory.mktemp("whole") / "run", time.process_time()
    trained(run_numbers(), path)
    return opened(path), time.process_time() - began


@pytest.fixture(scope="module")
def whole(timed: tuple[Run, float]) -> Run:
    return timed[0]


def test_the_whole_run_takes_seconds(timed: tuple[Run, float]) -> None:
    assert timed[0].watched["gold"].shape == (160, 3)
    assert timed[1] < SECONDS


@pytest.fixture(scope="module")
def everything(whole: Run) -> Everything:
    return Everything(whole.numbers, whole.models)


def test_all_responses_are_listed_and_their_probabilities_sum_to_one(everything: Everything) -> None:
    assert len(everything.gold) == 137_257
    np.testing.assert_allclose(everything.log_ref.exp().sum(), 1, rtol=1e-12)


@pytest.mark.parametrize("beta", [0.1, 1.0])
def test_a_run_comes_to_the_exact_optimum(whole: Run, everything: Everything, beta: float) -> None:
    best, r = everything.best(beta), whole.place(beta)
    proxy, kl = (float(whole.watched[name][-LAST:, r].mean()) for name in ("proxy", "kl"))
    assert abs((proxy - beta * kl) - (best.proxy - beta * best.kl)) < NEAR


def test_beta_decides_what_the_answers_become(whole: Run) -> None:
    """The reward rises at every β; gold falls to its lowest at 0 and rises above its start at 0.1 and 1."""
    gold, proxy = (
        {beta: whole.watched[name][:, whole.place(beta)] for beta in (0.0, 0.1, 1.0)} for name in ("gold", "proxy")
    )
    assert all(proxy[beta][-10:].mean() > proxy[beta][:3].mean() + 1 for beta in proxy)
    assert gold[0.0][-10:].mean() == pytest.approx(-3, abs=0.05)
    assert whole.samples(159, 0.0) == ["very very very very very very"] * 8
    assert all(gold[beta][-10:].mean() > gold[beta][:3].mean() + 0.5 for beta in (0.1, 1.0))
    assert "very happy <eos>" in whole.samples(159, 1.0)


def test_the_reward_model_looks_good(whole: Run) -> None:
    report = {name: float(each[0]) for name, each in whole.models.report.items()}
    assert 0.65 < report["accuracy"] < 0.8
    assert 0.7 < report["gold_correlation"] < report["felt_correlation"]


def test_the_page_shows_what_the_command_prints(whole: Run) -> None:
    page = (Path(__file__).parents[2] / "docs" / "run.md").read_text(encoding="utf-8")
    shown = page.split("<!-- run -->\n")[1].split("<!-- /run -->")[0]
    assert textwrap.dedent(shown).splitlines() == [beginning(whole), "", *endings(whole), explained(whole)]


def test_best_of_n_is_exact_and_its_kl_within_the_bound(everything: Everything) -> None:
    found = {n: everything.best_of(n) for n in (1, 4, 64, 1024)}
    assert found[1].kl == pytest.approx(0, abs=1e-12)
    assert [found[n].proxy for n in found] == sorted(found[n].proxy for n in found)
    assert all(each.kl <= np.log(n) - (n - 1) / n + 1e-9 for n, each in found.items())
    assert max(found.values(), key=lambda each: each.gold) is not found[1024]  # gold falls again, as the proxy rises
    draws = torch.multinomial(
        everything.log_ref[0].exp(), 4 * 20_000, replacement=True, generator=torch.Generator().manual_seed(1)
    )
    score = everything.score[0][draws].reshape(-1, 4).amax(1)
    assert float(score.mean()) == pytest.approx(found[4].proxy, abs=4 * float(score.std()) / 20_000**0.5)


@pytest.mark.parametrize(("iteration", "beta"), [(0, 0.0), (57, 0.1), (159, 1.0)])
def test_any_iteration_is_a_workbook_with_the_runs_next_weights(whole: Run, iteration: int, beta: float) -> None:
    moment = whole.moment(iteration, beta)
    book = bp.build(workbook_numbers(whole.numbers, moment))
    arrays = {block.name: array for block, array in book.values.arrays.items()}
    assert len(next_weights(whole.numbers, moment)) == 7
    assert farthest(whole.numbers, moment, arrays) < 1e-10
    r = whole.place(beta)
    for name, block in (("proxy", "score.response"), ("length", "response.length")):
        assert float(arrays[block].mean()) == pytest.approx(whole.watched[name][iteration, r], abs=1e-12)


def test_an_iteration_begins_where_the_one_before_ended(whole: Run) -> None:
    one, other = whole.moment(9, 0.1), whole.moment(10, 0.1)
    for name, each in one.next_policy.items():
        np.testing.assert_array_equal(each, other.policy[name])


@pytest.mark.parametrize(
    "more",
    [{"update.adam": "kept"}, {"reward.length_penalty": 0.3, "reward.free_tokens": 1}],
    ids=["plain, Adam is kept", "live conventions, for the length penalty"],
)
def test_a_saved_iteration_is_checked(more: dict[str, object], tmp_path: Path) -> None:
    """Of two short responses and two epochs, because `check` of a whole one takes 15 seconds."""
    small = {
        "update.iterations": 5,
        "update.responses": 2,
        "update.epochs": 2,
        "text.max_new_tokens": 4,
        "sft.steps": 60,
    }
    run = trained(run_numbers(changed=SMALL | small | more))
    assert any(len(text.split()) < 4 for text in run.samples(4, 0.1))  # there are positions behind a response
    moment = run.moment(4, 0.1)
    book = bp.build(workbook_numbers(run.numbers, moment))
    assert farthest(run.numbers, moment, {block.name: array for block, array in book.values.arrays.items()}) < 1e-10
    book.save(path := tmp_path / "it4.xlsx")
    assert bp.check(path).agrees


def test_two_minibatches_are_a_workbook_too() -> None:
    run = trained(
        run_numbers(
            changed=SMALL
            | {
                "update.minibatches": 2,
                "update.epochs": 2,
                "update.iterations": 3,
                "text.prompts": ["the old dog is", "the dog is old"],
            }
        )
    )
    moment = run.moment(2, 0.1)
    book = bp.build(workbook_numbers(run.numbers, moment))
    assert farthest(run.numbers, moment, {block.name: array for block, array in book.values.arrays.items()}) < 1e-10


def test_the_same_seed_gives_the_same_digits_whatever_runs_beside_it() -> None:
    one = trained(run_numbers(changed=SMALL | {"ppo.kl_coef": [0.1]}))
    three = trained(run_numbers(changed=SMALL | {"seeds": 2}))
    np.testing.assert_array_equal(one.watched["grad_norm"][:, 0], three.watched["grad_norm"][:, three.place(0.1)])


def test_a_run_that_is_killed_goes_on_with_the_same_digits(tmp_path: Path) -> None:
    numbers = run_numbers(changed=SMALL | {"update.iterations": 60})
    straight = trained(numbers)
    path, log = tmp_path / "run", tmp_path / "log"
    sets = [f"--set={key}={value}" for key, value in (SMALL | {"update.iterations": 60}).items()]
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "blueprint", "run", "-o", str(path), *sets],
            stdout=out,
            stderr=out,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        until = time.monotonic() + 60
        while not list((path / "iterations").glob("[0-9]*")) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        process.kill()
        process.wait()
    kept = list((path / "iterations").glob("[0-9]*"))
    assert 1 <= len(kept) <= 6, log.read_text()
    resumed = trained(numbers, path)
    assert resumed.iterations == 60
    for name, each in straight.watched.items():
        np.testing.assert_array_equal(each, resumed.watched[name])
    np.testing.assert_array_equal(straight.tokens, resumed.tokens)


@pytest.mark.parametrize("saves", range(4))
def test_wherever_a_run_is_interrupted_it_goes_on_with_the_same_digits(
    saves: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the models are kept, and before each of three files of iterations."""
    numbers, kept = run_numbers(changed=SMALL | {"ppo.kl_coef": [0.1], "update.adam": "kept"}), list[str]()
    save = np.savez

    def interrupted(file: object, **arrays: object) -> None:
        if len(kept) == saves:
            raise KeyboardInterrupt
        kept.append("file")
        save(file, **arrays)  # type: ignore[arg-type]

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trained(numbers, tmp_path / "run")
    monkeypatch.undo()
    straight, resumed = trained(numbers), trained(numbers, tmp_path / "run")
    for name, each in straight.stretches[-1].arrays.items():
        np.testing.assert_array_equal(each, resumed.stretches[-1].arrays[name])


def test_a_run_may_be_made_longer(tmp_path: Path) -> None:
    trained(run_numbers(changed=SMALL | {"update.iterations": 10}), tmp_path / "run")
    longer = trained(run_numbers(changed=SMALL | {"update.iterations": 20}), tmp_path / "run")
    np.testing.assert_array_equal(
        longer.watched["gold"], trained(run_numbers(changed=SMALL | {"update.iterations": 20})).watched["gold"]
    )


def test_a_damaged_state_names_its_iteration(tmp_path: Path) -> None:
    trained(run_numbers(changed=SMALL), tmp_path / "run")
    path = tmp_path / "run" / "iterations" / "000010-000020.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))
    with pytest.raises(RunError, match=r"000010-000020.npz is damaged .*the same command goes on at iteration 10"):
        opened(tmp_path / "run")


def test_a_full_disk_names_its_iterations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: object, **arrays: object) -> None:
        if "gold" in arrays:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(
        RunError, match=r"^iterations 0 to 9: .*no space left on device; what was finished before is kept"
    ):
        trained(run_numbers(changed=SMALL), tmp_path / "run")
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / "run" / "iterations").iterdir()] == []


def test_a_number_that_is_none_names_iteration_and_quantity() -> None:
    with pytest.raises(
        RunError,
        match=r"^iteration \d+, β = 0, seed 141: \S+( after it)? is no number any more.*make update.lr = 1e\+200",
    ):
        trained(run_numbers(changed=SMALL | {"ppo.kl_coef": [0.0], "update.lr": 1e200}))


def test_a_huge_step_alone_is_no_end() -> None:
    """With lr = 10 the policy saturates at once, but soft-max and tanh keep every number finite."""
    run = trained(run_numbers(changed=SMALL | {"ppo.kl_coef": [0.0], "update.lr": 10.0}))
    assert all(np.isfinite(each).all() for each in run.watched.values())
    assert run.watched["entropy"][-1, 0] < 1e-3


def test_an_empty_file_is_no_run(tmp_path: Path) -> None:
    empty = tmp_path / "empty.toml"
    empty.write_text("# all numbers are still to come\n", encoding="utf-8")
    with pytest.raises(
        NumbersError, match=r"empty\.toml says nothing: write a key of a run, as in `blueprint run -o run\.toml`"
    ):
        run_numbers(empty)


def test_another_run_in_the_folder_is_refused(tmp_path: Path) -> None:
    numbers = run_numbers(changed=SMALL | {"update.iterations": 1})
    Folder(tmp_path / "run").begin(numbers)
    with pytest.raises(
        RunError, match=r"holds a run with update.lr = 0.01, and update.lr = 0.1 is asked for: name another folder"
    ):
        Folder(tmp_path / "run").begin(run_numbers(changed=SMALL | {"update.iterations": 1, "update.lr": 0.1}))
    before = (tmp_path / "run" / "numbers.toml").read_bytes()
    with pytest.raises(RunError, match=r"holds a run with update.lr = 0.01, and update.lr = 0.1 is asked for"):
        Folder(tmp_path / "run").begin(run_numbers(changed=SMALL | {"update.iterations": 2, "update.lr": 0.1}))
    assert (tmp_path / "run" / "numbers.toml").read_bytes() == before, "what is refused changes nothing"
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "file").touch()
    with pytest.raises(RunError, match="is there already, and is no folder of a run"):
        Folder(tmp_path / "else").begin(numbers)
    (tmp_path / "file").touch()
    with pytest.raises((RunError, SaveError), match=r"is there already|cannot be made"):
        Folder(tmp_path / "file").begin(numbers)


def test_the_numbers_file_comes_back_with_its_comments() -> None:
    assert run_numbers() == run_numbers(BUILT_IN)
    lines = toml_of(run_numbers()).splitlines()
    assert [line.partition("#")[2] for line in lines] == [
        line.partition("#")[2] for line in built_in_text().splitlines()
    ]
    changed = run_numbers(overrides=["ppo.kl_coef=0,0.5", "gold.occurs={ happy = 2.0 }", "labelers.flaw.happy=1"])
    assert (changed.ppo.kl_coef, changed.gold.occurs, changed.labelers.flaw) == (
        [0.0, 0.5],
        {"happy": 2.0},
        {"very": 1.0, "happy": 1.0},
    )


def test_written_numbers_are_read_again(tmp_path: Path) -> None:
    changed = run_numbers(changed=SMALL | {"title": 'a "title"', "gold.occurs": {"dog": 1.5}})
    (tmp_path / "run.toml").write_text(toml_of(changed), encoding="utf-8")
    assert run_numbers(tmp_path / "run.toml") == changed


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("ppo.kl_coeff=1", "--set ppo.kl_coeff: there is no key ppo.kl_coeff; did you mean kl_coef?"),
        ("update.lr=-1", "reward-up, update.lr: found -1, expected greater than 0."),
        ("seed.x=1", "--set seed.x: seed is one value, and has no key x; write seed=VALUE."),
        ("update.responses=7,8", "reward-up, update.responses: found a list of 2, expected a valid integer."),
        ("update.minibatches=3", "update.minibatches: found 3, expected a divisor of 8, the responses."),
        ("text.prompts=a cat", 'reward-up, text.prompts: found "a cat", expected a valid list.'),
        (
            "demonstrations.times=0.5,0.2",
            "demonstrations.times: found a sum of 0.7, expected probabilities with the sum 1.",
        ),
        (
            "labelers.flaw.verry=1",
            'labelers.flaw: found "verry", expected tokens of the vocabulary; did you mean very?.',
        ),
        ("seeds=10000", "seeds: found 10000, expected at most 16,384 runs, seeds times KL coefficients."),
        ("x", "--set x: found no key and value, expected KEY=VALUE, such as update.iterations=80."),
    ],
)
def test_a_number_that_cannot_be_is_refused(override: str, says: str) -> None:
    with pytest.raises(NumbersError) as refused:
        run_numbers(overrides=[override])
    assert str(refused.value) == says


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"update.responses": 66}, "found 66 responses, and a workbook holds at most 64"),
        ({"update.epochs": 9}, "found 9 epochs of 1 steps"),
    ],
)
def test_an_iteration_that_no_workbook_holds_is_refused(changed: dict[str, object], says: str) -> None:
    run = trained(run_numbers(changed=SMALL | {"update.iterations": 1} | changed))
    with pytest.raises(RunError, match=f"iteration 0 as a workbook: .*{says}"):
        workbook_numbers(run.numbers, run.moment(0))


def test_an_iteration_or_a_run_that_is_not_there_is_refused(whole: Run) -> None:
    with pytest.raises(RunError, match="there is no iteration 160: the run has iterations 0 to 159"):
        whole.moment(160)
    with pytest.raises(RunError, match=r"there is no run with β = 0.2 and seed 141: it has β 0, 0.1, 1, and seed 141"):
        whole.samples(0, 0.2)


@pytest.mark.parametrize("device", ["nowhere", "meta"])
def test_a_device_that_is_not_here_is_refused(device: str) -> None:
    with pytest.raises(RunError, match=f"cannot be computed on '{device}' in float64"):
        trained(run_numbers(changed=SMALL), device=device)
