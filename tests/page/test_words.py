"""Words that a spreadsheet could take for a formula, a number or a link stay words, with their own ids."""

import json
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import ironcalc
import numpy as np
import pytest
from xlsxwriter.worksheet import Worksheet

from blueprint.page.read import read
from tests.audit import spoil
from tests.page.finished import MAIN
from tests.page.workshop import Array, blocks_in, located, made

WORDS = ["<eos>", "=1+1", "@x", "+a", "1e5", "TRUE", "{=1}", "http://x"]
PROMPTS = [["=1+1", "TRUE", "1e5", "http://x"], ["+a", "{=1}", "@x"]]
IDS = [[1, 5, 4, 7], [3, 6, 2]]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves a workbook of odd words, all cached values spoiled."""
    folder = tmp_path_factory.mktemp("words")
    book = made(f"text.vocabulary={json.dumps(WORDS)}", f"text.prompts={json.dumps(PROMPTS)}", "seed=5")
    book.save(folder / "book.xlsx")
    spoil(folder / "book.xlsx", folder / "spoiled.xlsx")
    return folder / "spoiled.xlsx"


@pytest.fixture(scope="module")
def blocks(path: Path) -> dict[str, Array]:
    """Recalculates it in ironcalc."""
    model = ironcalc.load_from_xlsx(str(path))
    model.evaluate()
    return blocks_in(model, located(path))


def test_the_vocabulary_and_the_prompts_are_typed_as_text(path: Path, blocks: dict[str, Array]) -> None:
    for found in (blocks, read(path)):
        assert found["vocabulary"].tolist() == WORDS
        assert [[word for word in row if word] for row in found["given"].tolist()] == PROMPTS


def test_each_word_has_its_own_id(blocks: dict[str, Array]) -> None:
    for row, ids in zip(blocks["given_id"], IDS, strict=True):
        assert row[: len(ids)].tolist() == ids


def test_what_is_written_is_the_word_of_the_id(blocks: dict[str, Array]) -> None:
    words, ids = blocks["word_written"], blocks["rollout.written"].astype(int)
    written = words != ""
    assert words[written].tolist() == np.array(WORDS, dtype=object)[ids[written]].tolist()
    assert len(set(words[written])) >= 7  # nearly every odd word is written somewhere


def test_no_word_becomes_a_formula_or_a_link(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        xml = {name: archive.read(name).decode() for name in archive.namelist() if name.endswith((".xml", ".rels"))}
    # Words as such: those of the cells, and those that stand beside what a chart draws.
    texts = {"xl/sharedStrings.xml", *(name for name in xml if name.startswith("xl/charts/"))}
    assert [name for name, text in xml.items() if "http://x" in text and name not in texts] == []
    assert [name for name, text in xml.items() if "<f>1+1" in text or "<f>=1+1" in text] == []


INJECTED = [
    "<eos>",
    "{=1+1}",
    "=1+1",
    "=cmd|'/C!A0",
    "+1",
    "+1+cmd|'/C!A0",
    "-1",
    "-1+1",
    "@SUM(1)",
    "1e5",
    "'1",
    "mailto:a",
]


def test_no_cell_is_written_by_a_guess_at_what_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`write` of the writer guesses: 3.2.0 makes an array formula of {=1+1}, whatever its options say."""

    def guessed(self: Worksheet, *what: object) -> int:
        raise AssertionError(f"the writer was left to guess what {what} is")

    monkeypatch.setattr(Worksheet, "write", guessed)
    book = made(f"text.vocabulary={json.dumps(INJECTED)}", 'title="{=1+1}"', 'about="=1+1"', "seed=5")
    formulas = book.save(tmp_path / "book.xlsx")
    with zipfile.ZipFile(tmp_path / "book.xlsx") as archive:
        sheets = [archive.read(name) for name in archive.namelist() if name.startswith("xl/worksheets/sheet")]
        kept = archive.read("xl/sharedStrings.xml").decode()
    written = [formula for sheet in sheets for formula in ET.fromstring(sheet).iter(f"{MAIN}f")]
    assert len(written) == formulas
    assert [formula.attrib for formula in written if formula.attrib] == []  # neither arrays nor shared ones
    assert [word for word in INJECTED if f">{escape(word)}</t>" not in kept] == []
