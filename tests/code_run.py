"""Counts what of the package runs in one build: what somebody would read who follows a setting to its cells.

    python -m tests.code_run               # how many code objects in how many files, and those of each file
    python -m tests.code_run --each        # and which they are, with the number of calls

A code object is a function, a lambda or a comprehension. It is the second build of a process: modules are loaded, and files read.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import blueprint as bp

PACKAGE = Path(bp.__file__).parent


def build(gamma: float) -> None:
    """Builds the default workbook with another γ."""
    bp.build("default", set={"ppo.gamma": gamma})


def run_by(work: Callable[[], object]) -> Counter[CodeType]:
    """Returns the code objects of the package that run, and how often each does."""
    calls: Counter[CodeType] = Counter()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
            calls[frame.f_code] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def main() -> None:
    """Prints the counts."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--each", action="store_true", help="list the code objects of each file")
    each = options.parse_args().each
    build(0.9)
    calls = run_by(lambda: build(0.95))
    files = Counter(Path(code.co_filename).relative_to(PACKAGE).as_posix() for code in calls)
    print(f"{len(calls)} code objects in {len(files)} files, {calls.total()} calls")
    for name, count in files.most_common():
        print(f"{count:4} {name}")
        inside = [code for code in calls if each and code.co_filename == str(PACKAGE / name)]
        for code in sorted(inside, key=lambda code: code.co_firstlineno):
            print(f"       line {code.co_firstlineno}: {code.co_qualname}, {calls[code]} calls")


if __name__ == "__main__":
    main()
