"""Fixtures that several rooms share."""

import gc
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import pytest

from tests.page.gnumeric import gnumeric
from tests.page.soffice import libreoffice

PROMISED = (
    ("torch", "TORCH"), ("ray", "RAY"), ("matplotlib", "MATPLOTLIB"), ("gymnasium", "LAB"), ("stable_baselines3", "LAB"),
)  # fmt: skip
"""Packages that a test may miss, and the end of the variable by which CI promises them."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Gives each worker one thread for arithmetic, and all of them one folder for the workbooks that their tests share.

    Ends the run where CI promises a package that is not there: a test that is skipped unseen would be worse than one that
    fails. Benchmarks are not timed unless asked.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        # Without bytecode each process that a test starts compiles the package anew, for half a second.
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(config.rootpath / ".pytest_cache" / "bytecode"))
    if not hasattr(config, "workerinput"):  # workers have the folder of the process that starts them
        room = TemporaryDirectory()
        config.add_cleanup(room.cleanup)
        os.environ["BLUEPRINT_TESTS_MADE"] = room.name
    config.option.benchmark_disable = not config.option.benchmark_only
    if not config.option.benchmark_only:
        # Some hundred MB at most wait for it. At Python's 700 objects openpyxl spends four tenths of its time in it; at
        # 50,000 it is a tenth of a test file's, as books that are kept for all its tests are gone through again.
        gc.set_threshold(2_000_000, 10, 100)
    for package, needs in PROMISED:
        if os.environ.get(f"BLUEPRINT_NEEDS_{needs}") and find_spec(package) is None:
            pytest.exit(f"{package} is not installed, but BLUEPRINT_NEEDS_{needs} is set", returncode=3)


def pytest_sessionfinish() -> None:
    """Leaves what was made: pytest goes through it five times at the end, which took each worker twelve seconds."""
    gc.freeze()


GROWTH = 300_000_000
"""Bytes by which a worker grows before it looks for what nobody needs any more, among what came since it last looked."""
WHOLE = 1_000_000_000
"""Bytes by which it grows before it looks through all that it has, which takes up to ten seconds."""
_after_last = _after_whole = 0


_folder = Path()
"""The folder of the file of tests that a worker came to last."""


@pytest.fixture(autouse=True, scope="module")
def _what_only_this_file_needed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Forgets, after a file of tests, what its own functions had kept, and before the first of a folder what was kept for others.

    A worker grew to 6 GB with what was left of all files, and looked through that whenever it looked for what nobody needs.
    """
    global _folder
    if request.path.parent != _folder:
        for name in [each for each in sys.modules if each.startswith("tests.")]:
            _forget(sys.modules[name])
        _folder = request.path.parent
    if progress := sys.modules.get("blueprint.verifying.progress"):
        progress.MOST_SECONDS = inf  # type: ignore[attr-defined]  # what is found does not depend on how busy a machine is
    yield
    _forget(request.module)
    if workshop := sys.modules.get("tests.page.workshop"):
        workshop.forget()
    if _resident() > _after_last + GROWTH:
        _collect()


def _forget(module: ModuleType) -> None:
    """Lets the functions of a module forget what they have kept."""
    for each in vars(module).values():
        if hasattr(each, "cache_clear") and each.__module__ == module.__name__:
            each.cache_clear()


def _collect() -> None:
    """Frees what nothing refers to; what stays is set aside, and looked through again where that has grown by WHOLE."""
    global _after_last, _after_whole
    if _resident() > _after_whole + WHOLE:
        gc.unfreeze()
        gc.collect()
        _after_whole = _resident()
    else:
        gc.collect()
    gc.freeze()
    _after_last = _resident()


def _resident() -> int:
    """Returns the bytes that this process holds in memory; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Files that are named are tested in this process, since workers take longer to start; so is what is timed."""
    named = all(Path(each.partition("::")[0]).is_file() for each in config.args)
    return 0 if named or config.option.benchmark_only else None


@pytest.fixture(scope="session")
def needs_libreoffice() -> None:
    """Skips a test where LibreOffice is not installed; fails it if BLUEPRINT_NEEDS_LIBREOFFICE is set, as in CI."""
    if libreoffice() is None:
        _missing("LIBREOFFICE", "LibreOffice is not installed: no `soffice` was found")


@pytest.fixture(scope="session")
def needs_gnumeric() -> None:
    """Skips a test where Gnumeric is not installed; fails it if BLUEPRINT_NEEDS_GNUMERIC is set, as in CI."""
    if gnumeric() is None:
        _missing("GNUMERIC", "Gnumeric is not installed: no `ssconvert` was found")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs a test in an empty folder, far from the source."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _missing(program: str, sentence: str) -> None:
    (pytest.fail if os.environ.get(f"BLUEPRINT_NEEDS_{program}") else pytest.skip)(sentence)
