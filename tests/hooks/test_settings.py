"""Every setting that a hook writes is read, or `inspect` lists it: none is lost in silence, in any recorded run of a library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from blueprint.dumps import PPO_NAMES, inspect
from blueprint.workbooks.registry import kind_named

RUNS = sorted(
    path for path in (Path(__file__).parents[1] / "data" / "real").glob("*/*") if any(path.glob("*.safetensors"))
)


def leaves(table: dict[str, Any], before: str = "") -> Iterator[str]:
    """Yields dotted names; of both ends of a range the lower one, since these are read one by one."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{before}{key}.")
        else:
            yield f"{before}{key}{'.0' * (isinstance(value, list) and key.endswith(('_high', '_range')))}"


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.parent.name}-{run.name}")
def test_every_setting_of_a_hook_is_read_or_listed(run: Path) -> None:
    path = min(run.glob("*.safetensors"))
    with safe_open(path, "np") as file:
        written = [*leaves(json.loads((file.metadata() or {}).get("hyperparameters", "{}")))]
    found = inspect(path)
    assert found.batch is not None
    names = kind_named(found.batch.kind).part("dumps").names or PPO_NAMES
    made = {key.removeprefix("ppo.") for key in found.mentioned.settings}
    listed = [*(each.partition(" = ")[0] for each in found.dropped), *found.mentioned.unknown_settings]
    for name in written:
        keys = {
            each.row.name.removeprefix("ppo.")
            for each in names.matching(name, "setting", (found.library or "").lower())
        }
        several = {each for each in made if each in keys or each == name.rpartition(".")[2]}
        assert several or name in listed or any(name in note for note in found.batch.notes), (name, made, listed)
    assert not found.mentioned.unknown_settings
