"""Runs real libraries with the hooks of the page in them, and verifies what these wrote.

    python -m tests.hooks.real                 all of them
    python -m tests.hooks.real trl_1_12        one; its environment, the hooked source and the files go to build/hooks
    python -m tests.hooks.real --keep          and keeps the files of each first step in tests/data/real

A name goes with a script in `runs`. Environments take minutes and gigabytes the first time, and stay.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path

from tests.hooks.page import HOOKS, ROOT, Hook
from tests.hooks.real.libraries import RUNS
from tests.hooks.real.tree import environment, hooked, ran


def verified(files: list[Path], singly: bool) -> int:
    """Verifies the files of each step, or each file; returns how many do not end with 0, and prints what verify says of them."""
    wrong = 0
    for step, members in groupby(
        files, key=(lambda file: file.name) if singly else lambda file: (kind_of(file), step_of(file))
    ):
        said = subprocess.run(
            [sys.executable, "-m", "blueprint", "verify", *map(str, members)],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        wrong += said.returncode != 0
        print(
            f"step {step}: exit code {said.returncode}" + (f"\n{said.stdout}{said.stderr}" if said.returncode else "")
        )
    return wrong


def step_of(file: Path) -> int:
    """Returns the step that a hook wrote into the name of its file."""
    return int(re.split(r"[_.]", file.name)[1])


def kind_of(file: Path) -> str:
    """Returns what a hook wrote in front of the step: several hooks of a run may write of different things."""
    return file.name.split("_")[0]


def kept(name: str, argument: str, files: list[Path], hooks: list[Hook]) -> None:
    """Keeps the files of the first step, each kind in a folder of its own, and digests of the hooks that wrote them."""
    first, kinds = min(map(step_of, files)), {kind_of(file) for file in files}
    for kind in kinds:
        folder = ROOT / "tests" / "data" / "real" / name / (argument if len(kinds) == 1 else f"{argument}-{kind}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file in files:
            if step_of(file) == first and kind_of(file) == kind:
                shutil.copyfile(file, folder / file.name)
    digests = {hook.name: hook.digest for hook in hooks}
    (folder.parent / "hooks.json").write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")


def main(names: list[str], folder: Path) -> int:
    """Runs libraries by name, all if none is named; returns 0 if every file is verified."""
    keep, wrong = "--keep" in names, 0
    names = [name for name in names if name != "--keep"]
    for name in names or list(RUNS):
        run = RUNS[name]
        python = environment(run, folder / "environments" / run.library)
        hooks = [HOOKS[hook] for hook in run.hooks]
        path = hooked(run, python, folder / name / "source", hooks)
        for argument in run.arguments:
            print(f"{name} {argument}: {run.library}")
            script = Path(__file__).parent / "runs" / f"{name}.py"
            files = ran(script, argument, python, path, folder / name / argument)
            wrong += verified(files, run.rollouts)
            if keep:
                kept(name, argument, files, hooks)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path("build/hooks").resolve()))
