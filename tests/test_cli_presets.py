"""The command `presets`, and the options of `build` that choose among them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from blueprint.book import book as own_book
from blueprint.language import Axis, block, typed
from blueprint.page.read import Opened, read
from blueprint.page.read import read as values
from blueprint.workbooks.classic_ppo.rollout import classic_presets
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.dpo.schema import dpo_presets
from blueprint.workbooks.grpo.schema import grpo_presets
from blueprint.workbooks.reward_model.schema import rm_presets
from blueprint.workbooks.sft.schema import sft_presets
from tests.commands import run_command

CATALOGUES = (rlhf(), classic_presets(), dpo_presets(), grpo_presets(), rm_presets(), sft_presets())
TABLES = ("ppo", "ppo", "dpo", "ppo", "reward", "sft")
"""Where the settings of each stand that everybody knows."""


def test_presets_lists_every_library_with_version_source_and_what_differs() -> None:
    said = run_command("presets").stdout
    for catalogue in CATALOGUES:
        for preset in catalogue.presets.values():
            assert f"\n{preset.name}: {preset.title}, {preset.version}\n  {preset.source}\n  {preset.why}\n" in said
    lines = re.findall(r"^    (\S+) = (\S+)  \(default (\S+)\)$", said, re.MULTILINE)
    assert ("loss.dual_clip", "3", "off") in lines
    differing = [
        (catalogue.settings[key].part_of, {preset.values.get(whole), catalogue.settings[whole].value})
        if (whole := catalogue.settings[key].part_of) in catalogue.settings
        else ("", set())
        for catalogue in CATALOGUES
        for preset in catalogue.presets.values()
        for key, value in preset.values.items()
        if value != catalogue.settings[key].value
    ]
    idle = [whole for whole, said_of_it in differing if whole and said_of_it <= {None, "none", "off"}]
    assert len(lines) == len(differing) - len(idle) > 300
    assert {"kl.place"} <= {*idle}  # a KL that is paid nowhere has a coefficient that nobody reads


def test_presets_of_one_name_tells_that_one() -> None:
    said = run_command("presets", "trl_1.12").stdout
    assert said.startswith("\ntrl_1.12: TRL PPOv2Trainer 0.11 to PPOTrainer 1.12, 1.12.0\n")
    assert "    reward.score_slot = one_past  (default last)\n" in said
    assert "verl" not in said
    assert "CleanRL" in run_command("presets", "cleanrl").stdout


def test_presets_of_a_name_that_two_kinds_have_tells_both() -> None:
    said = run_command("presets", "openrlhf").stdout
    heads = re.findall(r"^(.+): blueprint build(.*) --preset NAME\n\nopenrlhf: (.+), 0.11.2$", said, re.MULTILINE)
    assert heads == [
        ("RLHF PPO", "", "OpenRLHF"),
        ("DPO", " --numbers dpo", "OpenRLHF, nll_loss_coef 0.2"),
        ("GRPO", " --numbers grpo", "OpenRLHF, group_norm"),
        ("SFT", " --numbers sft", "OpenRLHF"),
    ]
    assert "cleanrl" not in said


def test_build_takes_a_preset_and_settings_on_top(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    asked = ["--numbers", "ten-libraries", "--preset", "verl", "--set", "loss.aggregation=seq-mean-token-mean"]
    result = run_command("build", *asked, "--compare", "trl_1.12,verl", "--no-proof", "-o", str(path))
    assert result.exit_code == 0, result.output
    assert "total loss 0.457921:" in result.stdout  # verl's own code: .45792142150393256
    file = read(path)
    assert (file["preset"].item(), file["library.names"].tolist()) == ("verl", ["trl_1.12", "verl"])
    assert (file["loss.aggregation.yours"].item(), file["loss.dual_clip"].item()) == ("seq-mean-token-mean", 3.0)


def test_live_conventions_of_the_default_preset_give_the_plain_builds_loss(tmp_path: Path) -> None:
    live, plain = tmp_path / "live.xlsx", tmp_path / "plain.xlsx"
    assert (
        run_command("build", "--conventions", "live", "--compare", "verl", "--no-proof", "-o", str(live)).exit_code == 0
    )
    assert run_command("build", "--conventions", "plain", "--no-proof", "-o", str(plain)).exit_code == 0
    ours, theirs = read(live), read(plain)
    assert "loss.dual_clip" not in theirs
    for name in ("total_loss", "policy_loss", "value_loss", "entropy", "policy_kl"):
        assert ours[name].item() == pytest.approx(theirs[name].item(), rel=1e-12)
    for name in ("rewards", "td_errors", "advantages", "returns", "advantages_used", "ratio", "surrogate"):
        mask = theirs["mask"][:, 1:-1]
        assert ours[name][:, : mask.shape[1]] * mask == pytest.approx(
            theirs[name][:, : mask.shape[1]] * mask, rel=1e-12
        )


def test_keys_lists_every_convention_with_what_may_stand_there() -> None:
    said = run_command("presets", "--keys").stdout
    assert re.findall(r"^(\S+) = ", said, re.MULTILINE) == [
        key if "." in key else f"{TABLES[CATALOGUES.index(of)]}.{key}" for of in CATALOGUES for key in of.settings
    ]
    assert "reward.score_slot = last  (or end, one_past, two_past)\n    where the score lands\n" in said
    assert "loss.dual_clip = off  (1 … off)\n" in said


def test_check_goes_on_behind_a_file_of_another_kind_and_names_it(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    good, other = tmp_path / "good.xlsx", tmp_path / "own.xlsx"
    assert run_command("build", "--numbers", "very-very-sleepy", "--no-proof", "-o", str(good)).exit_code == 0
    i = Axis("i", "item", start=1)
    x = typed("x", (i,), "x", "a number of one's own")
    double = block("double", (i,), "2x", "twice the number")
    double[i] = 2 * x[i]
    own_book("own", [x, double], i, {x: [1.0, 2.0]}).save(other)
    result = run_command("check", str(other), str(good))
    assert result.exit_code == 3
    assert "good.xlsx  agrees" in result.stdout
    assert f"Error: {other} is of a kind that check does not know" in result.stderr


@pytest.mark.parametrize(("numbers", "compared"), [("classic", 18), ("kl-controller", 1)])
def test_torch_knows_the_numbers_of_the_other_kinds_too(numbers: str, compared: int, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    result = run_command("build", "--numbers", numbers, "--witness", "-o", str(tmp_path / "a.xlsx"))
    assert result.exit_code == 0
    places, found = Opened(tmp_path / "a.xlsx").places, values(tmp_path / "a.xlsx")
    beside = [
        name.removeprefix("witness.") for name in places if name.startswith("witness.") and name != "witness.near"
    ]
    assert len(beside) == compared
    assert [name for name in beside if found[f"verdict.{name}"] != "OK"] == []
    assert [name for name in beside if abs(found[name] - found[f"witness.{name}"]) > 1e-12] == []
    assert found["check.master"] == "OK"
