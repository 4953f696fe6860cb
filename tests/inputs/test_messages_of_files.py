"""Every refusal of a source or an override as such, word for word."""

from pathlib import Path

import pytest

from blueprint.inputs import load
from blueprint.inputs.errors import NumbersError

UTF8 = "save it again as UTF-8 (PowerShell: write it with -o, not with >)."


def refused(source: str | Path, *overrides: str) -> str:
    with pytest.raises(NumbersError) as caught:
        load(source, overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("abc", 'override "abc": expected a key, an equals sign and a value, as in ppo.kl_coef=0.2.'),
        ("=1", 'override "=1": expected a key, an equals sign and a value, as in ppo.kl_coef=0.2.'),
        ("seed.x=1", "seed.x: seed is one value, not a table; override all of seed."),
        ("old.E.0=1", "old.E.0: old.E is one value, not a table; override all of old.E."),
        ("ppo.kl_coeff=1", "ppo.kl_coeff: unknown key, did you mean ppo.kl_coef?"),
        ("ppo.gamma=1\nseed=2", 'ppo.gamma: found "1\\nseed=2", expected a number.'),
        ("old.E=[[1,2", 'old.E: found "[[1,2", expected a list.'),
    ],
)
def test_override(override: str, sentence: str) -> None:
    assert refused("default", override) == sentence


def test_level_missing(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("seed = 1", encoding="utf-8")
    assert (
        refused(path)
        == 'level: found nothing, expected "weights" or "logits" or "per-token" or "classic" or "choices" or "preferences" or '
        '"pair-logprobs" or "prompts" or "responses" or "rollouts" or "controller" or '
        '"enumerated" or "bandit" or "rankings" or "scores" or "demonstrations" or "labelled".'
    )


def test_unknown_name() -> None:
    assert refused("defualt") == (
        "defualt: neither a built-in set of numbers nor a path ending in .toml, did you mean default?"
    )


def test_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    assert refused(path) == f"{path}: there is no such file; write the path of a TOML file."


def test_folder(tmp_path: Path) -> None:
    path = tmp_path / "folder.toml"
    path.mkdir()
    assert refused(path) == f"{path}: this is a folder; write the path of a TOML file in it."


def test_path_that_no_system_can_open() -> None:
    assert refused("a\0.toml") == "a\\x00.toml: the file cannot be read (embedded null byte)."


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ('level = "weights"'.encode("utf-16"), ": found UTF-16 text, expected UTF-8; " + UTF8),
        ('level = "weights"'.encode("utf-16-le"), ": found UTF-16 text, expected UTF-8; " + UTF8),
        ('level = "weights"'.encode("utf-16-be"), ": found UTF-16 text, expected UTF-8; " + UTF8),
        ("# 雪, and then letters\nseed = 1".encode("utf-16-le"), ": found UTF-16 text, expected UTF-8; " + UTF8),
        (
            b"seed\0 = 1",
            ", line 1, column 5: this is not TOML (Expected '=' after a key in a key/value pair); "
            "text stands in quotes, a list in [ ] with commas.",
        ),
        (b'seed = 1\ntitle = "caf\xe9"', ", line 2: found bytes that are not UTF-8; save it again as UTF-8."),
        (
            b"seed = 1\nlevel = weights",
            ", line 2, column 9: this is not TOML (Invalid value); text stands in quotes, a list in [ ] with commas.",
        ),
        (
            b"seed = [1,",
            ", end of document: this is not TOML (Invalid value); text stands in quotes, a list in [ ] with commas.",
        ),
        (
            b"seed = 1\nseed = 2\n",
            ", line 2, column 9: this is not TOML (Cannot overwrite a value); write each key and table once.",
        ),
        (b"seed = " + b"[" * 5000, ": the lists are nested too deeply; two levels are enough."),
        (b"seed = " + b"1" * 5000, ": a number has too many digits; 15 are enough."),
    ],
)
def test_text_of_a_file(tmp_path: Path, data: bytes, sentence: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(data)
    assert refused(path) == f"{path}{sentence}"
