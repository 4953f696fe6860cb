"""What ten libraries' own code computed on one rollout, by the definitions and by the recalculated workbook.

The table of runs and of what each recorded quantity is was made for the torch witness, which never saw the definitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest

pytest.importorskip("torch", reason="the table of recorded quantities is written in torch")

import torch

from blueprint.language import Block
from blueprint.page.read import Opened
from tests.page.finished import Engine
from tests.page.workshop import Array, blocks_in
from tests.recorded_ppo import ALL, RUNS, TOLERANCE, Found, Run, differing
from tests.workbooks.switched import built, switchboard


def found_in(arrays: Mapping[str, Array]) -> Found:
    """Returns a workbook's rows in the form in which the table reads them."""
    rows = {name: torch.as_tensor(array.astype(float)) for name, array in arrays.items() if array.dtype != object}
    texts = SimpleNamespace(
        slots=rows["slots"][:, :-1],
        old_logprobs=rows["old.logprobs"],
        reference_logprobs=rows["reference.logprobs"],
    )
    return Found(texts, rows)  # type: ignore[arg-type]


def called(run: Run) -> str:
    """Names a run."""
    return f"{run.run}-{run.variant}-{''.join(map(str, run.responses))}"


def picked(run: Run) -> list[str]:
    """Returns the override by which only some responses, a minibatch, are taken."""
    return [] if run.responses == ALL else [f"text.episodes={[1 + each for each in run.responses]}"]


@cache
def of_definitions(preset: str, changes: tuple[tuple[str, str | float], ...], *more: str) -> Found:
    """Returns what the definitions compute."""
    book = built(preset, dict(changes), *more)
    return found_in({block.name: array for block, array in book.values.arrays.items()})


@pytest.mark.parametrize("run", RUNS, ids=called)
def test_the_definitions_reproduce_a_run(run: Run) -> None:
    assert differing(run, of_definitions(run.preset, tuple(run.changes.items()), *picked(run))) == []


@pytest.mark.parametrize("run", [run for run in RUNS if run.responses == ALL], ids=called)
def test_the_workbook_reproduces_a_run_when_it_is_chosen_there(run: Run) -> None:
    """One saved file for all: preset and changed options are typed into its cells, and an engine recalculates it."""
    assert differing(run, found_in(switchboard().switched(run.preset, run.changes))) == []


@pytest.mark.parametrize("run", [run for run in RUNS if run.responses != ALL], ids=called)
def test_a_workbook_of_a_minibatch_reproduces_it(run: Run, tmp_path: object) -> None:
    """Whitening per minibatch is chosen when a workbook is built: it holds the minibatch alone."""
    path = switchboard(*picked(run)).path
    engine = Engine(path)
    places = Opened(path).places
    engine.type(places["preset"].sheet, places["preset"].top, places["preset"].left, run.preset)
    engine.evaluate()
    assert differing(run, found_in(blocks_in(engine.model, places))) == []


@pytest.mark.parametrize(
    "run", [run for run in RUNS if run.variant == "result" and run.run != "lm_human_preference_details"], ids=called
)
def test_the_row_of_a_library_is_its_own_run(run: Run) -> None:
    """Beside each other as well: the rows of a library on the sheet Libraries, whatever the settings in use.

    But for the temperature, which is that of the workbook: TRL 1.12 adds 1e-7 to it, so that its
    numbers part by less than that (6.4e-8 at most).
    """
    book = built("default", {}, "compare=" + ",".join(LIBRARIES))
    member = LIBRARIES.index(run.preset)
    rows = {block.name: array for block, array in book.values.arrays.items()}
    own = {block.name.removeprefix("library."): rows[block.name][member] for block in rows_of_libraries(book.blocks)}
    found = found_in({**rows, **own})
    assert differing(run, found, 1e-7 if run.preset == "trl_1.12" else TOLERANCE) == []


LIBRARIES = tuple(dict.fromkeys(run.preset for run in RUNS))


def rows_of_libraries(blocks: Mapping[str, Block]) -> list[Block]:
    """Lists the blocks that have a number, or a row, for each library."""
    return [b for b in blocks.values() if b.axes and b.axes[0].meaning == "library" and not b.text]


@pytest.mark.parametrize("preset", LIBRARIES)
def test_another_librarys_conventions_are_noticed(preset: str) -> None:
    """The comparison can fail: no library passes for the one beside it in the table."""
    run = next(run for run in RUNS if run.preset == preset)
    other = LIBRARIES[(LIBRARIES.index(preset) + 1) % len(LIBRARIES)]
    assert differing(replace(run, changes={}), of_definitions(other, ())) != []
