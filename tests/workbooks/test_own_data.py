"""Rows of one's own, as CSV, JSON or JSONL, of every kind that takes them: what is read, what is refused and in which words."""

from __future__ import annotations

import json
import tomllib
from math import exp, log1p
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blueprint import Book
from blueprint.cli import main
from blueprint.inputs import NumbersError, load, tables_of
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.registry import kind_named
from tests.commands import run_command

DATA = Path(__file__).parents[1] / "data"
TABLES = {"grpo": "own_rollouts", "dpo": "own_pairs", "sft": "own_demonstrations", "reward_model": "own_comparisons"}
"""By kind the table of rows that cannot be read, and of what is said of them."""
CASES = [
    (kind, case["rows"], case["sentence"])
    for kind, name in TABLES.items()
    for case in tomllib.loads((DATA / f"{name}.toml").read_text(encoding="utf-8"))["case"]
]
ROLLOUT = {"prompt": "2 + 2?", "response": "it is 4", "reward": 1}
PREFERRED = {"prompt": "2 + 2?", "chosen": "it is 4", "rejected": "=1+1"}
SCORED = {"prompt": "2 + 2", "chosen": "it is 4", "rejected": "5", "score_chosen": 1.5, "score_rejected": 2}
RANKING = {"prompt": "3", "responses": ["a", "b c", "d"], "rank": [2, 3, 1], "scores": [0.5, -1, 2.5]}
Raw = dict[str, Any]


def tables_from(kind: str, path: Path, *told: str, **more: Any) -> tuple[Raw, list[str]]:
    """Returns the tables that a file of rows becomes, and what is said of the way. told: which column is what."""
    raw, said = kind_named(kind).part("rows")(path, told, **more)
    return raw, said


def written(path: Path, *rows: Any, name: str = "mine.jsonl") -> Path:
    """Writes rows as JSONL, or, if one text is given, that text."""
    text = rows[0] if isinstance(rows[0], str) else "\n".join(json.dumps(each) for each in rows)
    (path / name).write_bytes(text.encode())
    return path / name


def refused(kind: str, path: Path, *told: str, **more: Any) -> str:
    with pytest.raises(NumbersError) as found:
        tables_from(kind, path, *told, **more)
    return str(found.value)


