"""How much of the package one reads who follows a setting to its cells: it does not grow unseen."""

from __future__ import annotations

from pathlib import Path

from tests.code_run import build, run_by

MOST_CODE_OBJECTS, MOST_FILES = 720, 50
"""699 in 48 ran when it was counted last (Python 3.11, where comprehensions count); a change that needs more says why."""


def test_a_build_runs_no_more_of_the_package_than_it_did() -> None:
    build(0.9)
    calls = run_by(lambda: build(0.95))
    assert len(calls) <= MOST_CODE_OBJECTS
    assert len({Path(code.co_filename) for code in calls}) <= MOST_FILES


def test_what_runs_is_counted_with_its_calls() -> None:
    from blueprint.quoting import unquoted

    calls = run_by(lambda: [unquoted("a"), unquoted("b")])
    assert calls[unquoted.__code__] == 2
