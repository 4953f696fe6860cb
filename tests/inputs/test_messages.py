"""Every refusal of a source, of what a file says, and of an override, word for word; most stand in refused.toml."""

import tomllib
from pathlib import Path

import pytest

from blueprint.inputs import load
from blueprint.inputs.errors import NumbersError
from blueprint.workbooks.registry import kinds
from tests.inputs.test_logits import SMALL

TABLE: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("refused.toml").read_text(encoding="utf-8"))
UTF8 = "save it again as UTF-8 (PowerShell: write it with -o, not with >)."
LEVELS = f"level: found nothing, expected {' or '.join(f'{chr(34)}{word}{chr(34)}' for kind in kinds() for word in kind.levels)}."


def refused(source: str | Path, *overrides: str) -> str:
    """Returns the sentence with which numbers are refused."""
    with pytest.raises(NumbersError) as caught:
        load(source, overrides)
    return str(caught.value)


def of_level_weights(folder: Path, lines: str) -> str:
    """Returns the sentence with which a file of level weights is refused."""
    (folder / "mine.toml").write_text(f'level = "weights"\n{lines}\n', encoding="utf-8")
    return refused(folder / "mine.toml")


@pytest.mark.parametrize("source", TABLE)
def test_what_a_file_or_an_override_says_is_refused_word_for_word(tmp_path: Path, source: str) -> None:
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")

    def said(wrong: str) -> str:
        if source == "mine.toml":
            return of_level_weights(tmp_path, wrong)
        return refused(tmp_path / source if source == "small.toml" else source, *wrong.split(" + "))

    assert {wrong: said(wrong) for wrong in TABLE[source]} == TABLE[source]


def test_the_table_is_whole() -> None:
    assert [*map(len, TABLE.values())] == [59, 19, 28, 14, 1, 1]


def test_numbers_that_are_too_long_are_not_quoted(tmp_path: Path) -> None:
    found = "found a huge whole number, expected"
    assert of_level_weights(tmp_path, f"[sizes]\nhidden = 0x{'f' * 5000}") == f"sizes.hidden: {found} 1 to 32."
    assert of_level_weights(tmp_path, f"[old_critic]\nb = {'9' * 400}") == f"old_critic.b: {found} a number."


def test_a_source_that_is_none(tmp_path: Path) -> None:
    none, folder = tmp_path / "none.toml", tmp_path / "folder.toml"
    folder.mkdir()
    assert refused("defualt") == (
        "defualt: neither a built-in set of numbers nor a path ending in .toml, did you mean default?"
    )
    assert refused(none) == f"{none}: there is no such file; write the path of a TOML file."
    assert refused(folder) == f"{folder}: this is a folder; write the path of a TOML file in it."
    assert refused("a\0.toml") == "a\\x00.toml: the file cannot be read (embedded null byte)."


UTF16 = f": found UTF-16 text, expected UTF-8; {UTF8}"
LISTS = "text stands in quotes, a list in [ ] with commas."
BYTES: list[tuple[bytes, str]] = [
    (b"seed = 1", LEVELS),
    *(('level = "weights"'.encode(encoding), UTF16) for encoding in ("utf-16", "utf-16-le", "utf-16-be")),
    ("# 雪, and then letters\nseed = 1".encode("utf-16-le"), UTF16),
    (b"seed\0 = 1",
     f", line 1, column 5: this is not TOML (Expected '=' after a key in a key/value pair); {LISTS}"),
    (b'seed = 1\ntitle = "caf\xe9"', ", line 2: found bytes that are not UTF-8; save it again as UTF-8."),
    (b"seed = 1\nlevel = weights", f", line 2, column 9: this is not TOML (Invalid value); {LISTS}"),
    (b"seed = [1,", f", end of document: this is not TOML (Invalid value); {LISTS}"),
    (b"seed = 1\nseed = 2\n",
     ", line 2, column 9: this is not TOML (Cannot overwrite a value); write each key and table once."),
    (b"seed = " + b"[" * 5000, ": the lists are nested too deeply; two levels are enough."),
    (b"seed = " + b"1" * 5000, ": a number has too many digits; 15 are enough."),
]  # fmt: skip


@pytest.mark.parametrize(("data", "sentence"), BYTES)
def test_the_text_of_a_file(tmp_path: Path, data: bytes, sentence: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(data)
    assert refused(path).removeprefix(str(path)) == sentence
