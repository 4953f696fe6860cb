"""Files in LibreOffice's own format: read like the others, and as bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.classes.grading_policy import GradingPolicy
from blueprint.classes.key import Key
from blueprint.classes.submission import read_submission
from blueprint.classes.worker import Job, Worker
from tests.classes.handing_in import Answer, Asked, hand_in, key_of, right
from tests.classes.open_documents import as_ods, written

ASKED: list[Asked] = [
    ("td_errors", [(0, 0)], "number"),
    ("advantages", [(0, 0), (0, 1), (0, 2)], "number"),
    ("surrogate", [(1,)], "number"),
]


@pytest.fixture(scope="module")
def key() -> Key:
    return key_of("very-very-sleepy", ASKED, {"4711": {}, "4712": {}})


def handed(key: Key, folder: Path, **answers: list[Answer]) -> Path:
    who = key.students[0]
    return as_ods(hand_in(folder / "a.xlsx", key, who, right(key, who) | answers), folder / "a.ods")


def test_an_ods_file_is_read_as_its_xlsx_twin(key: Key, tmp_path: Path) -> None:
    path = handed(key, tmp_path, b01=["≈ 0,5"], b02=["=1+1→0.25", None, 3.0])
    twin, found = (read_submission(tmp_path / name, key) for name in ("a.xlsx", "a.ods"))
    assert found.refused == ""
    assert found.tokens == dict.fromkeys(("name", "property"), key.students[0].token)
    assert found.tokens.items() <= twin.tokens.items()
    assert [(each.number, each.formula) for each in found.answers["b02"]] == [(0.25, "1+1"), (None, None), (3.0, None)]
    assert {id: [each.number for each in given] for id, given in found.answers.items()} == {
        id: [each.number for each in given] for id, given in twin.answers.items()
    }
    assert path.read_bytes()[:2] == b"PK"


def test_it_is_marked_and_what_was_locked_is_looked_at(key: Key, tmp_path: Path) -> None:
    worker = Worker(key, GradingPolicy.model_validate({}))
    worked = worker.work(Job(handed(key, tmp_path)))
    assert (worked.owners, worked.refused, worked.edited) == (("4711",), "", ())
    assert worked.marks is not None
    assert {mark.status for mark in worked.marks.values()} == {"right"}


CELL = '<table:table-cell office:value-type="float" office:value="1"{}/>'
ROW = "<table:table-row{}>{}</table:table-row>"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (ROW.format(' table:number-rows-repeated="1048576"', CELL.format("")), "more than 300,000 cells"),
        (ROW.format("", CELL.format(' table:number-columns-repeated="99999"')), "more cells than a sheet has columns"),
        (ROW.format("", CELL.format(' table:number-columns-repeated="-3"')), "is repeated '-3' times"),
        (ROW.format("", CELL.format(' table:number-columns-repeated="99999999999"')), "is repeated"),
        (ROW.format("", CELL.format("").replace('"1"', '"many"')), "holds 'many', which no program writes"),
        (ROW.format("", '<table:table-cell table:formula="of:=DDE(&quot;a&quot;)"/>'), "calls another program"),
        (ROW.format("", "<table:table-cell>"), "no workbook in xlsx format"),
    ],
)
def test_a_hostile_file_is_refused_in_a_sentence(key: Key, tmp_path: Path, body: str, says: str) -> None:
    path = written(tmp_path / "a.ods", f'<table:table table:name="A">{body}</table:table>')
    assert says in read_submission(path, key).refused


def test_macros_and_entities_are_refused(key: Key, tmp_path: Path) -> None:
    sheet = '<table:table table:name="A"/>'
    path = written(tmp_path / "a.ods", sheet, **{"Basic/Standard/Module1.xml": "<a/>"})
    assert "holds macros" in read_submission(path, key).refused
    path = written(tmp_path / "b.ods", sheet + "<!DOCTYPE a>")
    assert "declares entities" in read_submission(path, key).refused


def test_rows_that_only_stand_between_cost_nothing(key: Key, tmp_path: Path) -> None:
    empty = '<table:table-row table:number-rows-repeated="1048570"><table:table-cell/></table:table-row>'
    path = written(tmp_path / "a.ods", f'<table:table table:name="A">{empty}</table:table>')
    assert "it has no sheet Reward & advantage, where blank 1" in read_submission(path, key).refused
