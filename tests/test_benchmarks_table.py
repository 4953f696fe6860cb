"""The table of the benchmarks: the ratios, as the README prints them, and no time of a function that does nothing."""

from pathlib import Path

from tests.benchmarks.conftest import table_of


def test_the_table_has_the_median_ratio_and_the_least_and_largest() -> None:
    found = [("a.py::test_build", [1.9, 1.8, 2.04]), ("a.py::test_verify[size]", [4.0])]
    assert table_of(found) == [
        "| | ratio | all |",
        "|---|---|---|",
        "| test_build | 1.9 | 1.8 … 2.0 (3) |",
        "| test_verify[size] | 4.0 | 4.0 … 4.0 (1) |",
    ]
    assert table_of([]) == []


def test_no_benchmark_times_a_function_that_does_nothing() -> None:
    for path in (Path(__file__).parent / "benchmarks").glob("*.py"):
        assert "pedantic(lambda: None" not in path.read_text(encoding="utf-8"), path
