"""Bugs planted in the code of TRL, verl and OpenRLHF: the cause is named first; without a bug nobody is accused."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from tests.verifying.bugs import kept
from tests.verifying.bugs.__main__ import is_named, verdict_of
from tests.verifying.bugs.planted import Bug, planted
from tests.verifying.bugs.running import RUN

BUGS = [bug for bugs in planted().values() for bug in bugs]
ASKED = BUGS[::3]
"""A third of them, for the time it takes: `python -m tests.verifying.bugs` asks for all."""


@pytest.mark.parametrize("library", RUN)
def test_a_step_without_a_bug_agrees(library: str) -> None:
    assert verdict_of(library, kept.read(f"clean {library}")).agrees


@pytest.mark.parametrize("bug", ASKED, ids=lambda bug: f"{bug.library}: {bug.said}")
def test_the_bug_is_named_first(bug: Bug) -> None:
    verdict = verdict_of(bug.library, kept.read(bug.said))
    assert not verdict.agrees
    assert is_named(bug, verdict), [each.said for each in verdict.causes]


def test_what_is_kept_is_of_every_bug_and_each_is_another() -> None:
    assert set(kept.names()) == {bug.said for bug in BUGS} | {f"clean {library}" for library in RUN}
    assert len(BUGS) == len({bug.said for bug in BUGS}) >= 40
    assert all(bug.old != bug.new for bug in BUGS)
