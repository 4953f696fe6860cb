"""Pairs and rankings of one's own, with the scores of a reward model: what is read of them, what is refused and in which words."""

from __future__ import annotations

import json
from math import exp, log1p
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blueprint import Book
from blueprint.inputs import NumbersError, load, tables_of
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.reward_model.own_data import tables_from

PAIR = {"prompt": "2 + 2", "chosen": "it is 4", "rejected": "5", "score_chosen": 1.5, "score_rejected": 2}
RANKING = {"prompt": "3", "responses": ["a", "b c", "d"], "rank": [2, 3, 1], "scores": [0.5, -1, 2.5]}


def written(path: Path, *rows: Any, name: str = "mine.jsonl") -> Path:
    """Writes rows as JSONL, or, if one text is given, that text."""
    text = rows[0] if isinstance(rows[0], str) else "\n".join(json.dumps(each) for each in rows)
    (path / name).write_bytes(text.encode())
    return path / name


def test_pairs_stand_behind_rankings_and_scores_after_the_last_token(tmp_path: Path) -> None:
    """The loss is that of all pairs: three of the ranking, whose best response comes first, and the pair with its margin."""
    raw, said = tables_from(written(tmp_path, {**PAIR, "margin": 0.5}, RANKING))
    assert raw["text"]["texts"] == [
        ["3", "d", "<eos>"], ["3", "a", "<eos>"], ["3", "b", "c", "<eos>"],
        ["2", "+", "2", "it", "is", "4", "<eos>"], ["2", "+", "2", "5", "<eos>"],
    ]  # fmt: skip
    assert raw["pairs"] == {"rankings": [[1, 2, 3]], "chosen": [4], "rejected": [5], "margin": [0.0, 0.0, 0.0, 0.5]}
    assert raw["scores"]["head"][0] == [0, 0, 2.5, 0, 0, 0, 0]
    assert said[0] == "comparisons: 2 of 2, 5 responses"
    book = Book(blueprint_of(load(tables_of(raw))))
    found = {block.name: array for block, array in book.values.arrays.items()}
    assert found["difference"].tolist() == [2, 3.5, 1.5, -0.5]
    assert found["loss.pair"] == pytest.approx([log1p(exp(-x)) for x in (2, 3.5, 1.5, -1)], abs=1e-12)


def test_ranks_are_told_by_scores_and_pairs_may_be_conversations(tmp_path: Path) -> None:
    asked, good, bad = (
        {"role": "user", "content": "2 + 2"},
        *({"role": "assistant", "content": each} for each in ("4", "5")),
    )
    rows = [{"chosen": [asked, good], "rejected": [asked, bad], "score_chosen": 1, "score_rejected": 0}]
    raw, _ = tables_from(written(tmp_path, *rows))
    assert raw["text"]["texts"] == [["2", "+", "2", "4", "<eos>"], ["2", "+", "2", "5", "<eos>"]]
    ranked = {key: each for key, each in RANKING.items() if key != "rank"}
    raw, _ = tables_from(written(tmp_path, ranked))
    assert [row[1] for row in raw["text"]["texts"]] == ["d", "a", "b"]


def other(**cells: Any) -> dict[str, Any]:
    return {**RANKING, **cells}


SCORED = "write what a reward model gave it: score_chosen and score_rejected, or scores."
SENTENCES = (
    ({"prompt": "a"}, "mine.jsonl: no column is called as a chosen is (prompt); say which one is: --column chosen=NAME."),
    ({**PAIR, "rejected": "it is 4"},
     "mine.jsonl, line 1: chosen and rejected are the same (it is 4), so that there is nothing to prefer; leave the row out."),
    ({key: each for key, each in PAIR.items() if key != "score_rejected"},
     f"mine.jsonl, line 1, rejected: there is no score; {SCORED}"),
    (other(responses=["a"]), "mine.jsonl, line 1: 1 response cannot be compared; write two or more, or leave the row out."),
    (other(rank=[1, 1, 2]), "mine.jsonl, line 1: two responses have one rank; give each another, or leave one out."),
    (other(rank=None, scores=[1, 1, 2]), "mine.jsonl, line 1: two responses have one score; give each another, or leave one out."),
    (other(rank=None, scores=None),
     "mine.jsonl, line 1: nothing says which response is the best; write their ranks, 1 for the best, or scores."),
    (other(rank=[1, 2]), "mine.jsonl, line 1, rank: found 2 numbers, expected 3, one for each response."),
    (other(rank="first"), "mine.jsonl, line 1, rank: found no list, expected 3, one for each response."),
    (other(scores=[1, None, 2]), "mine.jsonl, line 1, scores: found nothing, expected a number for each response."),
    (other(responses=list("abcdefghijk"), rank=list(range(11)), scores=list(range(11))),
     "mine.jsonl: 11 responses in 55 pairs, but a workbook shows up to 32 in 48; choose fewer rows with --prompts."),
    ("\n", "mine.jsonl: no row in it; write one per pair or ranking, with its prompt and its responses."),
)  # fmt: skip


@pytest.mark.parametrize(("row", "sentence"), SENTENCES, ids=[each[1][12:60] for each in SENTENCES])
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, row: Any, sentence: str) -> None:
    with pytest.raises(NumbersError) as found:
        tables_from(written(tmp_path, row))
    assert str(found.value) == sentence


NAMES = ["prompt", "chosen", "rejected", "responses", "rank", "scores", "score_chosen", "score_rejected", "margin"]
CELLS = st.recursive(
    st.none() | st.booleans() | st.floats(width=32) | st.text(max_size=6) | st.sampled_from(["=1", "[1, 2]", "a *", "{}", "<eos>"]),
    lambda x: st.lists(x, max_size=3),
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
