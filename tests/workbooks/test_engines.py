"""A preset chosen in the sheet: both engines, definitions and torch have the same numbers, and the loss is the library's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.language import NoNumber
from blueprint.workbooks import blueprint_of
from tests.audit import spoil
from tests.page.basic import Change, edit
from tests.page.finished import Engine
from tests.page.workshop import Array, made
from tests.workbooks.apart import apart, distance
from tests.workbooks.repeats import REWARD_MODEL, SFT, run_of
from tests.workbooks.switched import Switchboard, blocks_of_tables, types

# Both compute in double precision, and sum in an order of their own; LibreOffice writes 15 digits.
TOLERANCE = 1e-12


@dataclass
class Presets:
    """Presets of a kind's built-in numbers, each of which repeats a recorded run. overrides: what is chosen besides the preset."""

    kind: str
    numbers: str
    chosen: tuple[str, ...]
    overrides: tuple[str, ...] = ()

    def book(self, preset: str) -> Book:
        """Returns the book in which the preset was chosen before."""
        return made(f"preset={preset}", *self.overrides, numbers=self.numbers)

    @cached_property
    def board(self) -> Switchboard:
        """The workbook with the default preset, saved and open."""
        return Switchboard(self.book("default"))

    def wrong(self, preset: str, found: Mapping[str, Array]) -> list[str]:
        """Lists the formulas that an engine computed to something else than the definitions, with the preset chosen before."""
        ours = {block.name: array for block, array in self.book(preset).values.arrays.items() if not block.typed}
        return [name for name, each in ours.items() if not distance(each, found[name]) <= TOLERANCE]

    def loss(self, preset: str) -> float:
        """Returns the loss that the library's own code computed."""
        return float(run_of(self.kind, preset).out["loss"])

    def in_libreoffice(self, room: Path) -> Iterator[tuple[str, dict[str, Array]]]:
        """Yields each preset with what LibreOffice computes when it is typed.

        One file, in which every number is spoiled, is opened once; after each preset all is computed anew.
        """
        source, board, again = room / "spoiled.xlsx", self.board, [types(self.board, "preset", "default")]
        spoil(board.path, source)
        typed = {preset: [types(board, "preset", preset), "book.calculateAll()"] for preset in self.chosen}
        last = len(typed) - 1
        edit(
            [Change(source, room / f"{place}.csv", lines, again if place < last else ())
             for place, lines in enumerate(typed.values())],
            room,
        )  # fmt: skip
        for place, preset in enumerate(typed):
            yield preset, blocks_of_tables(room / f"{place}.csv", board.places)


PRESETS = {
    "grpo": Presets("grpo", "grpo-batch", (
        "trl_grpo", "trl_rloo", "trl_0.14", "verl_grpo", "verl_rfpp", "verl_gspo", "verl_cispo", "openrlhf", "nemo_rl",
        "open_instruct", "default",
    )),
    "dpo": Presets("dpo", "dpo-batch", (
        "trl_1.16_ipo", "trl_1.16_robust", "trl_1.16_kto", "trl_1.16_orpo", "openrlhf", "nemo_aligner_rpo", "halos_cdpo", "simpo",
        "default",
    )),
    "reward_model": Presets("reward_model", "reward-batch", tuple(REWARD_MODEL)),
    "sft": Presets("sft", "sft-batch", tuple(SFT), ("sft.microbatches=2",)),
}  # fmt: skip
CHOSEN = [(kind, preset) for kind, of in PRESETS.items() for preset in of.chosen]


@pytest.mark.parametrize(("kind", "preset"), CHOSEN)
def test_ironcalc_and_torch_have_the_numbers_of_the_definitions(kind: str, preset: str) -> None:
    of = PRESETS[kind]
    found = of.board.switched(preset, {})
    assert of.wrong(preset, found) == []
    assert found["total_loss"].item() == pytest.approx(of.loss(preset), abs=TOLERANCE)
    assert apart(of.book(preset)) == {}


@pytest.mark.usefixtures("needs_libreoffice")
@pytest.mark.parametrize("kind", PRESETS)
def test_libreoffice_has_the_numbers_of_the_definitions(kind: str, tmp_path: Path) -> None:
    of = PRESETS[kind]
    for preset, found in of.in_libreoffice(tmp_path):
        assert of.wrong(preset, found) == [], preset
        assert found["total_loss"].item() == pytest.approx(of.loss(preset), abs=TOLERANCE), preset


def test_an_overflow_is_a_sentence_in_python() -> None:
    base = load("grpo-batch")
    far = np.array(base["old.logits"])
    far[1, 0] -= 900 * (np.array(base["text.vocabulary"]) == base["text.responses"][1][0])
    with pytest.raises(NoNumber, match=r"ratio \(n = 2, t = 1, Ratio!\w+\) has no number: exp\(899.9921\) is beyond"):
        Book(blueprint_of(replace(base, parts={**base.parts, "old.logits": far})))


def test_an_overflow_is_a_sentence_in_the_sheet() -> None:
    board = PRESETS["grpo"].board
    engine = Engine(board.path)  # not the board's, which has only what is compared
    place, start = board.places["old.logits"], engine.sheets["Start"]
    written = int(board.book.values[board.book.blocks["rollout.written"]][1, 0])
    (row, column) = next((row, column) for at, row, column in place.cells() if at == (1, 0, written))
    engine.type(place.sheet, row, column, -900.0)
    engine.evaluate()
    cells = (engine.model.get_cell_value(start, *at) for at in product(range(1, 20), range(1, 20)))
    assert any("no number: what was typed is too large" in str(each) for each in cells)


def test_far_logits_and_a_policy_that_is_the_reference_still() -> None:
    """Log-ratios of hundreds on chosen responses, of 0 on the others: every slope is torch's, and ironcalc has every number."""
    base = load("dpo-batch", ("preset=simpo", "gradients=on"))
    chosen = np.array(base["text.chosen"])[:, None, None]
    logits = np.where(chosen > 0, 300 * np.array(base["policy.logits"]), np.array(base["reference.logits"]))
    far = Book(blueprint_of(replace(base, parts={**base.parts, "policy.logits": logits})))
    arrays = {block.name: array for block, array in far.values.arrays.items()}
    assert np.abs(arrays["chosen.against"]).max() > 500
    assert apart(far) == {}
    assert any(name.endswith(".grad") for name in arrays)
    found = Switchboard(far).switched("simpo", {})
    ours = {block.name: array for block, array in far.values.arrays.items() if not block.typed}
    assert [name for name, each in ours.items() if not distance(each, found[name]) <= TOLERANCE] == []
