"""Each quantity has one definition: across all kinds of workbook a name of a block has its equation from one line of Python.

A method on one page (`ONE_SCREEN`) is a second reading of it, without switches: plain workbooks have their equations from there.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import defaultdict
from importlib.resources import files
from pathlib import Path

import pytest

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.language import Block, Sum
from blueprint.language.axes import Position
from blueprint.page.outline import Blueprint, Section, key
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.conventions import LIVE
from blueprint.workbooks.common.labels import Label, Labels, labels
from blueprint.workbooks.rlhf_ppo import sheets
from blueprint.workbooks.rlhf_ppo.gradients_and_epochs import WEIGHTS
from tests.page.workshop import MAINS
from tests.replayed import window_book, with_everything_logged

PLAIN = json.loads((Path(__file__).parents[1] / "data" / "plain_equations.json").read_text(encoding="utf-8"))
"""The equations of the plain workbooks as they were when each kind of workbook still had definitions of its own."""

OWN_LINES = ("grpo", "sft")
"""Kinds of which forty names are not yet defined by the line that other kinds have them from."""
NUMBERS: dict[str, tuple[str, tuple[str, ...]]] = {
    **{name: (name, ()) for kind, name in MAINS.items() if kind not in OWN_LINES},
    "very-very-sleepy": ("very-very-sleepy", ()),
    "typed responses": ("default", ('rollout.responses=["happy very <eos>", "sleepy"]',)),
    "live": ("default", ("conventions=live", "gradients=on")),
    "ten-libraries": ("ten-libraries", ()),
    "minibatches": ("epochs", ("update.minibatches=2", "update.epochs=1", "conventions=live")),
    "smooth L1": ("classic", ("preset=torchrl",)),
    "path": ("q-learning-path", ()),
    "choices": ("dpo", ()),
    "scores": ("reward-batch", ()),
    "rankings": ("reward-model", ()),
}

EXCEPTIONS = {
    "check.length": "two checks: of tokens that may be written, and of a response's tokens in the KL controller",
    "count.pairs": "the pairs that are given, or all pairs of a language that is small enough",
    "curve.ratio": "the corners of the clip's curve: two where the clip is one number, more where its sides differ",
    "reference.logp": "of a given response, or of every response of such a language",
    "rollout.written": "what is drawn in a rollout, or the token that stands in a given text",
    "share": "one sum where all parts weigh a token alike, else a row for each weight and their sum",
    "slots": "the positions that a prompt leaves free, or every column of a given text",
    "slots (t.last + 1)": "the same",
    "surrogate": "the smaller of two, or that and the floor of a dual clip",
    "total_loss": "what the parts of each kind of workbook add up to: its parts differ",
    "value.distance": "the norm of the value loss, the square or smooth L1, is laid out when a file is built",
    "value.clipped.distance": "the same",
    **dict.fromkeys(WEIGHTS, "the old weight moved by a typed Δ, or as it is, where an optimiser sets out"),
}
"""Names that have a second line, and why."""

BETTER: dict[str, str] = {
    "check.prompt.failed": "“0 + ” before the first check said nothing",
    "check.settings.failed": "the same, where the settings are checked first",
    "clip_fraction.outside": "the distance from the clipped ratio: as the clip itself has it, to the last bit",
    "value.clipped": "held by its ends, a value within the range stays itself to the last bit",
    "check.settings": "a running sum, and is called one",
    **dict.fromkeys(
        (
            "clip_range.outside",
            "ent_coef.outside",
            "gae_lambda.outside",
            "kl_coef.outside",
            "policy_kl_coef.outside",
            "update_step.outside",
            "value_clip_range.outside",
            "vf_coef.outside",
            "whiten_eps.outside",
        ),
        "reads a running sum, and calls it one",
    ),
    "response.words": "at least 1, as in every other workbook: where it says so, an empty batch divides by no 0",
}
"""Equations of the plain workbooks that are others than they were, and why."""

RENAMED = {"value.residual_mean": "value.residual.mean"}
"""What stands under another name by now."""

ONE_SCREEN = ("rlhf_ppo/ppo.py",)
"""Files that hold a whole method on one page."""
Lines = dict[str, set[str]]


class Recorded:
    """What was built: blueprints by name, the lines that define each block, and the labels that were read."""

    def __init__(self) -> None:
        """Starts with nothing."""
        self.lines: Lines = defaultdict(set)
        self.on_one_screen: Lines = defaultdict(set)
        self.blueprints: dict[str, Blueprint] = {}
        self.labels: set[tuple[str, str]] = set()


def cells(block: Block, target: tuple[object, ...]) -> str:
    """Names what an equation fills: the block, and where that is an end column or a part of an axis, that too."""
    pairs = zip(target, block.axes, strict=True)
    parts = [str(at) for at, axis in pairs if not (isinstance(at, Position) and at.axis is axis)]
    name = block.name if block.name.removeprefix("library.") in SETTINGS else block.name.removeprefix("library.")
    return f"{name} ({', '.join(parts)})" if parts else name


SETTINGS = {*LIVE, *(f"{key}.number" for key in LIVE)}
"""What stands beside “library.” is a setting of the table for these, and no row of the same definition."""


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    found = Recorded()
    write, of = Block.__setitem__, Labels.of

    def record(self: Block, at: object, value: object) -> None:
        write(self, at, value)  # type: ignore[arg-type]
        frame = sys._getframe(1)
        while frame.f_code.co_name in ("defined", "along", "row", "each", "one", "step") and frame.f_back:
            frame = frame.f_back  # what makes and defines a block in one go is called where its equation stands
        file = "/".join(Path(frame.f_code.co_filename).parts[-2:])
        lines = found.on_one_screen if file in ONE_SCREEN else found.lines
        lines[cells(self, self.definitions[-1].target)].add(f"{file}:{frame.f_lineno}")

    def asked(self: Labels, name: str) -> Label:
        found.labels.add((name, of(self, name).meaning))
        return of(self, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Block, "__setitem__", record)
        patch.setattr(Labels, "of", asked)
        for name, (numbers, overrides) in NUMBERS.items():
            found.blueprints[name] = blueprint_of(load(numbers, overrides))
        found.blueprints["a minibatch"] = window_book(batch=with_everything_logged()).blueprint
    return found


def test_a_page_is_a_second_reading_and_has_each_name_once(recorded: Recorded) -> None:
    assert len(recorded.on_one_screen) > 30
    assert {name: lines for name, lines in recorded.on_one_screen.items() if len(lines) > 1} == {}
    assert recorded.on_one_screen.keys() - recorded.lines.keys() == set()


def test_a_name_has_its_equation_from_one_line(recorded: Recorded) -> None:
    twice = {name: lines for name, lines in recorded.lines.items() if len(lines) > 1}
    assert len(recorded.lines) > 800
    assert {name: lines for name, lines in twice.items() if name not in EXCEPTIONS} == {}
    assert EXCEPTIONS.keys() - twice.keys() == set(), "these have one line by now: take them from the exceptions"


@pytest.mark.parametrize("name", PLAIN)
def test_plain_equations_are_what_they_were(name: str, recorded: Recorded) -> None:
    now = {
        block.name: [str(definition.expr) for definition in block.definitions]
        for block in recorded.blueprints[name].blocks()
        if not block.typed
    }
    other = {block for block, equations in PLAIN[name].items() if now.get(RENAMED.get(block, block)) != equations}
    assert other - BETTER.keys() == set()


def test_every_better_equation_is_another_one(recorded: Recorded) -> None:
    texts = {
        (name, block.name): [str(definition.expr) for definition in block.definitions]
        for name in PLAIN
        for block in recorded.blueprints[name].blocks()
    }
    changed = {
        block
        for name, equations in PLAIN.items()
        for block, was in equations.items()
        if texts.get((name, RENAMED.get(block, block)), was) != was
    }
    assert BETTER.keys() - changed == set(), "these are what they were: take them from the list"


@pytest.mark.parametrize("package", ["blueprint.workbooks.common", "blueprint.workbooks.classic_ppo"])
def test_every_label_is_a_blocks(package: str, recorded: Recorded) -> None:
    table = files(package).joinpath("labels.csv").read_text(encoding="utf-8")
    written = {(row["name"], row["meaning"]) for row in csv.DictReader(table.splitlines())}
    assert len(written) > 40
    assert written - recorded.labels == set()


def test_a_new_metric_is_a_definition_a_label_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What CONTRIBUTING says of a new diagnostic, done in memory: number, formula, label and place follow."""

    def squares(see: sheets.Inputs) -> Section:
        A, (n, t) = see.rows["advantages"], see.rows["advantages"].axes
        made = see.use.one("advantage.energy")
        made[()] = Sum((n, t), A[n, t] * A[n, t])
        return Section("Energy of the advantages", (key(made),))

    label = Label("A²_sum", "energy of the advantages", "≥ 0")
    monkeypatch.setitem(labels(), "advantage.energy", label)
    monkeypatch.setattr(sheets, "OUTLINE", (*sheets.OUTLINE, squares))
    book = Book(blueprint_of(load("default")))
    block = next(block for block in book.blueprint.blocks() if block.name == "advantage.energy")
    A = book["advantages"].to_numpy()
    assert float(book.values.cell(block)) == pytest.approx(float((A[:, : A.shape[1]] ** 2).sum()), rel=1e-12)
    assert book.layout.places[block].sheet == "Diagnostics"
    shown = {each.text for each in book.layout.labels if each.sheet == "Diagnostics"}
    assert {"A²_sum", "energy of the advantages", "A²_sum = Σ_n,t A·A"} <= shown
