"""Whatever a file or an override holds, the answer is numbers or one sentence."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprint.inputs import NumbersError, load, origins, read, toml_of
from blueprint.workbooks import kinds

TEXTS = [path.read_bytes() for kind in kinds() for path in kind.built_in().values()]
TEXTS += [toml_of(load("default", ["preset=verl", "rollout.responses=['very', '']"])).encode()]
PIECES = [b"nan", b"inf", b"-", b'"', b"[", b"]", b"=", b"\n", b"{}", b"1e400", b"0x" + b"f" * 5000, b"true", b"\xff"]
PIECES += [b"1" * 5000, b"[" * 3000, b"a." * 3000, b"1979-05-27", b"'''", b"\\u0000", b"\\udc00", "é".encode()]

KEYS = ["sizes.hidden", "sizes.prompt", "text.vocabulary", "text.prompts", "old.E", "old.W", "rollout.draws"]
KEYS += [
    "rollout.responses",
    "old_critic.b",
    "critic.delta_w",
    "ppo.gamma",
    "ppo.kl_estimator",
    "title",
    "seed",
    "sizes",
    "level",
    "old",
]
SCALARS = st.one_of(st.integers(), st.floats(), st.booleans(), st.sampled_from(['"the"', '""', "x", "1979-05-27"]))
VALUES = st.recursive(SCALARS.map(str), lambda inner: st.lists(inner, max_size=5).map(lambda v: f"[{', '.join(v)}]"))


def answered(source: str | Path, overrides: list[str]) -> None:
    """Load, write and explain, and allow nothing but a sentence on one line."""
    try:
        toml_of(load(source, overrides))
        origins(read(source), [("--set", each) for each in overrides])
    except NumbersError as error:
        assert str(error).isprintable()
        assert str(error).endswith((".", "?", "…"))
        assert "pydantic" not in str(error)
        assert error.__cause__ is None


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Replace a few stretches of a good file with something else, or with nothing."""
    data = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        data = data[:start] + draw(st.sampled_from([b"", *PIECES]) | st.binary(max_size=8)) + data[end:]
    return data


@settings(max_examples=300, deadline=None)
@given(damaged())
def test_a_damaged_file_is_answered_in_a_sentence(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "damaged.toml"
        path.write_bytes(data)
        answered(path, [])


def test_a_whole_number_of_thousands_of_digits_is_answered_in_a_sentence(tmp_path: Path) -> None:
    """Python does not print it: it stood among the actions of a rollout."""
    (text,) = [each for each in TEXTS if b'level = "classic"' in each and b"[1, 3, 2" in each]
    path = tmp_path / "damaged.toml"
    path.write_bytes(text.replace(b"[1, 3, 2", b"[0x" + b"f" * 5000 + b", 3, 2", 1))
    with pytest.raises(
        NumbersError, match=r"rollout\.actions, row 2, item 1: found a huge whole number, expected 0 to 3"
    ):
        load(path, [])


@settings(max_examples=100, deadline=None)
@given(damaged(), st.sampled_from(["utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"]))
def test_a_damaged_file_in_another_encoding_is_answered_in_a_sentence(data: bytes, encoding: str) -> None:
    text = data.decode("utf-8", errors="replace").replace("\ufffd", "?")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "damaged.toml"
        path.write_bytes(text.encode(encoding, errors="replace"))
        answered(path, [])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KEYS), VALUES), max_size=3))
def test_odd_values_are_answered_in_a_sentence(pairs: list[tuple[str, str]]) -> None:
    answered("default", [f"{key}={value}" for key, value in pairs])


@settings(max_examples=200, deadline=None)
@given(st.text(), st.lists(st.text(), max_size=2))
def test_odd_names_and_overrides_are_answered_in_a_sentence(source: str, overrides: list[str]) -> None:
    answered(source, [])
    answered(source + ".toml", [])
    answered("default", overrides)
