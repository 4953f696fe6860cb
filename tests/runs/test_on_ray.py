"""Steps on a Ray cluster: two nodes of one core on this machine, of which workers and a node are lost in the middle."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray", reason="a cluster needs Ray: install the extra [cluster]")
pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.cluster import require_answer
from blueprint.training.on_ray import shares_of
from blueprint.training.run import opened, trained
from blueprint.training.run_toml import run_numbers
from blueprint.verifying.runs.executors import OnRay, Run
from blueprint.verifying.runs.ledger import Ledger
from blueprint.verifying.settings import VerifyOptions
from tests.commands import run_command
from tests.runs.hurt import patient, work
from tests.runs.made import a_run, a_step
from tests.runs.test_processes import steps


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Begins a cluster of two workers, on nodes of their own, and connects to it."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray: Any = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    started: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    started.add_node(num_cpus=1)
    ray.init(address=started.address, log_to_driver=False, logging_level=logging.ERROR)
    yield started
    ray.shutdown()
    started.shutdown()


def went(executor: OnRay, ledger: Path, count: int) -> list[dict[str, Any]]:
    """Goes through steps and returns their records; each stands in the ledger once."""
    with Ledger(ledger) as kept:
        run = Run(steps(count), VerifyOptions(), kept)
        run.go(executor, lambda done: None)
        executor.close()
        found = [dict(record) for record in run.records()]
    assert [each["step"] for each in found] == list(range(count))
    written = [json.loads(line)["step"] for line in ledger.read_text(encoding="utf-8").splitlines()[1:]]
    assert sorted(written) == list(range(count))
    return found


def test_workers_that_are_killed_in_the_middle_cost_nothing(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over step 3 a worker is killed once, over step 5 whenever it is tried."""
    monkeypatch.setattr("blueprint.verifying.runs.executors.RETRIES", 1)
    executor = OnRay(partial(work, tmp_path, deadly={3: 1, 5: 99}), cluster.address)
    found = went(executor, tmp_path / "ledger.jsonl", 9)
    assert [each["step"] for each in found if each["outcome"] != "agrees"] == [5]
    assert found[5]["reason"].startswith("its process ended twice, the second time while nothing else was verified: ")
    assert "WorkerCrashedError" in found[5]["reason"]
    tries = [len((tmp_path / f"{step}.tries").read_text().splitlines()) for step in range(9)]
    assert tries == [1, 1, 1, 2, 1, 4, 1, 1, 1]


def test_a_run_of_ones_own_has_the_same_digits(cluster: Any, tmp_path: Path) -> None:
    """Three seeds on two cores, Adam kept: what a share begins with comes from the whole's arrays."""
    little = {"update.iterations": 12, "sft.steps": 5, "reward_model.steps": 5, "comparisons.pairs": 20, "seeds": 3}
    numbers = run_numbers(changed=little | {"update.adam": "kept", "ppo.kl_coef": [0.0, 0.1]})
    alone, shared = trained(numbers), trained(numbers, tmp_path / "run", ray=cluster.address)
    assert [len(each.runs) for each in shares_of(numbers, 2)] == [4, 2]
    for one, other in zip(alone.stretches, opened(tmp_path / "run").stretches, strict=True):
        assert one.arrays.keys() == other.arrays.keys()
        for name, each in one.arrays.items():
            np.testing.assert_array_equal(each, other.arrays[name])
    assert repr(alone) == repr(shared)


def test_runs_are_shared_out_by_seeds_and_then_by_coefficients() -> None:
    numbers = run_numbers(changed={"seeds": 2, "ppo.kl_coef": [0.0, 0.1, 1.0]})
    shares = shares_of(numbers, 4)
    assert [each.runs.tolist() for each in shares] == [[0, 1], [2], [3, 4], [5]]
    assert [each.numbers.runs for each in shares] == [
        [numbers.runs[at] for at in each.runs.tolist()] for each in shares
    ]


def test_a_whole_run_of_the_command(cluster: Any, tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", 4, wrong={2})
    found = run_command("verify", folder, "--ray", cluster.address)
    assert found.exit_code == 1, found.output
    assert "2      1      differs  returns         3.33e+07 tolerances (step 2)" in found.stdout
    assert "Of 4 steps 3 agree, 1 deviates." in found.stdout
    arguments = [str(folder), "--ray", cluster.address, "--fail-fast", "--ledger", str(tmp_path / "other.jsonl")]
    found = run_command("verify", *arguments)
    assert found.exit_code == 1, found.output
    assert "Of 3 steps 2 agree, 1 deviates." in found.stdout


def test_what_is_dropped_is_never_reported(cluster: Any, tmp_path: Path) -> None:
    executor = OnRay(partial(work, tmp_path, deadly={}), cluster.address)
    for at, step in enumerate(steps(4)):
        executor.start(at, step)
    executor.drop([0, 2, 3])
    assert [at for at, _ in executor.wait()] == [1]
    assert executor.running() == []
    executor.close()


def test_a_node_that_is_lost_in_the_middle_costs_nothing(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second node is taken away while it works on a step; so this is the last test that has two of them."""
    executor = OnRay(partial(patient, tmp_path), cluster.address)
    lost = cluster.list_all_nodes()[-1]
    wait = executor.wait

    def losing() -> Any:
        if not (tmp_path / "go").exists():
            while lost.node_id not in "".join(path.read_text() for path in tmp_path.glob("*.nodes")):
                time.sleep(0.02)
            cluster.remove_node(lost, allow_graceful=False)
            (tmp_path / "go").touch()
        return wait()

    monkeypatch.setattr(executor, "wait", losing)
    found = went(executor, tmp_path / "ledger.jsonl", 8)
    assert {each["outcome"] for each in found} == {"agrees"}
    begun = [path.read_text().split() for path in tmp_path.glob("*.nodes")]
    assert [nodes[0] == lost.node_id for nodes in begun if len(nodes) == 2] == [True]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", "--ray 127.0.0.1:1: nothing answers at 127.0.0.1:1 ("),
        ("ray://[::1]:1", "--ray ray://[::1]:1: nothing answers at ray://[::1]:1 ("),
        ("no-such-host.invalid:6379", "nothing answers at no-such-host.invalid:6379 ("),
        ("nowhere", "--ray nowhere: there is no cluster ("),
    ],
)
def test_without_a_cluster_it_is_said_soon_what_to_do(
    address: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    a_step(tmp_path / "run", 0)
    begun = time.monotonic()
    found = run_command("verify", tmp_path / "run", "--ray", address)
    assert time.monotonic() - begun < 20
    assert found.exit_code == 2
    assert said in found.output
    assert "with `ray start --head`" in found.output


def test_a_cluster_of_this_machine_answers_by_each_of_its_names(cluster: Any) -> None:
    port = cluster.address.rpartition(":")[2]
    for name in ("localhost", "127.0.0.1", "[::1]"):
        require_answer(f"{name}:{port}", lambda: str(cluster.address.rpartition(":")[0]))
