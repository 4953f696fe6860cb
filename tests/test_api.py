"""The front door: each line of the page, called twice in one process; what it takes and what it refuses."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import blueprint as bp
from blueprint import api
from blueprint.dumps import MinibatchError, read_minibatch, save
from blueprint.inputs import read
from blueprint.inputs.errors import NumbersError
from blueprint.notation import Axis, block, typed
from blueprint.notation import book as own_book
from blueprint.workbooks import registry
from tests.dumps.batches import batch

TWICE = """
import contextlib, importlib, pkgutil
import blueprint as bp
for turn in (1, 2):
    book = bp.build("very-very-sleepy", set={"ppo.gamma": 0.95})
    book.save(FOLDER + "/x.xlsx")
    print(book["advantages"].shape, len(book.frames("Reward & advantage")) > 3, book.tensors()["advantages"].dtype)
    print(bp.open(FOLDER + "/x.xlsx").explain("gamma").name)
    found = bp.check(FOLDER + "/x.xlsx", FOLDER + "/x.xlsx")
    print(found.agrees, len(found.frame) > 20)
    print(bp.verify(RUN).agrees)
    for room in pkgutil.walk_packages(bp.__path__, "blueprint."):
        with contextlib.suppress(ImportError):  # of an extra that is not installed
            room.name.endswith("__main__") or importlib.import_module(room.name)
