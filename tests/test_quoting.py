"""Nothing that a file says commands the terminal, turns the line around or floods it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blueprint.dumps import MinibatchError
from blueprint.inputs.errors import NumbersError
from blueprint.page.saved_file import ReadError
from blueprint.quoting import KEPT_AT_THE_END, LONGEST, LONGEST_MESSAGE, page, printable, quoted, sentence, unquoted
from tests.commands import run_command

HOSTILE = "\x1b[2J\u202eevil\u2066\x07\x9b31m\r\n\ud800"
FLOOD = "a" * 40_000


def test_what_cannot_be_seen_is_spelled() -> None:
    spelled = "\\x1b[2J\\u202eevil\\u2066\\x07\\x9b31m\\r\\n\\ud800"
    assert printable(HOSTILE) == spelled
    assert unquoted(HOSTILE) == spelled
    assert quoted(HOSTILE) == f"'{spelled}'"
    assert printable("Â = δ + γλ·Â, “very”") == "Â = δ + γλ·Â, “very”"


def test_a_long_text_is_cut_and_a_long_message_keeps_its_end() -> None:
    assert unquoted(FLOOD) == "a" * (LONGEST - 1) + "…"
    assert quoted(FLOOD) == repr("a" * (LONGEST - 1) + "…")
    assert len(unquoted("\x07" * 50)) == LONGEST
    said = sentence(FLOOD + ": write 1")
    assert len(said) == LONGEST_MESSAGE + len(" … ")
    assert said[-KEPT_AT_THE_END:].endswith("a: write 1")


@pytest.mark.parametrize("error", [ReadError, MinibatchError, NumbersError])
def test_a_refusal_is_one_line_of_bearable_length(error: type[ValueError]) -> None:
    said = str(error(f"{HOSTILE}{FLOOD}: write 1"))
    assert said.isprintable()
    assert len(said) < 2 * LONGEST_MESSAGE
    assert said.endswith(": write 1")


def test_a_page_keeps_its_lines_and_json_its_meaning() -> None:
    assert page("a\n\tb c\u00a0d") == "a\n\tb c\u00a0d"
    assert page("\x1b\u202e") == "\\u001b\\u202e"
    told = {"name": "\x7f\u202e\U000e0041\u2028 Â"}
    printed = page(json.dumps(told, ensure_ascii=False))
    assert printed.isprintable()
    assert json.loads(printed) == told


HOSTILE_KEY = json.dumps(HOSTILE.replace("\ud800", "") + FLOOD)


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("a.toml", f"level = {HOSTILE_KEY}\n", ["numbers"]),
        ("b.toml", f'level = "per-token"\n{HOSTILE_KEY} = 1\n', ["numbers"]),
        ("a.jsonl", f'{{{HOSTILE_KEY}: [1], "response_mask": [1]}}\n', ["inspect"]),
    ],
)
def test_a_hostile_file_is_told_of_in_letters_that_can_be_seen(
    tmp_path: Path, name: str, text: str, command: list[str]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = run_command(*command, tmp_path / name)
    assert found.exit_code in (1, 2, 3)
    assert found.output.replace("\n", "").isprintable()
    assert "evil" in found.output
    assert len(found.output) < 5_000