def says(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


def told(who: str, text: str) -> dict[str, str]:
    """A message as ShareGPT has it."""
    return {"from": who, "value": text}


ASKED, GOOD, BAD = says("user", "2 + 2?"), says("assistant", "it is 4"), says("assistant", "=1+1")
LEARNED = [says("user", "the old dog"), says("assistant", "is Very sleepy")]
SHAPES = {
    "grpo": {
        "csv.csv": "prompt,response,reward\n2 + 2?,it is 4,1\n2 + 2?,=1+1,0.5\n",
        "tabs.tsv": "prompt\tresponse\treward\n2 + 2?\tit is 4\t1\n2 + 2?\t=1+1\t0.5\n",
        "bom.csv": '\ufeffQuery;Completion;Score\r\n2 + 2?;"it\nis 4";true\r\n\r\n2 + 2?;=1+1;.5\r\n',
        "lists.jsonl": '{"prompt": "2 + 2?", "completions": ["it is 4", "=1+1"], "rewards": [1, 0.5]}\n\n',
        "array.json": json.dumps([{"query": "2 + 2?", "output": each, "score": r}
                                  for each, r in (("it is 4", True), ("=1+1", 0.5))]),
        "chat.jsonl": "\n".join(json.dumps({"prompt": [{"content": "2 + 2?"}], "response": [{"content": each}], "reward": r})
                                for each, r in (("it is 4", 1), ("=1+1", 0.5))),
        "ids.jsonl": "\n".join(json.dumps({"uid": "2 + 2?", "response_ids": each, "reward": {"right": r, "form": None}})
                               for each, r in ((["it", "is", "4"], 1), (["=1+1"], 0.5))),
    },
    "dpo": {
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
        "sharegpt.jsonl": json.dumps({"conversations": [told("system", "count"), told("human", "2 + 2?")],
                                      "chosen": told("gpt", "it is 4"), "rejected": told("gpt", "=1+1")}),
        "messages.csv": 'chosen,rejected\n"[{""role"": ""user"", ""content"": ""2 + 2?""}, {""role"": ""assistant"", ""content"": '
                        '""it is 4""}]","[{""role"": ""user"", ""content"": ""2 + 2?""}, {""content"": ""=1+1""}]"\n',
    },
    "sft": {
        "csv.csv": "prompt,completion\nthe old dog,is very sleepy\n",
        "messages.jsonl": json.dumps({"messages": LEARNED}),
        "sharegpt.jsonl": json.dumps({"conversations": [told("human", "the old dog"), told("gpt", "is Very sleepy")]}),
        "both.json": json.dumps([{"instruction": LEARNED[:1], "output": LEARNED[1:]}]),
        "tokens.jsonl": json.dumps({"prompt": ["the", "old", "dog"], "response": ["is", "very", "sleepy"]}),
    },
}  # fmt: skip
"""By kind files of the same rows."""
READ: dict[str, tuple[dict[str, dict[str, Any]], str, str]] = {
    "grpo": (
        {
            "text": {"prompts": ["2 + 2?"], "responses": [["it", "is", "4"], ["=1+1"]], "truncated": [0.0, 0.0]},
            "reward": {"scores": [1.0, 0.5]},
        },
        "rollouts",
        "no log-probs: a first step, on which every ratio is 1",
    ),
    "dpo": (
        {"text": {"prompts": ["2 + 2?"], "chosen": [["it", "is", "4"]], "rejected": [["=1+1"]]}},
        "pair-logprobs",
        "no log-probs: a first step, on which the policy is the reference and every log-ratio is 0",
    ),
    "sft": (
        {
            "text": {
                "vocabulary": ["<eos>", "the", "old", "dog", "is", "very", "sleepy", "happy"],
                "end_word": "<eos>",
                "texts": [["the", "old", "dog", "is", "very", "sleepy", "<eos>"]],
                "response": [[0, 0, 1, 1, 1, 1]],
                "there": [[1] * 6],
            }
        },
        "demonstrations",
        "weights: those of sft, which knows all words",
    ),
}
"""By kind what they become: tables, the level, and what is said."""


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, shapes in SHAPES.items() for name in shapes])
def test_rows_of_any_shape_become_the_same_numbers(tmp_path: Path, kind: str, name: str) -> None:
    raw, said = tables_from(kind, written(tmp_path, SHAPES[kind][name], name=name))
    tables, level, sentence = READ[kind]
    for table, cells in tables.items():
        assert raw[table] == cells
    assert load(tables_of(raw)).level == level
    assert sentence in (said if kind == "grpo" else said[-1:])


def test_demonstrations_in_known_words_have_the_weights_of_the_built_in_model(tmp_path: Path) -> None:
    for name, text in SHAPES["sft"].items():
        numbers = load(tables_of(tables_from("sft", written(tmp_path, text, name=name))[0]))
        assert numbers["policy.W"].tolist() == load("sft")["policy.W"].tolist()


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """One of them would be taken without a word; columns without a name, as a spreadsheet leaves them, may be several."""
    twice = written(tmp_path, "prompt,response,reward,reward\na,b,1,2\n", name="mine.csv")
    assert refused("grpo", twice) == "mine.csv: found two columns called reward; give each column a name of its own."
    unnamed = written(tmp_path, "prompt,response,reward,,\na,b,1,,\n", name="mine.csv")
    assert tables_from("grpo", unnamed)[0]["level"] == "rollouts"


@pytest.mark.parametrize(("kind", "rows", "sentence"), CASES, ids=[f"{kind} {says[12:70]}" for kind, _, says in CASES])
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, kind: str, rows: str, sentence: str) -> None:
    assert refused(kind, written(tmp_path, rows)) == sentence


def rollout(**cells: Any) -> Raw:
    return {**ROLLOUT, **cells}


def preferred(**cells: Any) -> Raw:
    return {**PREFERRED, **cells}


