"""Pairs of one's own, as CSV, JSON or JSONL: what is read of them, what is refused and in which words."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blueprint import Book
from blueprint.cli import main
from blueprint.inputs import NumbersError, load, tables_of
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.dpo.own_data import tables_from

DATA = Path(__file__).parents[2] / "data"
CASES = tomllib.loads((DATA / "own_pairs.toml").read_text(encoding="utf-8"))["case"]
ROW = {"prompt": "2 + 2?", "chosen": "it is 4", "rejected": "=1+1"}


def written(path: Path, *rows: Any, name: str = "mine.jsonl") -> Path:
    """Writes rows as JSONL, or, if one text is given, that text."""
    text = rows[0] if isinstance(rows[0], str) else "\n".join(json.dumps(each) for each in rows)
    (path / name).write_bytes(text.encode())
    return path / name


def refused(path: Path, *told: str, pairs: str | None = None, most: int | None = None) -> str:
    with pytest.raises(NumbersError) as found:
        tables_from(path, told, pairs, most)
    return str(found.value)


def other(**cells: Any) -> dict[str, Any]:
    return {**ROW, **cells}


def says(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


ASKED, GOOD, BAD = says("user", "2 + 2?"), says("assistant", "it is 4"), says("assistant", "=1+1")
SHAPES = {
    "csv.csv": "prompt,chosen,rejected\n2 + 2?,it is 4,=1+1\n",
    "tabs.tsv": "\ufeffQuestion\tChosen\tRejected\r\n2 + 2?\tit is 4\t=1+1\r\n",
    "array.json": json.dumps([{"instruction": "2 + 2?", "winner": "it is 4", "loser": "=1+1"}]),
    "tokens.jsonl": json.dumps({"prompt": "2 + 2?", "chosen": ["it", "is", "4"], "rejected": ["=1+1"]}),
    "begun.jsonl": json.dumps({"prompt": "2 + 2?", "chosen": "2 + 2? it is 4", "rejected": "2 + 2? =1+1"}),
    "implicit.jsonl": json.dumps({"chosen": "2 + 2? it is 4", "rejected": "2 + 2? =1+1"}),
    "messages.jsonl": json.dumps({"prompt": [ASKED], "chosen": [GOOD], "rejected": [BAD]}),
    "conversations.jsonl": json.dumps({"chosen": [ASKED, GOOD], "rejected": [ASKED, BAD]}),
    "ultrafeedback.jsonl": json.dumps({"prompt": "2 + 2?", "prompt_id": "a1", "chosen": [ASKED, GOOD], "rejected": [ASKED, BAD],
                                       "messages": [ASKED, GOOD]}),
    "messages.csv": 'chosen,rejected\n"[{""role"": ""user"", ""content"": ""2 + 2?""}, {""role"": ""assistant"", ""content"": '
                    '""it is 4""}]","[{""role"": ""user"", ""content"": ""2 + 2?""}, {""content"": ""=1+1""}]"\n',
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_rows_of_any_shape_become_the_same_numbers(tmp_path: Path, name: str) -> None:
    raw, said = tables_from(written(tmp_path, SHAPES[name], name=name))
    assert raw["text"] == {"prompts": ["2 + 2?"], "chosen": [["it", "is", "4"]], "rejected": [["=1+1"]]}
    assert load(tables_of(raw)).level == "pair-logprobs"
    assert said[-1] == "no log-probs: a first step, on which the policy is the reference and every log-ratio is 0"


def test_a_transcript_is_parted_before_its_last_answer(tmp_path: Path) -> None:
    """Also where both answers begin alike; where the questions before differ, behind the words that both have."""
    begun = "\n\nHuman: Hi\n\nAssistant: Hello\n\nHuman: 2 + 2?\n\nAssistant:"
    raw, _ = tables_from(written(tmp_path, {"chosen": f"{begun} it is 4", "rejected": f"{begun} it is 5"}))
    assert raw["text"]["chosen"] + raw["text"]["rejected"] == [["it", "is", "4"], ["it", "is", "5"]]
    assert raw["text"]["prompts"] == ["Human: Hi Assistant: Hello Human: 2 + 2?"]
    rows = {
        "chosen": "\n\nHuman: a\n\nAssistant: b",
        "rejected": "\n\nHuman: a\n\nAssistant: c\n\nHuman: d\n\nAssistant: e",
    }
    raw, _ = tables_from(written(tmp_path, rows))
    assert (raw["text"]["prompts"], raw["text"]["chosen"]) == (["Human: a Assistant:"], [["b"]])


def test_log_probs_of_tokens_and_of_responses_are_read(tmp_path: Path) -> None:
    logs = {
        "chosen_logprobs": [-1, -2, -0.5],
        "rejected_logprobs": "[-3]",
        "ref_chosen_logps": [-1, -1, 0],
        "ref_rejected_logps": [-4],
    }
    raw, said = tables_from(written(tmp_path, other(**logs)))
    assert raw["policy"] == {"chosen": [[-1, -2, -0.5]], "rejected": [[-3]]}
    assert (raw["reference"]["rejected"], raw["per"]) == ([[-4]], "token")
    raw, said = tables_from(written(tmp_path, other(chosen_logps=-3.5, rejected_logps="-3")))
    assert (raw["policy"], raw["per"]) == ({"chosen": [[-3.5]], "rejected": [[-3]]}, "response")
    assert raw["text"]["chosen"] == [["it␣is␣4"]]
    assert (
        said[-1]
        == "log-probs: those of policy stand for both models: a first step, on which the policy is the reference"
    )
    raw, said = tables_from(written(tmp_path, other(chosen_logprobs=[-1, -2], rejected_logprobs=[-3])))
    assert raw["text"]["chosen"] == [["?", "?"]]
    assert any(line.startswith("tokens: log-probs are of other tokens") for line in said)


def test_scores_are_true_rewards_and_columns_may_be_told(tmp_path: Path) -> None:
    row = {"q": "2 + 2?", "good": "a", "bad": "b", "score_chosen": 8.5, "score_rejected": 3}
    raw, said = tables_from(written(tmp_path, row), ["prompt=q", "chosen=good", "rejected=bad"])
    assert raw["rewards"] == {"chosen": [8.5], "rejected": [3]}
    assert said[0].startswith("columns: prompt = q, chosen = good, rejected = bad")


def test_single_responses_stand_side_by_side_and_kto_is_that_of_each(tmp_path: Path) -> None:
    """β = 0.1, log-ratios 1 and −1, no mismatched texts but the reference: the loss of each is 1 − σ(0.1)."""
    rows = [
        {"prompt": "a", "completion": "x", "label": True, "logprobs": [-1], "ref_logprobs": [-2]},
        {"prompt": "b", "completion": "y", "label": False, "logprobs": [-3], "ref_logprobs": [-2]},
    ]
    raw, said = tables_from(written(tmp_path, *rows))
    assert (raw["text"]["prompts"], raw["text"]["chosen"], raw["text"]["rejected"]) == (["a / b"], [["x"]], [["y"]])
    assert said[1].startswith("single responses")
    book = Book(blueprint_of(load(tables_of(raw), ["loss.form=apo_zero_unpaired"])))
    loss = {block.name: array for block, array in book.values.arrays.items()}["total_loss"]
    assert float(loss) == pytest.approx(1 / (1 + 2.718281828459045**0.1), abs=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["sentence"][12:70])
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, case: dict[str, str]) -> None:
    assert refused(written(tmp_path, case["rows"])) == case["sentence"]


def test_too_many_and_too_long_is_one_sentence(tmp_path: Path) -> None:
    many = written(tmp_path, *[other(prompt=str(number)) for number in range(1000)])
    assert (
        refused(many) == "mine.jsonl: 1,000 pairs, but a workbook shows up to 32: choose them, such as --prompts 1-32."
    )
    raw, said = tables_from(many, prompts="2,999", most_tokens=2)
    assert (raw["text"]["prompts"], raw["text"]["chosen"]) == (["1", "998"], [["it", "is"]] * 2)
    assert said[:2] == [
        "pairs: 2 of 1000",
        "--most-tokens: 2 responses cut to the first 2 tokens; lengths and loss are of these",
    ]
    assert refused(many, pairs="0") == "--prompts 0: write numbers from 1 to 1000, such as 1-3 or 1,2."
    line = written(tmp_path, other(chosen=f"{'a' * 99} " * 100_000))
    assert refused(line) == (
        "mine.jsonl, line 1, chosen: 100,000 tokens, but there is room for 500 of each response; --most-tokens 40 keeps the "
        "first 40 of each, or choose fewer prompts with --prompts."
    )


def test_an_option_that_says_nothing_is_a_sentence(tmp_path: Path) -> None:
    path = written(tmp_path, ROW)
    assert (
        refused(path, "chosen=chose") == "--column chosen=chose: mine.jsonl has no column chose; did you mean chosen?"
    )
    assert refused(path, "price=a").startswith(
        "--column price=a: write what=column, where what is one of prompt, chosen, "
    )


def test_the_commands_make_a_workbook_of_them(tmp_path: Path) -> None:
    odd = "=1+1 @SUM(A1) #N/A *? \u202e 🙂 " + "x" * 60
    path, out = written(tmp_path, other(prompt="=HYPERLINK(1)", chosen=odd)), tmp_path / "a.toml"
    run = CliRunner()
    assert run.invoke(main, ["numbers", str(path), "--kind", "dpo", "-o", str(out)]).exit_code == 0
    made = run.invoke(main, ["build", "--numbers", str(out), "-o", str(tmp_path / "a.xlsx"), "--no-proof"])
    assert (made.exit_code, "total loss 0.693147" in made.output) == (0, True)


NAMES = [
    "prompt",
    "chosen",
    "rejected",
    "completion",
    "label",
    "chosen_logps",
    "rejected_logps",
    "score_chosen",
    "score_rejected",
]
MESSAGE = st.dictionaries(st.sampled_from(["role", "content", "logprob", "token"]), st.text(max_size=4), max_size=2)
CELLS = st.recursive(
    st.none() | st.booleans() | st.floats(width=32) | st.text(max_size=6) | st.sampled_from(["=1", "[", "[-1]", "{}", "a b"]),
    lambda x: st.lists(x, max_size=3) | st.lists(MESSAGE, max_size=3),
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
