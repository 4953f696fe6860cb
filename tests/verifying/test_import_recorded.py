"""Every kind of recorded dump through `import`: a workbook of the library's own numbers, or a sentence that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="import needs torch")

from safetensors import safe_open
from safetensors.numpy import save_file

from blueprint.cli import main
from blueprint.commands.verify_files import book_of
from blueprint.verifying import VerifyOptions, ViewOptions

REAL = Path(__file__).parents[1] / "data" / "real"
RUNS = sorted(folder for folder in REAL.glob("*/*") if folder.is_dir())
WHOLE_STEPS = ("trl_grpo", "trl_rloo", "openrlhf_grpo")
"""Libraries of which a step is shown, and not a file of it."""
REFUSED = {
    "trl_dpo/mixed": "and a workbook has one loss: verify computes the sum",
    "trl_dpo/weighted": "loss.weight reads more than log-probs; --set loss.weight=off shows the step without it",
    "trl_grpo/bonus": "--set loss.ent_coef=0 shows the step without it",
}
"""By run why there is no workbook, and what to do instead."""
ONE_BY_ONE = ("openrlhf_0_11", "trl_0_11", "trl_1_12", "verl_0_9")
PARTS = [folder for folder in RUNS if folder.parent.name in ONE_BY_ONE]
SAID = {"batch_num_tokens", "global_batch_size", "dp_size", "loss_batch_info", "loss_scale_factor"}
"""Metadata that say what losses were divided by."""
Change = Callable[[dict[str, Any]], object]


def named(run: Path) -> str:
    return f"{run.parent.name}/{run.name}"


def written(source: Path, target: Path, change: Change, without: set[str] = frozenset()) -> Path:  # type: ignore[assignment]
    """Writes a recorded file with other tensors, and without some metadata."""
    with safe_open(source, "numpy") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        said = {key: each for key, each in (file.metadata() or {}).items() if key not in without}
    change(tensors)
    save_file({name: np.ascontiguousarray(each) for name, each in tensors.items()}, target, said)
    return target


def unchanged(tensors: dict[str, Any]) -> None:
    """Leaves the tensors as they are."""


def deviating(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Returns the blocks of a file's workbook, and which numbers of the library it calls deviating."""
    book, agrees = book_of([path], VerifyOptions(), ViewOptions(), "run")
    assert agrees
    found = {block.name: array for block, array in book.values.arrays.items()}
    return found, [name for name, each in found.items() if name.startswith("deviates.") and np.any(each)]


@pytest.mark.parametrize("run", RUNS, ids=named)
def test_a_recorded_dump_becomes_a_workbook_or_says_what_to_do_instead(run: Path, tmp_path: Path) -> None:
    files = sorted(run.iterdir())
    of = files if run.parent.name in WHOLE_STEPS else files[-1:]
    result = CliRunner().invoke(main, ["import", *map(str, of), "-o", str(tmp_path / "a.xlsx"), "--no-proof"])
    reason = REFUSED.get(named(run))
    assert "please report" not in result.output
    assert result.exit_code == (2 if reason else 0), result.output
    assert reason is None or reason in result.stderr


@pytest.mark.parametrize("run", [run for run in RUNS if run.parent.name == "trl_grpo"], ids=named)
def test_a_file_of_a_step_of_groups_asks_for_the_others(run: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["import", str(min(run.iterdir())), "-o", str(tmp_path / "a.xlsx"), "--no-proof"])
    assert (result.exit_code, "name all files of the step, with their scores" in result.stderr) == (2, True)


@pytest.mark.parametrize("run", PARTS, ids=named)
def test_a_workbook_of_a_part_has_the_numbers_that_the_library_logged(run: Path) -> None:
    for path in {min(run.iterdir()), max(run.iterdir())}:
        found, apart = deviating(path)
        assert apart == []
        assert sum(name.startswith("deviates.") for name in found) > 1


@pytest.mark.parametrize(
    "name", ["verl_0_9/token-mean-verl-ppo", "verl_0_9/token-mean-verl-value", "openrlhf_0_11/reward"]
)
def test_what_losses_were_divided_by_is_inferred_where_no_metadata_say_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = min((REAL / name).iterdir())
    said, _ = deviating(source)
    assert "the library divides by, and not counted here" in capsys.readouterr().out
    found, apart = deviating(written(source, tmp_path / "a.safetensors", unchanged, SAID))
    assert apart == []
    printed = capsys.readouterr().out
    assert "the library divides by, inferred from the" in printed
    # The loss that tells it is a float32, of 24 bits.
    assert float(found["policy.words"]) == pytest.approx(float(said["policy.words"]), rel=1e-6)