def test_log_probs_of_any_model_are_read(tmp_path: Path) -> None:
    """Those of other tokens than the words make the tokens unknown; OpenAI's name them; old ones alone are the policy's."""
    rows = (
        rollout(logprobs=[-1, -2, -0.5], ref_logprobs=[-1, -1, 0]),
        rollout(logprobs="[-1, -2]", ref_logprobs=[-3, -4]),
    )
    raw, said = tables_from("grpo", written(tmp_path, *rows))
    assert raw["policy"]["logprobs"] == [[-1, -2, -0.5], [-1, -2]]
    assert (raw["reference"]["logprobs"][1], raw["text"]["responses"][1]) == ([-3, -4], ["?", "?"])
    assert any(line.startswith("tokens: log-probs are of other tokens") for line in said)
    server = {"content": [{"token": " four", "logprob": -0.25}, {"token": "\n", "logprob": -0.5}]}
    raw, said = tables_from("grpo", written(tmp_path, rollout(old_logprobs=server)))
    assert (raw["policy"]["logprobs"], raw["text"]["responses"]) == ([[-0.25, -0.5]], [["␣four", "↵"]])
    assert "log-probs of the policy in training: those of old stand there, a first step" in said


def test_several_rewards_are_weighed_and_one_that_was_not_given_adds_nothing(tmp_path: Path) -> None:
    rows = [{"prompt": "a", "text": "b", "right": right, "format": form} for right, form in ((1, 0.5), (None, 1))]
    path = written(tmp_path, *rows)
    raw, said = tables_from("grpo", path, "reward=right + 0.5*format")
    assert raw["reward"]["scores"] == [1.25, 0.5]
    assert said[0] == "columns: response = text, reward = right + 0.5·format"


def test_a_group_is_told_by_its_column_before_its_prompt(tmp_path: Path) -> None:
    rows = [
        rollout(group=group, finish_reason=why)
        for group, why in ((1, "stop"), (2, "length"), (1, "length"), (2, "eos"))
    ]
    raw, _ = tables_from("grpo", written(tmp_path, *rows))
    assert (raw["text"]["prompts"], raw["text"]["truncated"]) == (["2 + 2?"] * 2, [0, 1, 1, 0])


def test_prompts_are_chosen_and_responses_cut_and_both_are_said(tmp_path: Path) -> None:
    rows = [rollout(prompt=f"prompt {number // 4}", response="a " * (5 + number % 2)) for number in range(1000)]
    path = written(tmp_path, *rows)
    assert refused("grpo", path) == (
        "mine.jsonl: 1,000 responses, but a workbook shows up to 64: choose them, such as --prompts 1-16."
    )
    raw, said = tables_from("grpo", path, prompts="2,250", most_tokens=5)
    assert (raw["text"]["prompts"], {len(row) for row in raw["text"]["responses"]}) == (["prompt 1", "prompt 249"], {5})
    assert said[1:3] == [
        "groups: 2 prompts of 250, 4 responses to each",
        "--most-tokens: 4 responses cut to the first 5 tokens; lengths and loss are of these",
    ]


def test_what_is_too_deep_or_too_long_is_one_sentence(tmp_path: Path) -> None:
    assert refused("grpo", written(tmp_path, "[" * 100_000)) == (
        "mine.jsonl, line 1: lists are nested too deeply; a list of numbers is enough."
    )
    assert refused("grpo", written(tmp_path, rollout(response="a " * 900))) == (
        "mine.jsonl, line 1: 900 tokens, but there is room for 500 of each response; --most-tokens 40 keeps the first 40 of each, "
        "or choose fewer prompts with --prompts."
    )


def test_a_transcript_is_parted_before_its_last_answer(tmp_path: Path) -> None:
    """Also where both answers begin alike; where the questions before differ, behind the words that both have."""
    begun = "\n\nHuman: Hi\n\nAssistant: Hello\n\nHuman: 2 + 2?\n\nAssistant:"
    raw, _ = tables_from("dpo", written(tmp_path, {"chosen": f"{begun} it is 4", "rejected": f"{begun} it is 5"}))
    assert raw["text"]["chosen"] + raw["text"]["rejected"] == [["it", "is", "4"], ["it", "is", "5"]]
    assert raw["text"]["prompts"] == ["Human: Hi Assistant: Hello Human: 2 + 2?"]
    rows = {
        "chosen": "\n\nHuman: a\n\nAssistant: b",
        "rejected": "\n\nHuman: a\n\nAssistant: c\n\nHuman: d\n\nAssistant: e",
    }
    raw, _ = tables_from("dpo", written(tmp_path, rows))
    assert (raw["text"]["prompts"], raw["text"]["chosen"]) == (["Human: a Assistant:"], [["b"]])


