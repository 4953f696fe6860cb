"""Files as students hand them in: whose they are, and what stands in their blanks, whatever program wrote them."""

from pathlib import Path

import pytest

from blueprint.classes.key import Key
from blueprint.classes.submission import read_submission
from tests.classes.handing_in import Asked, hand_in, key_of, right

ASKED: list[Asked] = [
    ("td_errors", [(0, 0)], "number"),
    ("advantages", [(0, 0), (0, 1), (0, 2)], "formula"),
    ("surrogate", [(1,)], "number"),
]


@pytest.fixture(scope="module")
def key() -> Key:
    return key_of("very-very-sleepy", ASKED, {"4711": {}, 'O\'Neil, "Zoë"': {}})


@pytest.fixture(scope="module")
def handed(key: Key, tmp_path_factory: pytest.TempPathFactory) -> Path:
    answers = right(key, key.students[0])
    answers |= {"b01": ["0,5"], "b02": ["=1+1→0.25", "=2*3", None]}
    return hand_in(tmp_path_factory.mktemp("in") / "a.xlsx", key, key.students[0], answers)


def test_numbers_texts_formulas_and_empty_cells_are_read(key: Key, handed: Path) -> None:
    found = read_submission(handed, key)
    assert found.refused == ""
    assert found.tokens == {"property": key.students[0].token, "name": key.students[0].token}
    assert [each.number for each in found.answers["b01"]] == [0.5]
    assert [each.number for each in found.answers["b02"]] == [0.25, 6, None]
    assert [each.formula for each in found.answers["b02"]] == ["1+1", "2*3", None]
    assert found.answers["b03"][0].number == right(key, key.students[0])["b03"][0]
