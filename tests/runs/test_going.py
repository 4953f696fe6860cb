"""Going through steps: each counts once, in their order, whatever becomes of who works on them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from blueprint.verifying.runs.executors import Run, head_of_step
from blueprint.verifying.runs.ledger import Ledger
from blueprint.verifying.runs.steps import Died, File, Step
from blueprint.verifying.settings import VerifyOptions

SETTINGS = VerifyOptions()


def steps(count: int) -> list[Step]:
    return [Step(number, (File(f"{number}.npz", 10, 0),)) for number in range(count)]


class Backwards:
    """Has room for four steps and finishes the last of them first. Over some it dies, as often as `deaths` says."""

    def __init__(self, wrong: Collection[int] = (), deaths: dict[int, int] | None = None) -> None:
        self.wrong, self.deaths = wrong, deaths or {}
        self.begun: list[int] = []
        self.at_work: dict[int, Step] = {}

    def free(self) -> bool:
        return len(self.at_work) < 4

    def running(self) -> Collection[int]:
        return list(self.at_work)

    def start(self, at: int, step: Step) -> None:
        self.begun.append(at)
        self.at_work[at] = step

    def wait(self) -> list[tuple[int, dict[str, Any] | Died]]:
        at = max(self.at_work)
        step = self.at_work.pop(at)
        if self.deaths.get(at, 0):
            self.deaths[at] -= 1
            return [(at, Died("it was ended by SIGKILL"))]
        return [(at, record(step, "differs" if at in self.wrong else "agrees"))]

    def drop(self, steps: Collection[int]) -> None:
        for at in steps:
            del self.at_work[at]

    def close(self) -> None:
        self.at_work.clear()


def record(step: Step, outcome: str) -> dict[str, Any]:
    return head_of_step(step, SETTINGS) | {"outcome": outcome, "reason": "", "quantities": [], "watched": {}}


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Callable[[], Ledger]]:
    opened: list[Ledger] = []

    def again() -> Ledger:
        for each in opened:
            each.close()
        opened.append(Ledger(tmp_path / "ledger.jsonl"))
        return opened[-1]

    yield again
    opened[-1].close()


def went(run: Run, executor: Backwards) -> list[tuple[int, str]]:
    """Goes through a run and returns the steps that count and what they come to."""
    run.go(executor, lambda done: None)
    assert not executor.at_work
    return [(each["step"], each["outcome"]) for each in run.records()]


def test_every_step_counts_once_and_in_order(ledger: Callable[[], Ledger]) -> None:
    moved: list[int] = []
    run, executor = Run(steps(10), SETTINGS, ledger()), Backwards({7})
    run.go(executor, moved.append)
    assert [each["outcome"] for each in run.records()] == ["agrees"] * 7 + ["differs"] + ["agrees"] * 2
    assert [each["step"] for each in run.records()] == list(range(10))
    assert sorted(executor.begun) == list(range(10))
    assert sum(moved) == 10


def test_what_is_finished_is_not_done_again_unless_it_changed(ledger: Callable[[], Ledger]) -> None:
    went(Run(steps(6), SETTINGS, ledger()), Backwards())
    other = [*steps(5), Step(5, (File("5.npz", 11, 0),)), *steps(8)[6:]]
    run, executor = Run(other, SETTINGS, ledger()), Backwards()
    assert run.known == 5
    assert [step for step, _ in went(run, executor)] == list(range(8))
    assert sorted(executor.begun) == [5, 6, 7]
    assert run.notes[0].startswith("5 of 8 steps were in the ledger ")


@pytest.mark.parametrize(
    "settings",
    [
        VerifyOptions(preset="verl"),
        VerifyOptions(overrides=("gamma=1",)),
        VerifyOptions(tolerance=2.0),
        VerifyOptions(device="cuda"),
    ],
)
def test_with_other_settings_everything_is_done_again(ledger: Callable[[], Ledger], settings: VerifyOptions) -> None:
    went(Run(steps(3), SETTINGS, ledger()), Backwards())
    assert Run(steps(3), settings, ledger()).known == 0


def test_the_earliest_deviation_wins_whoever_is_faster(ledger: Callable[[], Ledger]) -> None:
    """Step 3 is found to deviate before step 2 is."""
    executor = Backwards({2, 3, 9})
    run = Run(steps(40), SETTINGS, ledger(), fail_fast=True)
    assert went(run, executor) == [(0, "agrees"), (1, "agrees"), (2, "differs")]
    assert executor.begun == [0, 1, 2, 3]
    assert run.notes == ("--fail-fast: 37 steps behind step 2 do not count here",)


def test_after_fail_fast_the_run_goes_on_from_the_ledger(ledger: Callable[[], Ledger]) -> None:
    went(Run(steps(40), SETTINGS, ledger(), fail_fast=True), Backwards({4}))
    again = Backwards({4})
    assert went(Run(steps(40), SETTINGS, ledger(), fail_fast=True), again)[-1] == (4, "differs")
    assert again.begun == []
    assert len(went(Run(steps(40), SETTINGS, ledger()), Backwards({4}))) == 40


def test_a_later_deviation_in_the_ledger_does_not_hide_an_earlier_one(ledger: Callable[[], Ledger]) -> None:
    kept = ledger()
    kept.add(record(steps(9)[8], "differs"))
    assert went(Run(steps(12), SETTINGS, kept, fail_fast=True), Backwards({3, 8}))[-1] == (3, "differs")


def test_a_step_whose_process_died_is_tried_again_alone_when_all_others_are_done(ledger: Callable[[], Ledger]) -> None:
    executor = Backwards(deaths={2: 1, 5: 1})
    assert went(Run(steps(8), SETTINGS, ledger()), executor) == [(step, "agrees") for step in range(8)]
    assert executor.begun[-2:] == [2, 5]
    assert sorted(executor.begun) == sorted([*range(8), 2, 5])


def test_a_step_over_which_two_processes_died_is_not_verified_and_the_run_goes_on(ledger: Callable[[], Ledger]) -> None:
    run = Run(steps(8), SETTINGS, ledger())
    outcomes = dict(went(run, Backwards(deaths={2: 2})))
    assert outcomes == dict.fromkeys(range(8), "agrees") | {2: "not verified"}
    reason = list(run.records())[2]["reason"]
    assert reason == "its process ended twice, the second time while nothing else was verified: it was ended by SIGKILL"


def test_a_death_behind_the_first_deviation_is_not_tried_again(ledger: Callable[[], Ledger]) -> None:
    executor = Backwards({1}, deaths={3: 2, 0: 1})
    assert went(Run(steps(8), SETTINGS, ledger(), fail_fast=True), executor) == [(0, "agrees"), (1, "differs")]
    assert executor.begun[-1] == 0


def test_what_another_version_verified_does_not_count(ledger: Callable[[], Ledger]) -> None:
    class Older(Backwards):
        def wait(self) -> list[tuple[int, dict[str, Any] | Died]]:
            return [
                (at, {**found, "key": "other", "program": "0.0.9"})
                for at, found in super().wait()
                if isinstance(found, dict)
            ]

    run = Run(steps(2), SETTINGS, ledger())
    assert went(run, Older()) == [(0, "not verified"), (1, "not verified")]
    assert next(run.records())["reason"].startswith("a node verified it with 0.0.9, and here is ")
