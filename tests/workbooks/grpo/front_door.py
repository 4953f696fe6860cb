"""Recorded runs as a user computes them: the libraries' batch as it ships, built by `bp.build`, and a run's conventions.

`built` builds a run's own workbook. `typed_in` is faster: the conventions are typed into one workbook, as a user types them into
the saved sheet, and everything is computed again, under the same rule that no cell may be without a number.
"""

from __future__ import annotations

import json
import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

import blueprint as bp
from blueprint.inputs import load
from blueprint.language import Computation, Values
from tests.workbooks.grpo.recorded import Array, Run, batch

TABLES = tomllib.loads((files("blueprint.workbooks.grpo") / "numbers" / "grpo-batch.toml").read_text(encoding="utf-8"))
"""The batch on which the libraries ran, as it ships."""
Settings = dict[str, Any]


def settings_of(run: Run) -> Settings:
    """Returns a run's conventions as a user writes them, and what stands in the place of its reference and old policy."""
    other = {"reference.logits": ("ref", run.reference), "old.logits": ("old", run.old)}
    models = {key: batch().logits[used].tolist() for key, (own, used) in other.items() if used != own}
    return written(run.conventions) | models


def written(conventions: dict[str, float | str]) -> Settings:
    """Returns conventions by the keys and words of a numbers file."""
    named = {"ppo.gamma" if key == "gamma" else key: value for key, value in conventions.items()}
    return {key: "off" if value in (np.inf, -np.inf) else value for key, value in named.items()}


def built(settings: Settings) -> bp.Book:
    """Builds the workbook of these settings, with its gradients."""
    return bp.build(TABLES, set=settings, gradients=True)


@cache
def workbook() -> bp.Book:
    """Builds the workbook into which conventions are typed."""
    return built({})


@cache
def _computation() -> Computation:
    return Computation(workbook().blocks.values(), workbook().blueprint.sizes)


def typed_in(settings: Settings) -> Values:
    """Computes every cell of the workbook with these settings typed in. Raises NumbersError and NoNumber, as building does."""
    return _typed_in(json.dumps(settings, sort_keys=True))


@lru_cache(16)
def _typed_in(settings: str) -> Values:
    asked = json.loads(settings)
    numbers, blocks = load(TABLES, asked), workbook().blocks
    typed = {
        blocks[f"{key.removeprefix('ppo.')}.yours"]: numbers.ppo[key.removeprefix("ppo.")]
        for key in asked
        if not key.endswith(".logits")
    }
    models = {blocks[key]: numbers[key] for key in asked if key.endswith(".logits")}
    return _computation().values({**workbook().blueprint.typed, **typed, **models})


def cells(values: Values, name: str) -> Array:
    """Returns the numbers of a row."""
    return np.asarray(values[workbook().blocks[name]], float)