def test_log_probs_of_tokens_and_of_responses_are_read(tmp_path: Path) -> None:
    logs = {
        "chosen_logprobs": [-1, -2, -0.5],
        "rejected_logprobs": "[-3]",
        "ref_chosen_logps": [-1, -1, 0],
        "ref_rejected_logps": [-4],
    }
    raw, said = tables_from("dpo", written(tmp_path, preferred(**logs)))
    assert raw["policy"] == {"chosen": [[-1, -2, -0.5]], "rejected": [[-3]]}
    assert (raw["reference"]["rejected"], raw["per"]) == ([[-4]], "token")
    raw, said = tables_from("dpo", written(tmp_path, preferred(chosen_logps=-3.5, rejected_logps="-3")))
    assert (raw["policy"], raw["per"]) == ({"chosen": [[-3.5]], "rejected": [[-3]]}, "response")
    assert raw["text"]["chosen"] == [["it␣is␣4"]]
    assert (
        said[-1]
        == "log-probs: those of policy stand for both models: a first step, on which the policy is the reference"
    )
    raw, said = tables_from("dpo", written(tmp_path, preferred(chosen_logprobs=[-1, -2], rejected_logprobs=[-3])))
    assert raw["text"]["chosen"] == [["?", "?"]]
    assert any(line.startswith("tokens: log-probs are of other tokens") for line in said)


def test_scores_are_true_rewards_and_columns_may_be_told(tmp_path: Path) -> None:
    row = {"q": "2 + 2?", "good": "a", "bad": "b", "score_chosen": 8.5, "score_rejected": 3}
    raw, said = tables_from("dpo", written(tmp_path, row), "prompt=q", "chosen=good", "rejected=bad")
    assert raw["rewards"] == {"chosen": [8.5], "rejected": [3]}
    assert said[0].startswith("columns: prompt = q, chosen = good, rejected = bad")


def test_single_responses_stand_side_by_side_and_kto_is_that_of_each(tmp_path: Path) -> None:
    """β = 0.1, log-ratios 1 and −1, no mismatched texts but the reference: the loss of each is 1 − σ(0.1)."""
    rows = [
        {"prompt": "a", "completion": "x", "label": True, "logprobs": [-1], "ref_logprobs": [-2]},
        {"prompt": "b", "completion": "y", "label": False, "logprobs": [-3], "ref_logprobs": [-2]},
    ]
    raw, said = tables_from("dpo", written(tmp_path, *rows))
    assert (raw["text"]["prompts"], raw["text"]["chosen"], raw["text"]["rejected"]) == (["a / b"], [["x"]], [["y"]])
    assert said[1].startswith("single responses")
    book = Book(blueprint_of(load(tables_of(raw), ["loss.form=apo_zero_unpaired"])))
    loss = {block.name: array for block, array in book.values.arrays.items()}["total_loss"]
    assert float(loss) == pytest.approx(1 / (1 + 2.718281828459045**0.1), abs=1e-12)


def test_too_many_and_too_long_is_one_sentence(tmp_path: Path) -> None:
    many = written(tmp_path, *[preferred(prompt=str(number)) for number in range(1000)])
    assert (
        refused("dpo", many)
        == "mine.jsonl: 1,000 pairs, but a workbook shows up to 32: choose them, such as --prompts 1-32."
    )
    raw, said = tables_from("dpo", many, prompts="2,999", most_tokens=2)
    assert (raw["text"]["prompts"], raw["text"]["chosen"]) == (["1", "998"], [["it", "is"]] * 2)
    assert said[:2] == [
        "pairs: 2 of 1000",
        "--most-tokens: 2 responses cut to the first 2 tokens; lengths and loss are of these",
    ]
    assert refused("dpo", many, prompts="0") == "--prompts 0: write numbers from 1 to 1000, such as 1-3 or 1,2."
    line = written(tmp_path, preferred(chosen=f"{'a' * 99} " * 100_000))
    assert refused("dpo", line) == (
        "mine.jsonl, line 1, chosen: 100,000 tokens, but there is room for 500 of each response; --most-tokens 40 keeps the "
        "first 40 of each, or choose fewer prompts with --prompts."
    )


