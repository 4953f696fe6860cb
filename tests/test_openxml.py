"""Every file that a command writes is sound Office Open XML: a validator has no findings (`tests/openxml.py`).

What the commands of a class write is validated in `tests/classes/test_round_trip.py`, where a whole class is made and graded.
"""

import shlex
import zipfile
from pathlib import Path

import pytest
from lxml import etree

from tests.commands import run_command
from tests.openxml import COUNTED_ANEW, _sibling_position, findings
from tests.page.workshop import MAINS

DATA = Path(__file__).parent / "data"
DUMP = str(min((DATA / "real" / "trl_1_12").rglob("*.safetensors")))
BUILDS = {name: f"blueprint build --no-proof --numbers {name}" for name in MAINS.values()}
OTHERS = {
    "epochs and minibatches": "blueprint build --no-proof --numbers epochs --epochs 1 --minibatches 2",
    "gradients": "blueprint build --no-proof --numbers sft --gradients",
    "a witness": "blueprint build --no-proof --numbers very-very-sleepy --witness",
    "a minibatch": f"blueprint import {DUMP} --no-proof --tokens 16 --gradients -o a.xlsx",
    "a worksheet and its answers": "blueprint worksheet --numbers very-very-sleepy --no-proof --blanks 3 --answers answers.xlsx",
    "rebuilt": "blueprint rebuild given.xlsx -o b.xlsx --no-proof",
}
COMMANDS = BUILDS | OTHERS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_workbook_that_a_command_writes_is_sound(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if name == "rebuilt":
        assert run_command("build", "--numbers", "classic", "--no-proof", "-o", "given.xlsx").exit_code == 0
    _, *arguments = shlex.split(COMMANDS[name])
    result = run_command(*arguments)
    assert result.exit_code == 0, result.output
    written = [path for path in tmp_path.rglob("*.xlsx") if path.name != "given.xlsx"]
    assert len(written) == 1 + ("--answers" in arguments)
    assert [found for path in written for found in findings(path)] == []


@pytest.mark.parametrize(
    ("sound", "broken", "says"),
    [
        ("<sheetData>", "<mergeCells/><sheetData>", "Unexpected element 'sheetData' found"),
        (' t="str"', ' t="strange"', "Value 'strange' is not in allowed values"),
        ('<c r="B1" s="', '<c r="B1" s="x', "Invalid integer value"),
    ],
)
def test_a_fault_would_be_found(sound: str, broken: str, says: str, tmp_path: Path) -> None:
    """A validator that finds nothing in anything proves nothing."""
    arguments = ["build", "--numbers", "kl-controller", "--no-proof", "-o", str(tmp_path / "a.xlsx")]
    assert run_command(*arguments).exit_code == 0
    with zipfile.ZipFile(tmp_path / "a.xlsx") as source, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as target:
        for part in source.namelist():
            text = source.read(part)
            if part == "xl/worksheets/sheet1.xml":
                assert sound.encode() in text
                text = text.replace(sound.encode(), broken.encode(), 1)
            target.writestr(part, text)
    assert any(says in found for found in findings(tmp_path / "b.xlsx"))


def test_places_are_counted_as_the_validator_counts_them() -> None:
    tree = etree.fromstring("<a><b/><c/><b><c/><c/></b><!-- a comment --><b/></a>")
    assert [_sibling_position(each) for each in tree.iter("*")] == [COUNTED_ANEW(each) for each in tree.iter("*")]
    assert _sibling_position(tree[4]) == 3
