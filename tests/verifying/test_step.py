"""Files of one step, verified together."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.dumps import save
from blueprint.verifying.step import verify_step
from tests.verifying.dumps import FIRST, dump


def test_a_file_that_cannot_be_read_stops_none_of_the_others(tmp_path: Path) -> None:
    batch = dump(FIRST["verl"])
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    save(good, batch.tensors, {"library": "verl", "step": 7, "logged": dict(batch.logged)})
    bad.write_bytes(b"nothing")
    found = verify_step([bad, good])
    assert (found.step, tuple(part.path for part in found.parts), list(found.unread)) == (7, (good,), [bad])
    assert found.agrees
    assert found.unread[bad].startswith(str(bad))