"""
RUN = min((Path(__file__).parent / "data" / "real" / "trl_1_12").rglob("*.safetensors"))
"""A minibatch that agrees, as it was logged: what becomes of one that does not takes eight seconds, and has tests of its own."""


def test_the_examples_of_the_page_are_true() -> None:
    for module, least in ((api, 5), (registry, 3)):
        found = doctest.testmod(module)
        assert found.attempted >= least
        assert found.failed == 0


def test_each_door_opens_twice_in_one_process(tmp_path: Path) -> None:
    """A room of the package must not come to stand where a door was."""
    pytest.importorskip("torch", reason="check and verify need torch: install the extra [torch]")
    code = TWICE.replace("FOLDER", repr(str(tmp_path))).replace("RUN", repr(str(RUN)))
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    first, second = np.array_split(found.stdout.splitlines(), 2)
    assert first.tolist() == second.tolist()


def test_numbers_are_given_as_tables_too_with_arrays_in_them() -> None:
    tables = dict(read("default").raw)
    tables["weights"] = (
        {name: np.array(each) for name, each in tables["weights"].items()} if "weights" in tables else {}
    )
    tables = {key: value for key, value in tables.items() if value != {}}
    made, named = bp.build(tables), bp.build()
    assert made["total_loss"].equals(named["total_loss"])
    assert bp.build(tables, set={"ppo.gamma": np.float64(0.9)})["returns"].equals(
        bp.build(set={"ppo.gamma": 0.9})["returns"]
    )


@pytest.mark.parametrize("path", [str, Path])
def test_paths_are_texts_or_paths(tmp_path: Path, path: type) -> None:
    pytest.importorskip("torch", reason="check and verify need torch: install the extra [torch]")
    save(path(tmp_path / "run.npz"), batch(), {"library": "verl"})
    small = "sizes = {vocabulary = 3, hidden = 2, embedding = 2}"
    (tmp_path / "mine.toml").write_text(f'level = "weights"\nppo.gamma = 0.5\n{small}\n', encoding="utf-8")
    assert bp.build(path(tmp_path / "mine.toml")).save(path(tmp_path / "x.xlsx")) > 1000
    assert bp.open(path(tmp_path / "x.xlsx"))["gamma"].iloc[0, 0] == 0.5
    assert bp.check(path(tmp_path / "x.xlsx")).agrees
    assert read_minibatch(path(tmp_path / "run.npz")).tensors.keys() == batch().keys()
    assert bp.verify(path(RUN)).agrees


def test_a_table_says_what_its_rows_and_columns_are() -> None:
    book = bp.build()
    wide = book["advantages"]
    assert (wide.index.name, wide.columns.name) == ("episode", "position")
    deep = book["policy.logits"]
    assert deep.columns.names == ["position", "token id"]
    assert deep[4]["very"].loc[1] == book.values.cell(book.blocks["policy.logits"], 0, 3, 5)
    assert book.frames("Loss").keys() == {name for name, spot in book.spots.items() if spot.sheet == "Loss"}


def test_tensors_are_the_numbers_of_all_blocks() -> None:
    torch = pytest.importorskip("torch", reason="the tensors are torch's: install the extra [torch]")
    book = bp.build()
    found = book.tensors()
    assert {name for name, block in book.blocks.items() if not block.text} == found.keys()
    assert all(each.dtype == torch.float64 for each in found.values())
    assert np.array_equal(found["advantages"].numpy(), book.values.arrays[book.blocks["advantages"]])


def test_tensors_with_slopes_are_those_of_the_gradient_rows() -> None:
    torch = pytest.importorskip("torch", reason="the slopes are torch's: install the extra [torch]")
    book = bp.build(gradients=True)
    found = book.tensors(grad=True)
    slopes = found.slopes("total_loss")
    torch.testing.assert_close(found["total_loss"].detach(), book.tensors()["total_loss"], rtol=1e-14, atol=0)
    # The policy loss and the entropy hang on each log-prob; of what is typed it is the weights' step that they hang on.
    rows = torch.tensor(book["policy.logits.grad"].to_numpy().reshape(2, 8, 8))
    torch.testing.assert_close(slopes["policy.logits"], rows, rtol=1e-12, atol=1e-14)
    assert "tensors of The old dog" in repr(found)
    with pytest.raises(bp.NotationError, match="float64 or float32"):
        book.tensors(grad=True, dtype="float16")


def any_(value: object) -> Any:
    """Returns a value that the type checker does not look at."""
    return value


T = Axis("t", "week")
X, Y = typed("x", (T,)), block("y", (T,))
Y[T] = X[T] + X[T]
SAME_NAMES = pd.DataFrame([["a", "b", 1, 2]], columns=["prompt", "response", "reward", "reward"])


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        (lambda: bp.build("defalt"), NumbersError, "did you mean default?"),
        (lambda: bp.build(set={"ppo.gama": 1}), NumbersError, "did you mean ppo.gamma?"),
        (lambda: bp.build({"ppo": {"gamma": object()}}), NumbersError, "ppo.gamma: found object, expected a number"),
        (lambda: bp.build(preset="verel"), NumbersError, "did you mean verl?"),
        (
            lambda: bp.build()["advantage"],
            bp.NotationError,
            "did you mean advantages, advantage.abs or advantage.mean?",
        ),
        (lambda: bp.build()["epsilon"], bp.NotationError, "there is no block 'epsilon': did you mean clip_range?"),
        (lambda: bp.build()["gae"], bp.NotationError, "there is no block 'gae': did you mean advantages, "),
        (lambda: bp.build()["N51"], bp.NotationError, "of a cell write its sheet, too, such as 'Loss!N51'"),
        (lambda: bp.build().frames("Lss"), bp.NotationError, "did you mean Loss?"),
        (lambda: bp.verify("nowhere.npz"), MinibatchError, "nowhere.npz"),
        (lambda: bp.build(set=any_("ppo.gamma=1")), NumbersError, "expected other values by key: set="),
        (lambda: bp.build(any_(["a"]), kind="grpo"), NumbersError, "rows: found 'a', expected a dict for each row"),
        (lambda: bp.build(SAME_NAMES, kind="grpo"), NumbersError, "rows: found two columns called reward"),
        (lambda: own_book("B", [X, Y], T, any_({"x": [1]})), bp.NotationError, "its numbers go by block, not by name"),
        (lambda: own_book("B", [X, Y], T, {X: [1], Y: [1]}), bp.NotationError, "y is computed, and numbers were given"),
        (lambda: own_book("B", [], T, {}), bp.NotationError, "there is no block: list what block(…)"),
        (lambda: own_book("B", any_([X, 3]), T, {X: [1]}), bp.NotationError, "its blocks are a list of what block(…)"),
        (lambda: own_book(any_(None), [X, Y], T, {X: [1]}), bp.NotationError, "its title is a text"),
        (lambda: own_book("B", [X, Y], T, {X: [1]})[any_(3)], bp.NotationError, "book[3]: ask for a block by its name"),
    ],
)
def test_wrong_use_is_told_in_a_sentence(wrong: Callable[[], object], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=re.escape(said)):
        wrong()
