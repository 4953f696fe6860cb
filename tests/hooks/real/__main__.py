"""Runs real libraries with the hooks of the page in them, and verifies what these wrote.

    python -m tests.hooks.real                 all of them
    python -m tests.hooks.real trl_1_12        one; its environment, the hooked source and the files go to build/hooks

A name goes with a script in `runs`. Environments take minutes and gigabytes the first time, and stay.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.hooks.page import HOOKS, ROOT
from tests.hooks.real.libraries import RUNS
from tests.hooks.real.tree import environment, hooked, ran


def verified(files: list[Path]) -> int:
    """Verifies each file; returns how many do not end with 0, and prints what verify said of those."""
    wrong = 0
    for file in files:
        said = subprocess.run(
            [sys.executable, "-m", "blueprint", "verify", str(file)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        wrong += said.returncode != 0
        print(
            f"{file.name}: exit code {said.returncode}" + (f"\n{said.stdout}{said.stderr}" if said.returncode else "")
        )
    return wrong


def main(names: list[str], folder: Path) -> int:
    """Runs libraries by name, all if none is named; returns 0 if every file is verified."""
    wrong = 0
    for name in names or list(RUNS):
        run = RUNS[name]
        python = environment(run, folder / name / "environment")
        path = hooked(run, python, folder / name / "source", [HOOKS[hook] for hook in run.hooks])
        for argument in run.arguments:
            print(f"{name} {argument}: {run.library}")
            script = Path(__file__).parent / "runs" / f"{name}.py"
            wrong += verified(ran(script, argument, python, path, folder / name / argument))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path("build/hooks").resolve()))
