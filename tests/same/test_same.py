"""The tool that proves that nothing changed sees a changed formula, number, text and command, and rounding it does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import blueprint as bp
from tests.same.cases import BookCase, SaidCase, books, said
from tests.same.compare import compare, differences
from tests.same.record import Record, of_book, of_command, of_file, read, record

Recorded = tuple[Record, np.ndarray]


@pytest.fixture(scope="module")
def plain() -> Recorded:
    return of_book(BookCase("by-hand", None, False))


def changed(tmp_path: Path, **options: object) -> Recorded:
    path = tmp_path / "changed.xlsx"
    bp.build("by-hand", **options).save(path)  # type: ignore[arg-type]
    return of_file(path)


def test_a_second_build_is_the_same(plain: Recorded) -> None:
    assert plain[1].size > 100
    again = of_book(BookCase("by-hand", None, False))
    assert list(differences(plain[0], again[0], plain[1], again[1])) == []


def test_another_setting_is_another_number(plain: Recorded, tmp_path: Path) -> None:
    now, numbers = changed(tmp_path, set={"ppo.gamma": 0.5})
    lines = list(differences(plain[0], now, plain[1], numbers))
    assert any("numbers differ, as" in line for line in lines), lines


def test_other_rows_are_seen(plain: Recorded, tmp_path: Path) -> None:
    now, numbers = changed(tmp_path, gradients=True)
    lines = list(differences(plain[0], now, plain[1], numbers))
    assert any(line.startswith("xl/worksheets/") for line in lines)


def test_the_last_bits_are_not_a_difference(plain: Recorded) -> None:
    record_, numbers = plain
    assert list(differences(record_, record_, numbers, numbers * (1 + 1e-15))) == []
    assert list(differences(record_, record_, numbers, numbers * (1 + 1e-9)))
    was, now = ({"code": 0, "out": f'{{"loss": {loss}}}'} for loss in ("0.30000000000000004", "0.3"))
    assert list(differences(was, now, np.zeros(0), np.zeros(0))) == []
    assert list(differences(was, {**now, "out": '{"loss": 0.31}'}, np.zeros(0), np.zeros(0)))


def test_a_refusal_is_recorded_as_one(plain: Recorded) -> None:
    refused, none = of_book(BookCase("optimum", "verl", False))
    assert refused["refused"]
    assert none.size == 0
    assert list(differences(plain[0], refused, plain[1], none))


def test_a_command_is_its_code_and_its_words(tmp_path: Path) -> None:
    case = SaidCase("list", ("list",))
    found, _ = of_command(case)
    assert found["code"] == 0
    assert "very-very-sleepy" in found["out"]
    record([case, BookCase("very-very-sleepy", None, False)], tmp_path / "a", workers=1)
    record([case], tmp_path / "b", workers=1)
    lines, count = compare(tmp_path / "a", tmp_path / "b")
    assert (lines, count) == (["very-very-sleepy: not recorded again"], 1)
    assert {read(path)[0]["name"] for path in (tmp_path / "a").glob("*.npz")} == {"list", "very-very-sleepy"}


def test_every_kind_and_every_recorded_run_is_among_the_cases() -> None:
    names = {case.name for case in books()}
    assert {"default", "default:verl", "default:verl:gradients", "grpo-batch:gspo_paper", "optimum"} <= names
    asked = [case.arguments for case in said()]
    assert {arguments[0] for arguments in asked} >= {
        "verify",
        "inspect",
        "check",
        "explain",
        "which",
        "presets",
        "list",
    }
    whole = [arguments for arguments in asked if arguments[0] == "verify" and len(arguments) > 3]
    assert len(whole) > 20
