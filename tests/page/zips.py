"""Makes damaged and malicious zip archives out of sound workbooks."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from blueprint.page.read import ReadError
from blueprint.page.saved_file import Workbook

SHEET = "xl/worksheets/sheet1.xml"


def rewritten(data: bytes, change: Callable[[str, bytes], bytes | None]) -> bytes:
    """Returns an archive whose parts are changed one by one; None leaves a part out."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in source.namelist():
            if (content := change(name, source.read(name))) is not None:
                copy.writestr(name, content)
    return target.getvalue()


def with_parts(path: Path, target: Path, parts: Mapping[str, bytes | None]) -> Path:
    """Writes a copy of a workbook with parts replaced, added, or (None) left out."""
    data = rewritten(path.read_bytes(), lambda name, content: parts.get(name, content))
    have = zipfile.ZipFile(io.BytesIO(data)).namelist()
    target.write_bytes(data)
    with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as copy:
        for name, content in parts.items():
            if content is not None and name not in have:
                copy.writestr(name, content)
    return target


def changed(path: Path, target: Path, name: str, old: bytes, new: bytes) -> Path:
    """Writes a copy of a workbook with one piece of one part replaced; the piece must be there."""
    content = zipfile.ZipFile(path).read(name)
    assert old in content
    return with_parts(path, target, {name: content.replace(old, new, 1)})


def with_said_size(path: Path, target: Path, name: str, size: int) -> Path:
    """Writes a copy whose list says that a part unpacks to `size` bytes, whatever it does."""
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        part = archive.getinfo(name)
        entry = data.index(b"PK\x01\x02", archive.start_dir)
        while data[entry + 46 : entry + 46 + len(name)] != name.encode():
            entry = data.index(b"PK\x01\x02", entry + 4)
    struct.pack_into("<I", data, entry + 24, size)
    struct.pack_into("<I", data, part.header_offset + 22, size)
    target.write_bytes(bytes(data))
    return target


def refusal(path: Path) -> str:
    """Returns the sentence with which a file is refused, without its folder."""
    with pytest.raises(ReadError) as refused:
        Workbook(path)
    assert "\n" not in str(refused.value)
    return str(refused.value).replace(f"{path.parent}{os.sep}", "")
