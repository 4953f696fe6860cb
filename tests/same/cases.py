"""What is compared: every built-in workbook by preset with and without gradients, and what the commands say of recorded files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from blueprint.inputs import load
from blueprint.workbooks.registry import kinds, level_of

ROOT = Path(__file__).parents[2]
REAL = ROOT / "tests" / "data" / "real"
LOSSES = {
    "default": "total_loss",
    "by-hand": "total_loss",
    "very-very-sleepy": "advantages",
    "ten-libraries": "library.total_loss",
    "epochs": "epoch4.total_loss",
    "classic": "total_loss",
    "grpo": "total_loss",
    "dpo": "total_loss",
    "sft": "total_loss",
    "reward-model": "total_loss",
}
"""By built-in numbers the quantity that is explained down to what is typed."""


@dataclass(frozen=True)
class BookCase:
    """A workbook that is built and saved."""

    numbers: str
    preset: str | None
    gradients: bool

    @property
    def name(self) -> str:
        """The case in one word, such as grpo-batch:verl_gspo:gradients."""
        words = (self.numbers, self.preset, "gradients" if self.gradients else None)
        return ":".join(word for word in words if word)


@dataclass(frozen=True)
class SaidCase:
    """A command, and what it prints."""

    name: str
    arguments: tuple[str, ...]


def presets_of(numbers: str) -> list[str]:
    """Returns the presets that built-in numbers may be built with, the default aside."""
    level = level_of(load(numbers))
    return [name for name in level.presets().presets if name != "default"] if level.presets else []


def books() -> list[BookCase]:
    """Returns every built-in workbook, as it is and by every preset, each with and without gradients."""
    names = [name for kind in kinds() for name in kind.built_in()]
    return [
        BookCase(name, preset, gradients)
        for name in names
        for preset in (None, *presets_of(name))
        for gradients in (False, True)
    ]


def said() -> list[SaidCase]:
    """Returns what is asked of the commands: verify and inspect of recorded files, check, explain, which, presets."""
    files = sorted(path for path in REAL.rglob("*") if path.is_file())
    files = [path for path in files if path.name != "hooks.json"]
    runs = sorted({path.parent for path in files})
    workbooks = sorted((ROOT / "workbooks").glob("*.xlsx"))
    asked: list[tuple[str, ...]] = [("verify", "--json", _short(path)) for path in files]
    asked += [("verify", "--json", *map(_short, _first_step(run))) for run in runs]
    asked += [("inspect", _short(path)) for path in files]
    asked += [("check", "--json", _short(path)) for path in workbooks]
    asked += [("explain", name, row, "--depth", "all", "--json") for name, row in LOSSES.items()]
    asked += [("which",), ("presets",), ("presets", "--keys"), ("list",)]
    asked += [("which", "--numbers", name) for name in ("ten-libraries", "classic", "grpo-batch", "dpo-batch")]
    asked += [("which", "--numbers", name) for name in ("sft-batch", "reward-batch")]
    asked += [("numbers", case.numbers) for case in books() if case.preset is None and not case.gradients]
    return [SaidCase(" ".join(arguments), arguments) for arguments in dict.fromkeys(asked)]


def _short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _first_step(run: Path) -> list[Path]:
    """Returns the files of a run's first step: those whose names share the first number."""
    files = sorted(path for path in run.iterdir() if path.is_file())
    first = _step(files[0])
    return [path for path in files if _step(path) == first]


def _step(path: Path) -> str:
    return next((word for word in path.stem.replace("-", "_").split("_") if word.isdigit()), path.stem)