def test_every_answer_of_a_conversation_is_learned_and_shorter_texts_are_padded(tmp_path: Path) -> None:
    rows = [
        {"messages": [*LEARNED, says("user", "why?"), says("assistant", "old")]},
        {"text": "the dog"},
    ]
    raw, said = tables_from("sft", written(tmp_path, *rows))
    assert raw["text"]["vocabulary"] == ["<eos>", "the", "old", "dog", "is", "Very", "sleepy", "why？"]
    assert raw["text"]["response"] == [[0, 0, 1, 1, 1, 0, 1, 1], [1, 1, 0, 0, 0, 0, 0, 0]]
    assert raw["text"]["there"] == [[1] * 8, [1, 1, 0, 0, 0, 0, 0, 0]]
    assert said[-1] == "weights: drawn, since no built-in model knows these 8 words"
    assert load(tables_of(raw))["policy.Y"].shape == (4, 8)


def test_a_text_that_is_cut_has_no_end(tmp_path: Path) -> None:
    raw, said = tables_from("sft", written(tmp_path, SHAPES["sft"]["messages.jsonl"]), most_tokens=4)
    assert raw["text"]["texts"] == [["the", "old", "dog", "is"]]
    assert said[1].startswith("--most-tokens: 1 response cut to the first 4 tokens")


def test_pairs_stand_behind_rankings_and_scores_after_the_last_token(tmp_path: Path) -> None:
    """The loss is that of all pairs: three of the ranking, whose best response comes first, and the pair with its margin."""
    raw, said = tables_from("reward_model", written(tmp_path, {**SCORED, "margin": 0.5}, RANKING))
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
    asked, good, bad = says("user", "2 + 2"), says("assistant", "4"), says("assistant", "5")
    rows = [{"chosen": [asked, good], "rejected": [asked, bad], "score_chosen": 1, "score_rejected": 0}]
    raw, _ = tables_from("reward_model", written(tmp_path, *rows))
    assert raw["text"]["texts"] == [["2", "+", "2", "4", "<eos>"], ["2", "+", "2", "5", "<eos>"]]
    ranked = {key: each for key, each in RANKING.items() if key != "rank"}
    raw, _ = tables_from("reward_model", written(tmp_path, ranked))
    assert [row[1] for row in raw["text"]["texts"]] == ["d", "a", "b"]


PRICE = (
    "--column price=reward: write what=column, where what is one of group, prompt, tokens, response, reward, truncated"
)
OPTIONS: tuple[tuple[str, tuple[str, ...], str | None, str], ...] = (
    ("grpo", ("reward=rewardd",), None, "--column reward=rewardd: mine.jsonl has no column rewardd; did you mean reward?"),
    ("grpo", ("price=reward",), None, f"{PRICE}, greedy, policy, old, reference, engine, entropy."),
    ("grpo", (), "0", "--prompts 0: write numbers from 1 to 1, such as 1-3 or 1,2."),
    ("grpo", (), "1,1", "--prompts 1,1: write each number once, the smaller one first, such as 1-3,7."),
    ("dpo", ("chosen=chose",), None, "--column chosen=chose: mine.jsonl has no column chose; did you mean chosen?"),
    ("dpo", ("price=a",), None, "--column price=a: write what=column, where what is one of prompt, chosen, "),
)  # fmt: skip


@pytest.mark.parametrize(("kind", "told", "prompts", "sentence"), OPTIONS, ids=[each[-1][:32] for each in OPTIONS])
def test_an_option_that_says_nothing_is_a_sentence(
    tmp_path: Path, kind: str, told: tuple[str, ...], prompts: str | None, sentence: str
) -> None:
    found = refused(kind, written(tmp_path, ROLLOUT if kind == "grpo" else PREFERRED), *told, prompts=prompts)
    assert found.startswith(sentence)
    assert found == sentence or sentence.endswith(", ")


ODD = "=1+1 @SUM(A1) +2 -3 #N/A *? \u202e 🙂 " + "x" * 60


