"""A library's own environment, and a copy of its source with the hooks of the page in it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from tests.hooks.page import ROOT, Hook
from tests.hooks.real.libraries import Run


def environment(run: Run, folder: Path) -> Path:
    """Makes the environment of a run, unless it is there; returns its Python."""
    python = folder / "bin" / "python"
    done = folder / f"{run.library}.done"
    if not done.exists():
        venv.create(folder, with_pip=True)
        constraints = ROOT / "constraints.txt"
        wanted = run.needs if run.source else (*run.needs, run.library)
        subprocess.run([python, "-m", "pip", "install", "-q", "-c", constraints, *wanted], check=True)
        done.touch()
    return python


def hooked(run: Run, python: Path, folder: Path, hooks: Sequence[Hook]) -> Path:
    """Copies the library's package to a folder, pastes hooks into the copy, and returns the folder, for PYTHONPATH."""
    found = cloned(run, folder.parent / "clone") if run.source else installed(python)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(found / run.package, folder / run.package)
    for hook in hooks:
        source = folder / hook.file
        source.write_text(hook.pasted(source.read_text(encoding="utf-8")), encoding="utf-8")
    return folder


def installed(python: Path) -> Path:
    """Returns where the packages of an environment lie."""
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    return Path(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())


def cloned(run: Run, folder: Path) -> Path:
    """Clones the repository of a library, unless it is there, and returns the folder with the commit that is meant."""
    if not folder.exists():
        subprocess.run(["git", "clone", "-q", run.source, folder], check=True)
    subprocess.run(["git", "-C", folder, "checkout", "-q", run.library.split()[-1]], check=True)
    return folder


def ran(script: Path, argument: str, python: Path, path: Path, folder: Path) -> list[Path]:
    """Runs a script in a folder with another copy of the library; returns the files that its hooks wrote.

    Raises RuntimeError with the end of what it said, where it failed or wrote nothing.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    said = subprocess.run(
        [python, script, argument], cwd=folder, env={"PYTHONPATH": str(path), "PATH": str(python.parent), "HOME": str(folder),
        "TRL_EXPERIMENTAL_SILENCE": "1", "TORCHDYNAMO_DISABLE": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    files = sorted(folder.glob("*.safetensors"))
    if said.returncode or not files:
        sys.stderr.write(f"{said.stdout[-2000:]}\n{said.stderr[-6000:]}\n")
        raise RuntimeError(f"{script.name} {argument}: exit code {said.returncode}, {len(files)} files")
    return files
