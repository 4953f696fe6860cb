"""Demonstrations of one's own, as CSV, JSON or JSONL: what is read of them, what is refused and in which words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blueprint.cli import main
from blueprint.inputs import NumbersError, load, tables_of
from blueprint.workbooks.sft.own_data import tables_from

ASKED, GOOD = {"role": "user", "content": "the old dog"}, {"role": "assistant", "content": "is Very sleepy"}


def written(path: Path, *rows: Any, name: str = "mine.jsonl") -> Path:
    """Writes rows as JSONL, or, if one text is given, that text."""
    text = rows[0] if isinstance(rows[0], str) else "\n".join(json.dumps(each) for each in rows)
    (path / name).write_bytes(text.encode())
    return path / name


SHAPES = {
    "csv.csv": "prompt,completion\nthe old dog,is very sleepy\n",
    "messages.jsonl": json.dumps({"messages": [ASKED, GOOD]}),
    "both.json": json.dumps([{"instruction": [ASKED], "output": [GOOD]}]),
    "tokens.jsonl": json.dumps({"prompt": ["the", "old", "dog"], "response": ["is", "very", "sleepy"]}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_rows_of_any_shape_become_the_same_numbers(tmp_path: Path, name: str) -> None:
    """All words are known to the built-in model, whose weights read them; the end token is to be learned, too."""
    raw, said = tables_from(written(tmp_path, SHAPES[name], name=name))
    assert raw["text"]["texts"] == [["the", "old", "dog", "is", "very", "sleepy", "<eos>"]]
    assert (raw["text"]["response"], raw["text"]["there"]) == ([[0, 0, 1, 1, 1, 1]], [[1] * 6])
    numbers, built_in = load(tables_of(raw)), load("sft")
    assert numbers["policy.W"].tolist() == built_in["policy.W"].tolist()
    assert said[-1] == "weights: those of sft, which knows all words"


def test_every_answer_of_a_conversation_is_learned_and_shorter_texts_are_padded(tmp_path: Path) -> None:
    rows = [
        {"messages": [ASKED, GOOD, {"role": "user", "content": "why?"}, {"role": "assistant", "content": "old"}]},
        {"text": "the dog"},
    ]
    raw, said = tables_from(written(tmp_path, *rows))
    assert raw["text"]["vocabulary"] == ["<eos>", "the", "old", "dog", "is", "Very", "sleepy", "why？"]
    assert raw["text"]["response"] == [[0, 0, 1, 1, 1, 0, 1, 1], [1, 1, 0, 0, 0, 0, 0, 0]]
    assert raw["text"]["there"] == [[1] * 8, [1, 1, 0, 0, 0, 0, 0, 0]]
    assert said[-1] == "weights: drawn, since no built-in model knows these 8 words"
    assert load(tables_of(raw))["policy.Y"].shape == (4, 8)


def test_a_text_that_is_cut_has_no_end(tmp_path: Path) -> None:
    raw, said = tables_from(written(tmp_path, SHAPES["messages.jsonl"]), most_tokens=4)
    assert raw["text"]["texts"] == [["the", "old", "dog", "is"]]
    assert said[1].startswith("--most-tokens: 1 response cut to the first 4 tokens")


def test_the_commands_make_a_workbook_of_them(tmp_path: Path) -> None:
    path, out, run = written(tmp_path, SHAPES["csv.csv"], name="mine.csv"), tmp_path / "a.toml", CliRunner()
    assert run.invoke(main, ["numbers", str(path), "--kind", "sft", "-o", str(out)]).exit_code == 0
    made = run.invoke(main, ["build", "--numbers", str(out), "-o", str(tmp_path / "a.xlsx"), "--no-proof"])
    assert (made.exit_code, "total loss" in made.output) == (0, True)


MANY = " ".join(f"w{number}" for number in range(64))
SILENT = "nothing is to be learned of it; write an answer, or leave the row out."
SENTENCES = (
    ({"prompt": "a"}, "mine.jsonl: no column is called as a response is (prompt); say which one is: --column response=NAME."),
    ({"prompt": "a", "completion": ""}, f"mine.jsonl, line 1: {SILENT}"),
    ({"messages": [ASKED]}, f"mine.jsonl, line 1: {SILENT}"),
    ({"messages": "hello"}, 'mine.jsonl, line 1: the messages (hello) are no list of {"role": …, "content": …}; write them so.'),
    ({"messages": [{"content": "a"}]},
     'mine.jsonl, line 1: the messages ([{\'content\': \'a\'}]) are no list of {"role": …, "content": …}; write them so.'),
    ({"text": MANY},
     "mine.jsonl: 64 different words, but a vocabulary holds 63 and the end token; choose fewer rows with --prompts, or keep the "
     "first words of each with --most-tokens."),
    ({"text": "a " * 600},
     "mine.jsonl, line 1: 600 tokens, but there is room for 500 of each response; --most-tokens 40 keeps the first 40 of each, or "
     "choose fewer prompts with --prompts."),
    ("\n", "mine.jsonl: no row in it; write one per demonstration: messages, a prompt and a completion, or a text."),
)  # fmt: skip


@pytest.mark.parametrize(("row", "sentence"), SENTENCES, ids=[each[1][12:60] for each in SENTENCES])
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, row: Any, sentence: str) -> None:
    with pytest.raises(NumbersError) as found:
        tables_from(written(tmp_path, row))
    assert str(found.value) == sentence


NAMES = ["prompt", "completion", "text", "messages"]
CELLS = st.recursive(
    st.none() | st.booleans() | st.floats(width=32) | st.text(max_size=6) | st.sampled_from(["=1", "[", "a *", "{}", "<eos>"]),
    lambda x: st.lists(x, max_size=3) | st.lists(st.fixed_dictionaries({"role": st.just("assistant"), "content": x}), max_size=2),
    max_leaves=4,
)  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(st.sampled_from(NAMES), CELLS), min_size=1, max_size=3))
def test_a_hostile_file_is_read_or_refused_in_a_sentence(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path, sentence = written(tmp_path, *rows), "."
    try:
        load(tables_of(tables_from(path)[0]))
    except NumbersError as error:
        sentence = str(error)
    assert sentence.endswith((".", "?"))
