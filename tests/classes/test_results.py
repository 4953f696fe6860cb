"""Results: what is written is read again; what is no such file is refused in a sentence."""

from pathlib import Path

import pytest

from blueprint.classes import ClassError
from blueprint.classes.results import FILE, Flag, Mark, Marked, Result, Results


def _results() -> Results:
    mark = Mark(points=0.8, status="carried", why="it follows from your b01", given=[0.5, None], came_from=["b01"])
    return Results(
        assignment="hw1",
        points=2.0,
        blanks=[Marked(id="b01", title="δ, “TD error”"), Marked(id="b02", title="advantages", weight=2.0)],
        results=[Result(student="=4711", name='O\'Neil, "Zoë" 🙂', marks={"b02": mark}, raw=1.6, total=1.6)],
        flags=[Flag(kind="foreign token", says="no student of this class", files=["a/b.xlsx"])],
    )


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert _results().save(tmp_path) == tmp_path / FILE
    assert Results.load(tmp_path) == _results() == Results.load(tmp_path / FILE)
    assert _results().of("=4711") is not None
    assert _results().of("4711") is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read as results (no such file or directory): name a folder"),
        ("{", "holds no results: Invalid JSON"),
        ('{"assignment": "a", "points": 1, "blanks": [], "results": [{"student": 3}]}', "results.0.student"),
        ('{"version": 2, "assignment": "a", "points": 1, "blanks": [], "results": []}', "holds no results: version"),
    ],
)
def test_what_holds_no_results_is_refused(tmp_path: Path, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(ClassError) as refused:
        Results.load(tmp_path)
    assert says in str(refused.value)
