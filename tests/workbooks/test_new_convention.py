"""A new convention is its record and the definition that reads it: made in a copy of the package, it is seen everywhere."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.workbooks.copied import PACKAGE, changed, copied, run

RECORD = """
[value.scale]
symbol = "f_s"
meaning = "another factor of the value loss"
default = 1
high = 10
phrase = "value loss scaled by {}"
note = "No library has it."

[[value.scale.called]]
verl = "critic.loss_scale"
"""
READS = re.compile(r'(\w+)\.used\["value\.factor"\]')
"""How the definition of the value loss reads the factor that is there already."""

ASK = """
import json
from blueprint.book import Book
from blueprint.dumps.metadata import mentioned
from blueprint.inputs import load, schema_of, toml_of
from blueprint.comparison.page import Telling
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.conventions import LIVE, rlhf
from tests.dumps.pages import SETTING, names

once, twice = (Book(blueprint_of(load("default", ["conventions=live", f"value.scale={scale}"]))) for scale in (1, 2))
values = rlhf().preset("verl").values | {"value.scale": 2.0}
print(json.dumps({
    "losses": [float(book.values.cell(book.blocks["value_loss"])) for book in (once, twice)],
    "rows": [name for name in once.blocks if name.endswith("value.scale")],
    "note": once.blueprint.notes["value.scale"],
    "table": [line for line in names(SETTING).splitlines() if "value.scale" in line],
    "file": [line for line in toml_of(load("default", ["value.scale=2"])).splitlines() if line.startswith("scale")],
    "schema": schema_of()["$defs"]["weights"]["properties"]["value"]["properties"]["scale"],
    "mentioned": mentioned({"hyperparameters": {"critic.loss_scale": 3}}, "verl").settings["value.scale"],
    "said": Telling(None, LIVE).phrase("value.scale", values),
}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies the package and makes a convention there: it touches two files, the record's and the definition's."""
    folder = copied(tmp_path_factory.mktemp("copy"))
    with open(folder / "blueprint" / "workbooks" / "common" / "conventions.toml", "a", encoding="utf-8") as records:
        records.write(RECORD)
    reading = [
        path
        for path in (folder / "blueprint" / "workbooks" / "common").rglob("*.py")
        if READS.search(path.read_text("utf-8"))
    ]
    assert len(reading) == 1
    definition = reading[0].read_text(encoding="utf-8")
    reading[0].write_text(READS.sub(r'\g<0> * \1.used["value.scale"]', definition), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def seen(copy: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(copy, "-c", ASK))
    return found


def test_it_is_two_files(copy: Path) -> None:
    record, definition = changed(copy)
    assert record == "workbooks/common/conventions.toml"
    assert definition.startswith("workbooks/common/definitions/")


def test_the_definition_reads_it(seen: dict[str, Any]) -> None:
    once, twice = seen["losses"]
    assert twice == pytest.approx(2 * once, rel=1e-12)


def test_it_stands_on_the_sheets_with_its_note(seen: dict[str, Any]) -> None:
    assert seen["rows"] == ["value.scale", "presets.value.scale", "library.value.scale"]
    assert seen["note"] == "No library has it."


def test_it_is_in_the_table_of_the_docs(seen: dict[str, Any]) -> None:
    assert seen["table"] == ["| `value.scale` | | | | `critic.loss_scale` | | | |"]


def test_numbers_files_metadata_and_sentences_know_it(seen: dict[str, Any]) -> None:
    assert seen["file"] == ["scale = 2.0                     # f_s: another factor of the value loss; 0 to 10"]
    assert seen["schema"]["description"] == "f_s: another factor of the value loss"
    assert seen["mentioned"] == 3
    assert seen["said"] == "value loss scaled by 2"


def test_it_is_listed_by_presets(copy: Path) -> None:
    assert "value.scale = 1  (0 … 10)\n    another factor of the value loss\n" in run(
        copy, "-m", "blueprint", "presets", "--keys"
    )


def test_no_witness_reads_a_record() -> None:
    """It shares the names of settings with the definitions, and nothing that stands in a record."""
    witnesses = [PACKAGE / "witness", *(PACKAGE / "workbooks").glob("*/paper.py")]
    files = [file for place in witnesses for file in (place.rglob("*.py") if place.is_dir() else [place])]
    assert len(files) > 10
    read = re.compile(r"conventions\.toml|presets\.csv|settings_in|data_in|tomllib|labels\.csv")
    assert [file.name for file in files if read.search(file.read_text(encoding="utf-8"))] == []