def _ones(tensors: dict[str, Any]) -> None:
    tensors["attention_mask"][:] = 1


def _left(tensors: dict[str, Any]) -> None:
    lengths = tensors["attention_mask"].sum(axis=1)
    for name in ("attention_mask", "input_ids", "position_scores"):
        rows = zip(tensors[name], lengths, strict=True)
        tensors[name] = np.stack([np.roll(row, len(row) - length) for row, length in rows])


def _hole(tensors: dict[str, Any]) -> None:
    tensors["attention_mask"][1, 3] = 0


def _no_mask(tensors: dict[str, Any]) -> None:
    del tensors["attention_mask"]


def _no_tokens(tensors: dict[str, Any]) -> None:
    del tensors["input_ids"]


def _many_tokens(tensors: dict[str, Any]) -> None:
    ids = tensors["input_ids"]
    tensors["input_ids"] = np.where(ids > 2, np.arange(ids.size).reshape(ids.shape) + 5, ids)


TEXTS = (_ones, _left, _hole, _no_mask, _no_tokens, _many_tokens)


@pytest.mark.parametrize("change", TEXTS, ids=lambda change: change.__name__.strip("_"))
@pytest.mark.parametrize("read", ["last_token", "before_end", "last_column", ""])
@pytest.mark.parametrize("run", ["plain", "pad_eos"])
def test_texts_of_rewards_may_lie_as_they_like(run: str, read: str, change: Change, tmp_path: Path) -> None:
    path = written(min((REAL / "trl_reward" / run).iterdir()), tmp_path / "a.safetensors", change)
    book_of([path], VerifyOptions(None, (f"score.read={read}",) if read else ()), ViewOptions(), "run")


@pytest.mark.parametrize("run", ["plain", "pad_eos", "margin"])
def test_a_mask_of_ones_on_pads_is_said_and_agrees_with_the_library(run: str, tmp_path: Path) -> None:
    path = written(min((REAL / "trl_reward" / run).iterdir()), tmp_path / "a.safetensors", _ones)
    result = CliRunner().invoke(main, ["verify", str(path)])
    assert (result.exit_code, "All 8 logged quantities agree" in result.output) == (0, True)
    assert "the mask is 1 on pads: transformers reads the score at the last token that is none" in result.output


def test_a_text_of_nothing_but_its_end_is_refused(tmp_path: Path) -> None:
    def ended(tensors: dict[str, Any]) -> None:
        tensors["input_ids"][0] = 1

    path = written(min((REAL / "trl_reward" / "pad_eos").iterdir()), tmp_path / "a.safetensors", ended)
    result = CliRunner().invoke(main, ["import", str(path), "-o", str(tmp_path / "a.xlsx"), "--no-proof"])
    said = (
        "has a text that is nothing but its end, and score.read = before_end reads the score in front of that, in row 0"
    )
    assert (result.exit_code, said in result.stderr) == (2, True)


def test_rewards_of_sums_are_not_shown_where_only_means_are_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = min((REAL / "trl_dpo" / "norm").iterdir())
    path = written(source, tmp_path / "a.safetensors", lambda tensors: tensors.pop("ref_per_token_logps"))
    book_of([path], VerifyOptions(), ViewOptions(), "run")
    assert "The rewards shown are of log-probs per token, which the loss takes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("run", "changed"),
    [
        ("trl_dpo/sft", "loss.mean_eps=0.5"), ("trl_dpo/sft", "loss.form=apo_zero_unpaired"),
        ("trl_reward/margin", "loss.mean_eps=0.5"), ("trl_reward/margin", "score.divide=0.5"),
    ],
)  # fmt: skip
def test_other_conventions_are_shown_as_they_are_computed_again(run: str, changed: str) -> None:
    book_of([min((REAL / run).iterdir())], VerifyOptions(None, (changed,)), ViewOptions(), "run")


def test_a_whole_number_is_wanted_where_a_setting_has_no_other(tmp_path: Path) -> None:
    file = min((REAL / "verl_grpo" / "grpo").iterdir())
    result = CliRunner().invoke(main, ["import", str(file), "-o", str(tmp_path / "a.xlsx"), "--set", "group.ddof=0.5"])
    assert (result.exit_code, "found 0.5, expected a whole number" in result.stderr) == (2, True)
