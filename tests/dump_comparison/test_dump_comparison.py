"""Two frameworks' dumps of one step: responses are aligned, and the setting that makes the first difference is named.

slime's own code and that of ten PPO libraries were recorded on one batch each: what they computed of it stands in these dumps.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blueprint as bp
from blueprint.dump_comparison import Comparison, compare, side_of
from blueprint.dumps import Minibatch, MinibatchError, read_dump, save
from tests.commands import run_command
from tests.dump_comparison.written import verl
from tests.dumps.as_frameworks import miles_training, slime_training
from tests.verifying.dumps import FIRST, dump, settings


def compared(folder: Path, variant: str = "grpo", **changed: Any) -> Comparison:
    """Compares slime's file with verl's of the same batch, whose rows stand in another order."""
    return compare(read_dump(slime_training(folder / "7.pt")), read_dump(verl(folder / "b.npz", variant, **changed)))


def of_ppo(library: str) -> Minibatch:
    """Returns what a library computed of the batch of PPO, in float32, and the conventions of that run."""
    run = FIRST[library]
    return replace(dump(run, "float32"), hyperparameters=settings(run), library=library, path=f"{library}.npz")


called = partial(run_command, "compare")


def test_the_same_numbers_in_another_order_are_no_difference(tmp_path: Path) -> None:
    found = compared(tmp_path)
    assert found.first is None
    assert [each.says for each in found.lines] == ["same"] * 5
    assert [each.name for each in found.lines] == [
        "response_mask", "scores", "logprobs_rollout", "logprobs_old", "advantages"
    ]  # fmt: skip
    assert found.pair.moved
    assert found.pair.whole
    assert (found.conventions.needed, found.conventions.missing) == ((), "")


def test_the_setting_behind_the_first_difference_is_named(tmp_path: Path) -> None:
    found = compared(tmp_path, "grpo_no_std", norm_adv_by_std_in_grpo=False)
    assert found.first is not None
    assert found.first.name == "advantages"
    assert found.first.differing == 32
    assert [(str(each), each.moves) for each in found.conventions.needed] == [
        ("group.std = none instead of group", "advantages")
    ]


def test_numbers_that_a_file_own_settings_do_not_give_are_told_from_them(tmp_path: Path) -> None:
    found = compared(tmp_path, "grpo_no_std")
    assert found.conventions.needed == ()
    assert found.conventions.own[0] == {}
    assert "group.std = none" in found.conventions.own[1]["advantages"]


@pytest.mark.parametrize(("noise", "says"), [(1e-7, "rounding"), (0.03, "as two forwards"), (0.5, "DIFFERS")])
def test_log_probs_of_two_forwards_are_never_the_same(tmp_path: Path, noise: float, says: str) -> None:
    line = next(each for each in compared(tmp_path, noise=noise).lines if each.name == "logprobs_old")
    assert line.says == says


def test_an_input_that_differs_is_no_convention(tmp_path: Path) -> None:
    found = compared(tmp_path, scores=2.0)  # of the first response
    assert found.first is not None
    assert (found.first.name, found.first.differing) == ("scores", 1)
    assert found.inputs_differ
    assert found.first.first is not None
    assert (found.first.first.row, found.first.first.column) == (0, None)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("openrlhf", "verl", {"reward.kl_in": "rewards", "advantage.ddof": "advantages", "loss.dual_clip": "policy_loss"}),
        ("verl", "nemo_rl", {
            "ppo.kl_coef": "rewards", "ppo.kl_estimator": "rewards", "reward.kl_in": "rewards", "ppo.gae_lambda": "advantages",
            "loss.dual_clip": "policy_loss", "ppo.value_clip_range": "value_loss"}),
    ],
)  # fmt: skip
def test_recorded_libraries_part_by_these_settings(one: str, other: str, expected: dict[str, str]) -> None:
    found = compare(of_ppo(one), of_ppo(other))
    assert found.first is not None
    assert found.first.name == "rewards"
    assert {each.key: each.moves for each in found.conventions.needed} == expected
    says = {each.name: each.says for each in found.lines}
    assert says["values_old"] == says["logprobs_ref"] == "same"


def test_settings_that_the_second_dump_cannot_have_are_tried_in_the_first() -> None:
    """TRL's dapo has β = 0, and so no log-probs of a reference, which the KL of its grpo needs."""
    real = Path(__file__).parents[1] / "data" / "real" / "trl_grpo"
    name = "grpo_000000_0_0_0_0.safetensors"
    found = compare(read_dump(real / "grpo" / name), read_dump(real / "dapo" / name))
    assert found.conventions.turned
    assert found.first is not None
    assert found.first.name == "total_loss"
    needed = {each.key: each.turned() for each in found.conventions.needed}
    assert needed["kl.coef"] == "kl.coef = 0.04 instead of 0"
    text = str(found)
    assert "B lacks what A's settings need, so that it is A that is computed by the other's settings." in text
    assert "Computed by B's settings, A's total_loss would be another. A's numbers come out with" in text


