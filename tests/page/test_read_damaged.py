"""Whatever has happened to a workbook's bytes, parts or cells, reading it ends in a book or in one sentence."""

from __future__ import annotations

import re
import tempfile
import zipfile
from io import BytesIO
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blueprint.page.read import ReadError
from blueprint.reopening import back_from
from tests.page.zips import rewritten

WORKBOOKS = Path(__file__).parents[2] / "workbooks"
FILES = [(WORKBOOKS / f"{name}.xlsx").read_bytes() for name in ("kl-controller", "very-very-sleepy")]
PLAIN = [rewritten(data, lambda name, content: content) for data in FILES]
VALUE = re.compile(rb"<v>[^<]*</v>|<f>[^<]*</f>")
TEXT = re.compile(rb">[^<>]{1,60}<")
ATTRIBUTE = re.compile(rb'="[^"]{0,60}"')
ODD = [
    b"",
    b"1e999",
    b"-1e999",
    b"nan",
    b"#N/A",
    b"999999999999",
    b"1" * 400,
    b"0,2",
    b"1,234",
    b"abc",
    b"&amp;",
    b"\xe2\x88\x922",
]
ODD += [
    b"true",
    b"A1:XFD1048576",
    b"0",
    b"-1",
    b"$A$1",
    b"#REF!",
    b"1.5",
    b"\xff\xfe",
    b"t\xe2\x86\x929999999",
    b"&lt;",
    b"&#0;",
]

steady = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def answered(data: bytes) -> str:
    """Reads a file in every way there is; returns the sentence with which it is refused, or "" for a book."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "damaged.xlsx"
        path.write_bytes(data)
        sentence = refusal(path)
        assert "\n" not in sentence
        assert not sentence or sentence.startswith(str(path))
        return sentence


def refusal(path: Path) -> str:
    """Returns the sentence with which a file is refused, "" where it is read; anything else than a ReadError gets through."""
    try:
        back_from(path)
    except ReadError as error:
        return str(error)
    return ""


@st.composite
def flipped(draw: st.DrawFn) -> bytes:
    """Replaces a few bytes of a file, or cuts it short."""
    data = bytearray(draw(st.sampled_from(FILES)))
    for _ in range(draw(st.integers(0, 6))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.sampled_from([len(data), draw(st.integers(0, len(data)))]))])


@steady
@given(flipped())
def test_bytes_may_be_flipped_and_the_end_cut_off(data: bytes) -> None:
    answered(data)


@st.composite
def shuffled(draw: st.DrawFn) -> bytes:
    """Drops, doubles, empties, cuts short or exchanges parts."""
    with zipfile.ZipFile(BytesIO(draw(st.sampled_from(FILES)))) as source:
        parts = [(name, source.read(name)) for name in source.namelist()]
    for _ in range(draw(st.integers(1, 3))):
        i, j = (draw(st.integers(0, len(parts) - 1)) for _ in range(2))
        (name, content), way = parts[i], draw(st.sampled_from(["drop", "double", "empty", "cut", "exchange"]))
        match way:
            case "drop" if len(parts) > 1:
                parts.pop(i)
            case "double":
                parts.append(parts[i])
            case "empty":
                parts[i] = (name, b"")
            case "cut":
                parts[i] = (name, content[: draw(st.integers(0, len(content)))])
            case _:
                parts[i] = (name, parts[j][1])
    return zipped(parts)


def zipped(parts: list[tuple[str, bytes]]) -> bytes:
    """Packs parts, some of them perhaps twice."""
    import warnings

    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns of a name that comes twice, which is meant
        for name, content in parts:
            archive.writestr(name, content)
    return target.getvalue()


@steady
@given(shuffled())
def test_parts_may_be_lost_doubled_or_exchanged(data: bytes) -> None:
    answered(data)


@st.composite
def odd(draw: st.DrawFn) -> bytes:
    """Replaces values, texts or attributes in the XML of a few parts by odd ones."""
    pieces = draw(st.sampled_from([VALUE, TEXT, ATTRIBUTE]))
    with zipfile.ZipFile(BytesIO(draw(st.sampled_from(PLAIN)))) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    for _ in range(draw(st.integers(1, 5))):
        name = draw(st.sampled_from([name for name, content in parts.items() if pieces.search(content)]))
        found = [*pieces.finditer(parts[name])]
        where = found[draw(st.integers(0, len(found) - 1))]
        old = where.group()
        begin, end = (
            old[: old.index(b">") + 1] if b">" in old[:4] else old[:2],
            old[old.rindex(b"<") :] if b"<" in old[1:] else b'"',
        )
        new = begin + draw(st.sampled_from(ODD)) + end
        parts[name] = parts[name][: where.start()] + new + parts[name][where.end() :]
    return zipped([*parts.items()])


@settings(steady, max_examples=150)
@given(odd())
def test_cells_texts_and_attributes_may_be_odd(data: bytes) -> None:
    answered(data)


def test_the_same_files_undamaged_are_books() -> None:
    assert [answered(data) for data in (*FILES, *PLAIN)] == [""] * 4