def built(tmp_path: Path, kind: str, *rows: Any, proof: tuple[str, ...] = ("--no-proof",)) -> str:
    """Makes a numbers file and a workbook of rows with the commands; returns what the second one prints."""
    path, out, run = written(tmp_path, *rows), str(tmp_path / f"{kind}.toml"), CliRunner()
    assert run.invoke(main, ["numbers", str(path), "--kind", kind, "-o", out]).exit_code == 0
    made = run.invoke(main, ["build", "--numbers", out, "-o", str(tmp_path / f"{kind}.xlsx"), *proof])
    assert made.exit_code == 0
    return made.output


def test_the_commands_make_workbooks_of_them(tmp_path: Path) -> None:
    assert "total loss 0.693147" in built(tmp_path, "dpo", preferred(prompt="=HYPERLINK(1)", chosen=ODD))
    assert "total loss" in built(tmp_path, "sft", {"prompt": "the old dog", "completion": "is very sleepy"})


def test_a_formula_stays_a_text_in_the_workbook(tmp_path: Path) -> None:
    """Also an error's name, patterns and signs that nobody sees; the file builds, and is complete."""
    rows = [rollout(prompt="=HYPERLINK(1)", response=each) for each in (ODD, "b")]
    assert "recalculated" in built(tmp_path, "grpo", *rows, proof=())
    inputs = openpyxl.load_workbook(tmp_path / "grpo.xlsx")["Inputs"]
    found = {cell.value: cell.data_type for row in inputs.iter_rows() for cell in row if isinstance(cell.value, str)}
    texts = ("=1+1", "@SUM(A1)", "‘#N/A’", "=HYPERLINK(1)", "*?", "🙂", "x" * 39 + "…")
    assert {found[each] for each in texts} == {"s"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--kind", "grp"], "--kind grp: no kind of workbook that is made of rows of one's own; did you mean grpo?"),
        (["--prompts", "1"], "rows of your own: add --kind, with one of dpo, grpo, reward_model, sft, or leave them away."),
        (["--kind", "grpo", "--set", "kl.coef=0.1"], "kl.coef: found 0.1 without reference.logprobs, expected no such key"),
    ],
)  # fmt: skip
def test_the_command_refuses_in_a_sentence(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    found = run_command("numbers", written(tmp_path, ROLLOUT, ROLLOUT), *arguments)
    assert (found.exit_code, sentence in found.output) == (2, True)


NAMES = {
    "grpo": ["prompt", "response", "reward", "logprobs", "uid", "cut", "tokens"],
    "dpo": [
        "prompt", "chosen", "rejected", "completion", "label", "chosen_logps", "rejected_logps", "score_chosen", "score_rejected",
    ],
    "sft": ["prompt", "completion", "text", "messages"],
    "reward_model": [
        "prompt", "chosen", "rejected", "responses", "rank", "scores", "score_chosen", "score_rejected", "margin",
    ],
}  # fmt: skip
WORDS = st.sampled_from(["=1", "[", "[-1]", "[1, 2]", "{}", "a b", "a *", "<eos>"])
KEYS = st.sampled_from(["role", "content", "logprob", "token"])
CELLS = st.recursive(
    st.none() | st.booleans() | st.floats(width=32) | st.text(max_size=6) | WORDS,
    lambda x: (
        st.lists(x, max_size=3)
        | st.dictionaries(KEYS, x, max_size=2)
        | st.lists(st.dictionaries(KEYS, st.text(max_size=4), max_size=2), max_size=3)
        | st.lists(st.fixed_dictionaries({"role": st.just("assistant"), "content": x}), max_size=2)
    ),
    max_leaves=4,
)
HOSTILE = st.sampled_from([*NAMES]).flatmap(
    lambda kind: st.tuples(
        st.just(kind), st.lists(st.dictionaries(st.sampled_from(NAMES[kind]), CELLS), min_size=1, max_size=3)
    )
)


@settings(max_examples=270, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HOSTILE)
def test_a_hostile_file_is_read_or_refused_in_a_sentence(tmp_path: Path, drawn: tuple[str, list[Raw]]) -> None:
    (kind, rows), sentence = drawn, "."
    try:
        load(tables_of(tables_from(kind, written(tmp_path, *rows))[0]))
    except NumbersError as error:
        sentence = str(error)
    assert sentence.endswith((".", "?"))