def test_pairs_are_compared_inside_their_masks() -> None:
    real = Path(__file__).parents[1] / "data" / "real" / "trl_dpo"
    one, other = (read_dump(real / folder / "dpo_000000_0_0.safetensors") for folder in ("sigmoid", "ipo"))
    found = compare(one, other)
    assert (
        next(each.cells for each in found.lines if each.name == "chosen.logprobs") == one.tensors["chosen.mask"].sum()
    )
    assert [str(each) for each in found.conventions.needed] == [
        "loss.form = ipo instead of sigmoid", "logp.of = mean instead of sum"
    ]  # fmt: skip


def test_what_follows_from_an_earlier_difference_is_said_to() -> None:
    says = {each.name: each.says for each in compare(of_ppo("openrlhf"), of_ppo("verl")).lines}
    assert (says["rewards"], says["returns"], says["value_loss"]) == ("DIFFERS", "follows", "follows")


def test_dumps_of_other_responses_are_refused_by_the_response(tmp_path: Path) -> None:
    slime = slime_training(tmp_path / "7.pt")
    found = called(slime, verl(tmp_path / "b.npz", token=999))
    assert found.exit_code == 3
    assert "are of different batches: the response in row 0 of the first, of 3 tokens (" in found.output
    assert "), is not in the second" in found.output


def test_dumps_of_other_kinds_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "ppo.npz"
    save(
        other,
        {"logprobs_old": -np.ones((2, 3)), "response_mask": np.ones((2, 3)), "scores": np.ones(2)},
        {"library": "verl"},
    )
    found = called(slime_training(tmp_path / "7.pt"), other)
    assert found.exit_code == 3
    assert "7.pt is a step of GRPO and" in found.output
    assert "a step of PPO: compare two dumps of the same kind." in found.output


def test_without_tokens_rows_are_compared_as_they_stand() -> None:
    one, other = of_ppo("openrlhf"), of_ppo("verl")
    shorter = replace(other, tensors={name: each[:3] for name, each in other.tensors.items()}, slots=other.slots[:3])
    with pytest.raises(
        MinibatchError, match=r"openrlhf\.npz has 4 responses and verl\.npz 3, and without response_ids in both"
    ):
        compare(one, shorter)
    assert compare(one, other).pair.by.startswith("as they stand")


def test_a_folder_is_the_files_of_one_step(tmp_path: Path) -> None:
    ranks = tmp_path / "miles"
    ranks.mkdir()
    miles_training(ranks)
    found = called(slime_training(tmp_path / "7.pt"), ranks)
    assert (found.exit_code, "No difference" in found.output) == (0, True), found.output
    slime_training(ranks / "8.pt")
    found = called(tmp_path / "7.pt", ranks)
    assert (
        found.exit_code,
        "holds 2 steps (step 2 … step 7): name a folder with the files of one" in found.output,
    ) == (3, True)


def test_a_file_of_an_unknown_library_is_compared_by_its_numbers(tmp_path: Path) -> None:
    found = compared(tmp_path, library="elsewhere", algorithm="")
    assert found.first is None
    assert "elsewhere" in found.conventions.missing


def test_json_says_the_same(tmp_path: Path) -> None:
    files = slime_training(tmp_path / "7.pt"), verl(tmp_path / "b.npz", "grpo_no_std", norm_adv_by_std_in_grpo=False)
    found = called(*files, "--json")
    data = json.loads(found.output)
    assert (found.exit_code, data["differs"], data["first"]["quantity"]) == (1, True, "advantages")
    assert data["explained_by"] == [{"key": "group.std", "a": "group", "b": "none", "moves": "advantages"}]
    assert data["rows"][0][0] == 0
    assert not data["first_is_input"]


def test_the_page_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    slime_training(Path("slime.pt"))
    verl(Path("verl.npz"), "grpo_no_std", norm_adv_by_std_in_grpo=False)
    found = called("slime.pt", "verl.npz")
    assert found.exit_code == 1
    page = (Path(__file__).parents[2] / "docs" / "verify.md").read_text(encoding="utf-8")
    example = page.split("    blueprint compare slime.pt verl.npz\n\n")[1].split("\n\nThe responses are aligned")[0]
    assert [line.strip() for line in example.splitlines()] == [
        line.strip() for line in found.output.strip().splitlines()
    ]


