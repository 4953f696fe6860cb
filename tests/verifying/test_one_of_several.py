"""One file of a step that cannot be verified stops none of the others, and is named with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from safetensors import safe_open
from safetensors.numpy import save_file

from blueprint.dumps import MinibatchError
from blueprint.verifying import VerifyOptions, verify_step

FILES = sorted((Path(__file__).parents[1] / "data" / "real" / "trl_kto" / "kto").glob("*.safetensors"))


def without_library(folder: Path, path: Path) -> Path:
    """Returns a copy of a file that does not say which library wrote it, and whose names do not tell it either."""
    with safe_open(path, "numpy") as file:
        tensors, said = {each: file.get_tensor(each) for each in file.keys()}, dict(file.metadata())  # noqa: SIM118
    said |= {"library": "mine"}
    save_file(tensors, folder / path.name, said)
    return folder / path.name


def test_a_file_of_an_unknown_library_is_named_and_the_others_are_verified(tmp_path: Path) -> None:
    mine = without_library(tmp_path, FILES[0])
    found = verify_step([mine, *FILES[1:]])
    assert len(found.parts) == len(FILES) - 1
    assert found.agrees
    assert list(found.unread) == [mine]
    assert "is of mine, for which there is no preset: name one" in found.unread[mine]


def test_files_of_which_none_has_a_preset_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MinibatchError, match="is of mine, for which there is no preset: name one"):
        verify_step([without_library(tmp_path, each) for each in FILES])


def test_an_option_that_is_none_is_refused_and_no_fault_of_the_files() -> None:
    with pytest.raises(MinibatchError, match="nonsense"):
        verify_step(FILES, VerifyOptions(preset="nonsense"))
