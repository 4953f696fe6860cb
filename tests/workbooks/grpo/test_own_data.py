"""Rows of one's own, as CSV, JSON or JSONL: what is read of them, what is refused and in which words."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blueprint.cli import main
from blueprint.inputs import NumbersError, load, tables_of
from blueprint.workbooks.grpo.own_data import tables_from

DATA = Path(__file__).parents[2] / "data"
CASES = tomllib.loads((DATA / "own_rollouts.toml").read_text(encoding="utf-8"))["case"]
ROW = {"prompt": "2 + 2?", "response": "it is 4", "reward": 1}


def written(path: Path, *rows: Any, name: str = "mine.jsonl") -> Path:
    """Writes rows as JSONL, or, if one text is given, that text."""
    text = rows[0] if isinstance(rows[0], str) else "\n".join(json.dumps(each) for each in rows)
    (path / name).write_bytes(text.encode())
    return path / name


def refused(path: Path, *told: str, prompts: str | None = None, most: int | None = None) -> str:
    with pytest.raises(NumbersError) as found:
        tables_from(path, told, prompts, most)
    return str(found.value)


def other(**cells: Any) -> dict[str, Any]:
    return {**ROW, **cells}


SHAPES = {
    "csv.csv": "prompt,response,reward\n2 + 2?,it is 4,1\n2 + 2?,=1+1,0.5\n",
    "tabs.tsv": "prompt\tresponse\treward\n2 + 2?\tit is 4\t1\n2 + 2?\t=1+1\t0.5\n",
    "bom.csv": '\ufeffQuery;Completion;Score\r\n2 + 2?;"it\nis 4";true\r\n\r\n2 + 2?;=1+1;.5\r\n',
    "lists.jsonl": '{"prompt": "2 + 2?", "completions": ["it is 4", "=1+1"], "rewards": [1, 0.5]}\n\n',
    "array.json": json.dumps([{"query": "2 + 2?", "output": each, "score": r} for each, r in (("it is 4", True), ("=1+1", 0.5))]),
    "chat.jsonl": "\n".join(json.dumps({"prompt": [{"content": "2 + 2?"}], "response": [{"content": each}], "reward": r})
                            for each, r in (("it is 4", 1), ("=1+1", 0.5))),
    "ids.jsonl": "\n".join(json.dumps({"uid": "2 + 2?", "response_ids": each, "reward": {"right": r, "form": None}})
                           for each, r in ((["it", "is", "4"], 1), (["=1+1"], 0.5))),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_rows_of_any_shape_become_the_same_numbers(tmp_path: Path, name: str) -> None:
    raw, said = tables_from(written(tmp_path, SHAPES[name], name=name))
    assert raw["text"] == {"prompts": ["2 + 2?"], "responses": [["it", "is", "4"], ["=1+1"]], "truncated": [0.0, 0.0]}
    assert (raw["reward"], load(tables_of(raw)).level) == ({"scores": [1.0, 0.5]}, "rollouts")
    assert "no log-probs: a first step, on which every ratio is 1" in said


def test_log_probs_of_any_model_are_read(tmp_path: Path) -> None:
    """Those of other tokens than the words make the tokens unknown; OpenAI's name them; old ones alone are the policy's."""
    rows = (other(logprobs=[-1, -2, -0.5], ref_logprobs=[-1, -1, 0]), other(logprobs="[-1, -2]", ref_logprobs=[-3, -4]))
    raw, said = tables_from(written(tmp_path, *rows))
    assert raw["policy"]["logprobs"] == [[-1, -2, -0.5], [-1, -2]]
    assert (raw["reference"]["logprobs"][1], raw["text"]["responses"][1]) == ([-3, -4], ["?", "?"])
    assert any(line.startswith("tokens: log-probs are of other tokens") for line in said)
    server = {"content": [{"token": " four", "logprob": -0.25}, {"token": "\n", "logprob": -0.5}]}
    raw, said = tables_from(written(tmp_path, other(old_logprobs=server)))
    assert (raw["policy"]["logprobs"], raw["text"]["responses"]) == ([[-0.25, -0.5]], [["␣four", "↵"]])
    assert "log-probs of the policy in training: those of old stand there, a first step" in said


def test_several_rewards_are_weighed_and_one_that_was_not_given_adds_nothing(tmp_path: Path) -> None:
    rows = [{"prompt": "a", "text": "b", "right": right, "format": form} for right, form in ((1, 0.5), (None, 1))]
    path = written(tmp_path, *rows)
    raw, said = tables_from(path, ["reward=right + 0.5*format"])
    assert raw["reward"]["scores"] == [1.25, 0.5]
    assert said[0] == "columns: response = text, reward = right + 0.5·format"


def test_a_group_is_told_by_its_column_before_its_prompt(tmp_path: Path) -> None:
    rows = [
        other(group=group, finish_reason=why) for group, why in ((1, "stop"), (2, "length"), (1, "length"), (2, "eos"))
    ]
    raw, _ = tables_from(written(tmp_path, *rows))
    assert (raw["text"]["prompts"], raw["text"]["truncated"]) == (["2 + 2?"] * 2, [0, 1, 1, 0])


def test_prompts_are_chosen_and_responses_cut_and_both_are_said(tmp_path: Path) -> None:
    rows = [other(prompt=f"prompt {number // 4}", response="a " * (5 + number % 2)) for number in range(1000)]
    path = written(tmp_path, *rows)
    assert refused(path) == (
        "mine.jsonl: 1,000 responses, but a workbook shows up to 64: choose them, such as --prompts 1-16."
    )
    raw, said = tables_from(path, prompts="2,250", most_tokens=5)
    assert (raw["text"]["prompts"], {len(row) for row in raw["text"]["responses"]}) == (["prompt 1", "prompt 249"], {5})
    assert said[1:3] == [
        "groups: 2 prompts of 250, 4 responses to each",
        "--most-tokens: 4 responses cut to the first 5 tokens; lengths and loss are of these",
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["sentence"][12:60])
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, case: dict[str, str]) -> None:
    assert refused(written(tmp_path, case["rows"])) == case["sentence"]


def test_what_is_too_deep_or_too_long_is_one_sentence(tmp_path: Path) -> None:
    assert refused(written(tmp_path, "[" * 100_000)) == (
        "mine.jsonl, line 1: lists are nested too deeply; a list of numbers is enough."
    )
    assert refused(written(tmp_path, other(response="a " * 900))) == (
        "mine.jsonl, line 1: 900 tokens, but there is room for 500 of each response; --most-tokens 40 keeps the first 40 of each, "
        "or choose fewer prompts with --prompts."
    )


@pytest.mark.parametrize(
    ("told", "prompts", "sentence"),
    [
        (["reward=rewardd"], None, "--column reward=rewardd: mine.jsonl has no column rewardd; did you mean reward?"),
        (["price=reward"], None, "--column price=reward: write what=column, where what is one of group, prompt, tokens, response, "
         "reward, truncated, greedy, policy, old, reference, engine, entropy."),
        ([], "0", "--prompts 0: write numbers from 1 to 1, such as 1-3 or 1,2."),
        ([], "1,1", "--prompts 1,1: write each number once, the smaller one first, such as 1-3,7."),
    ],
)  # fmt: skip
def test_an_option_that_says_nothing_is_a_sentence(
    tmp_path: Path, told: list[str], prompts: str | None, sentence: str
) -> None:
    assert refused(written(tmp_path, ROW), *told, prompts=prompts) == sentence


def test_a_formula_stays_a_text_in_the_workbook(tmp_path: Path) -> None:
    """Also an error's name, patterns and signs that nobody sees; the file builds, and is complete."""
    odd = "=1+1 @SUM(A1) +2 -3 #N/A *? \u202e 🙂 " + "x" * 60
    rows = [other(prompt="=HYPERLINK(1)", response=each) for each in (odd, "b")]
    path, out, book = written(tmp_path, *rows), tmp_path / "a.toml", tmp_path / "a.xlsx"
    run = CliRunner()
    assert run.invoke(main, ["numbers", str(path), "--kind", "grpo", "-o", str(out)]).exit_code == 0
    made = run.invoke(main, ["build", "--numbers", str(out), "-o", str(book)])
    assert (made.exit_code, "recalculated" in made.output) == (0, True)
    cells = [
        cell
        for row in openpyxl.load_workbook(book)["Inputs"].iter_rows()
        for cell in row
        if isinstance(cell.value, str)
    ]
    found = {cell.value: cell.data_type for cell in cells}
    assert {found[each] for each in ("=1+1", "@SUM(A1)", "‘#N/A’", "=HYPERLINK(1)", "*?", "🙂", "x" * 39 + "…")} == {
        "s"
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--kind", "grp"], "--kind grp: no kind of workbook that is made of rows of one's own; did you mean grpo?"),
        (["--prompts", "1"], "rows of your own: add --kind, with one of dpo, grpo, reward_model, sft, or leave them away."),
        (["--kind", "grpo", "--set", "kl.coef=0.1"], "kl.coef: found 0.1 without reference.logprobs, expected none"),
    ],
)  # fmt: skip
def test_the_command_refuses_in_a_sentence(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    found = CliRunner().invoke(main, ["numbers", str(written(tmp_path, ROW, ROW)), *arguments])
    assert (found.exit_code, sentence in found.output) == (2, True)


NAMES = ["prompt", "response", "reward", "logprobs", "uid", "cut", "tokens"]
CELLS = st.recursive(
    st.none() | st.booleans() | st.floats(width=32) | st.text(max_size=6) | st.sampled_from(["=1", "[", "[-1]", "{}"]),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.sampled_from(["logprob", "token", "content"]), x, max_size=2),
    max_leaves=4,
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(st.sampled_from(NAMES), CELLS), min_size=1, max_size=3))
def test_a_hostile_file_is_read_or_refused_in_a_sentence(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path, sentence = written(tmp_path, *rows), "."
    try:
        load(tables_of(tables_from(path)[0]))
    except NumbersError as error:
        sentence = str(error)
    assert sentence.endswith((".", "?"))