REAL = Path(__file__).parents[1] / "data" / "real"


@pytest.mark.parametrize(
    ("one", "other", "files", "rows", "first", "needed"),
    [
        ("trl_1_12/float32", "trl_1_12/bfloat16", 4, 8, None, []),
        ("cleanrl/free", "cleanrl/clipped", 2, 2, "value_loss", ["ppo.value_clip_range = 0.2 instead of off"]),
        ("sb3/free", "sb3/free", 3, 3, None, []),
        ("trl_dpo/sigmoid", "trl_dpo/ipo", 2, 8, "total_loss", [
            "loss.form = ipo instead of sigmoid", "logp.of = mean instead of sum"]),
    ],
)  # fmt: skip
def test_all_files_of_a_step_are_put_together(
    one: str, other: str, files: int, rows: int, first: str | None, needed: list[str]
) -> None:
    """Recorded steps of two epochs, of which the first is compared, microbatch by microbatch."""
    found = bp.compare(REAL / one, REAL / other)
    assert found.pair.sides is not None
    assert [len(side.files) for side in found.pair.sides] == [files] * 2
    assert len(found.pair.rows) == rows
    assert (found.first and found.first.name) == first
    assert [str(each) for each in found.conventions.needed] == needed
    logged = [each for each in found.lines if each.name == "total_loss"]
    assert [each.cells for each in logged] == [files]


def test_a_number_of_one_file_is_found_in_its_file() -> None:
    paths = sorted((REAL / "trl_1_12" / "float32").glob("*_0_0_?_?.safetensors"))
    dumps = [read_dump(path) for path in paths]
    logged = {**dumps[2].logged, "policy_loss": 9.0}
    found = compare(dumps, [*dumps[:2], replace(dumps[2], logged=logged), dumps[3]])
    assert repr(found).startswith(
        "<Comparison: first difference: policy_loss, trl_000000_0_0_1_0.safetensors in A and trl_000000_0_0_1_0.safetensors in B: "
    )
    assert found.first is not None
    assert (found.first.differing, found.first.cells) == (1, 4)


def test_a_token_of_one_file_is_found_by_its_file_and_row() -> None:
    paths = sorted((REAL / "trl_1_12" / "float32").glob("*_0_0_?_?.safetensors"))
    dumps = [read_dump(path) for path in paths]
    values = dumps[3].tensors["values_old"].copy()
    values[1, 0] += 5
    found = compare(dumps, [*dumps[:3], replace(dumps[3], tensors={**dumps[3].tensors, "values_old": values})])
    assert found.first is not None
    assert str(found.first).startswith(
        "values_old, row 1 of trl_000000_0_0_1_1.safetensors in A (row 1 of trl_000000_0_0_1_1.safetensors in B), column 0: "
    )


def test_the_minibatches_of_a_rollout_stand_in_the_order_of_its_steps() -> None:
    """Two runs that shuffled one rollout otherwise are compared step by step."""
    dumps = [read_dump(path) for path in sorted((REAL / "cleanrl" / "free").glob("cleanrl_32_0_*.safetensors"))]
    whole = side_of(dumps).whole
    assert whole.minibatch_rows is not None
    assert np.array_equal(whole.minibatch_rows, np.argwhere(np.ones((2, 16))))
    assert compare(dumps, dumps[::-1]).first is None
    says = {each.name for each in compare(dumps[0], dumps[1]).lines}
    assert "advantages" in says
    assert "logprobs_new" not in says


def test_files_of_two_steps_are_no_side() -> None:
    dumps = [read_dump(path) for path in sorted((REAL / "trl_1_12" / "float32").glob("*_0_0_?_?.safetensors"))]
    with pytest.raises(MinibatchError, match=r"says step 0 and .* step 1: give the files of one step of one run"):
        side_of([dumps[0], replace(dumps[1], step=1)])


def test_python_compares_by_a_preset_of_each(tmp_path: Path) -> None:
    files = (
        slime_training(tmp_path / "7.pt"),
        verl(tmp_path / "b.npz", "grpo_no_std", library="elsewhere", algorithm=""),
    )
    found = bp.compare(*files, preset=("slime", "verl_grpo"))
    assert [each.preset.name for each in found.conventions.chosen] == ["slime", "verl_grpo"]
    with pytest.raises(MinibatchError, match="preset: found 3 names, expected one for both, or two, a's and b's"):
        bp.compare(*files, preset=("slime", "verl_grpo", "trl_dapo"))
