"""The command `which` and its page: the numbers are those of the workbooks, and the page is what is printed now."""

from __future__ import annotations

import re
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.comparison import Answer, Batch, answers, measure, page, told_of
from blueprint.comparison.measure import differences, turn
from blueprint.comparison.page import Telling, number
from blueprint.language import NoNumber, NotationError
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.gradients_and_epochs import CRITIC, POLICY
from tests.commands import run_command
from tests.page.workshop import made

PAGES = [Path(__file__).parent.parent / "docs" / f"which-{kind}.md" for kind in ("ppo", "grpo", "dpo")]
PRESETS = rlhf().presets
COMPARISON = told_of("weights")[1]
phrase_of = Telling(COMPARISON, rlhf().settings).phrase
DEFAULT = PRESETS["default"].values
LIBRARIES = [name for name in PRESETS if name != "default"]
BATCHES = ("default", "ten-libraries")
LOSSES = {"policy loss": "policy_loss", "value loss": "value_loss", "total loss": "total_loss"}


call = partial(run_command, "which")


def printed(*arguments: str) -> str:
    """Returns what the command prints; it must succeed."""
    result = call(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


@pytest.fixture(scope="module")
def told() -> dict[str, dict[str, Answer]]:
    """Computes both batches by every library."""
    return {
        numbers: {answer.preset.name: answer for answer in answers(made("conventions=live", numbers=numbers))}
        for numbers in BATCHES
    }


@cache
def under(preset: str, numbers: str, *settings: str) -> Book:
    """Makes the workbook of a preset with other settings; each only once, for reading."""
    return made(f"preset={preset}", *settings, numbers=numbers)


def value(book: Book, name: str) -> float:
    """Returns a single number of a book."""
    return float(book.values.cell(book.blocks[name]))


@pytest.mark.parametrize("path", PAGES, ids=[path.stem for path in PAGES])
def test_a_page_is_what_the_command_in_it_prints(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    (command,) = [line.split() for line in page.splitlines() if line.startswith("    blueprint which")]
    assert page == printed(*command[2:])


@pytest.mark.parametrize("numbers", BATCHES)
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_row_is_the_workbook_built_with_that_preset(
    told: dict[str, dict[str, Answer]], numbers: str, name: str
) -> None:
    book = under(name, numbers)
    found = told[numbers][name].numbers
    assert {title: found[title] for title in LOSSES} == pytest.approx(
        {title: value(book, block) for title, block in LOSSES.items()}, abs=1e-6
    )  # a preset's own temperature_eps of 1e-7 moves the log-probs of its own workbook


@pytest.mark.parametrize("numbers", BATCHES)
@pytest.mark.parametrize("name", LIBRARIES)
def test_the_largest_effect_is_what_a_workbook_without_that_convention_shows(
    told: dict[str, dict[str, Answer]], numbers: str, name: str
) -> None:
    largest = told[numbers][name].effects[0]
    assert largest == max(told[numbers][name].effects, key=lambda effect: abs(effect.adds))
    key = largest.key if "." in largest.key else f"ppo.{largest.key}"
    with_it, without = (
        value(under(name, numbers, *settings), "policy_loss") for settings in ([], [f"{key}={DEFAULT[largest.key]}"])
    )
    assert largest.adds == pytest.approx(with_it - without, abs=1e-6)


def test_the_default_is_the_workbook_as_it_is(told: dict[str, dict[str, Answer]]) -> None:
    found = told["default"]["default"]
    assert found.numbers["total loss"] == pytest.approx(value(made(), "total_loss"), abs=1e-12)
    assert found.effects == ()


def test_a_row_says_where_a_library_itself_comes_to_infinity() -> None:
    """Log-ratios up to 1,624: trlX averages e^d − 1 − d, which is endless; TRL averages d²/2, verl clamps d at ±20."""
    blueprint = made("conventions=live", numbers="ten-libraries").blueprint
    logits = {
        block.name: 800 * np.asarray(cells, dtype=float)
        for block, cells in blueprint.typed.items()
        if block.name.endswith("logits")
    }
    endless = Book(blueprint.with_typed(logits), beyond=True)
    told = {answer.preset.name: answer for answer in answers(endless, ["trlx", "trl_0.11.4", "verl"])}
    watched = {name: answer.numbers["approximate KL"] for name, answer in told.items()}
    assert watched["trlx"] == float("inf")
    old, new = (endless.values[endless.blocks[f"{model}.logprobs"]] for model in ("old", "policy"))
    kept = endless.values[endless.blocks["mask"]] == 1
    assert watched["trl_0.11.4"] == pytest.approx(np.mean((new - old)[kept] ** 2) / 2, rel=1e-12)
    printed = page([Batch("endless", "", [*told.values()])], "blueprint which")
    assert re.search(r"^\| trlx .*\| inf \| ", printed, re.MULTILINE)
    assert "what the library itself gets" in printed
    with pytest.raises(NoNumber, match=r"has no number: exp\(.*\) is beyond 1\.8e308"):
        Book(blueprint.with_typed(logits))
    with pytest.raises(NotationError, match="goes on beyond the largest number, which no sheet can"):
        endless.save("endless.xlsx")


def test_in_parts_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    book = made("conventions=live")
    at_once = answers(book, ["verl", "trlx"])
    monkeypatch.setattr(measure, "_MOST_CELLS", 100)
    assert answers(book, ["verl", "trlx"]) == at_once


def test_settings_of_ones_own_stand_as_a_row_of_their_own() -> None:
    book = made("conventions=live", "ppo.gamma=0.5", "loss.dual_clip=2")
    *_, yours = answers(book, ["verl"])
    assert yours.preset.name == "yours"
    assert {effect.key for effect in yours.effects} == {"gamma", "loss.dual_clip"}
    assert yours.numbers["policy loss"] == pytest.approx(value(book, "policy_loss"), abs=1e-12)
    assert "\n| yours | – | " in printed("--compare", "verl", "--set", "ppo.gamma=0.5")


@pytest.mark.parametrize("setting", ["ppo.update_step=0.5", "batch.temperature=0.7", "text.prompts=[['the']]"])
def test_what_makes_the_batch_is_not_a_setting_of_ones_own(setting: str) -> None:
    assert [answer.preset.name for answer in answers(made("conventions=live", setting), ["verl"])] == [
        "default",
        "verl",
    ]


def test_every_difference_has_words_of_its_own() -> None:
    for preset in PRESETS.values():
        for key in differences(preset.values, DEFAULT, rlhf(), COMPARISON):
            assert key not in COMPARISON.of_the_batch
            assert key not in phrase_of(key, preset.values), (preset.name, key)


def test_words() -> None:
    torchtune, openai = PRESETS["torchtune"].values, PRESETS["openai"].values
    assert phrase_of("reward.missing_eos", torchtune) == "score set to −3 where no pad follows"
    assert phrase_of("ent_coef", openai) == "no entropy bonus"
    assert phrase_of("reward.score_slot", PRESETS["trl_1.12"].values) == "score one past the last token"
    assert phrase_of("reward.score_clip", openai) == "reward.score_clip = off"
    assert phrase_of("gamma", openai) == "γ = 1"


def test_a_rule_and_its_parts_count_once() -> None:
    differing = differences(PRESETS["torchtune"].values, DEFAULT, rlhf(), COMPARISON)
    assert [key for key in differing if key.startswith("reward.missing_eos")] == ["reward.missing_eos"]


def test_numbers_as_they_are_spelled() -> None:
    assert [number(-0.00004), number(-1.5), number(0.25, "+"), number(-0.25, "+")] == [
        "0.0000", "−1.5000", "+0.2500", "−0.2500",
    ]  # fmt: skip


@pytest.mark.parametrize("numbers", BATCHES)
def test_norms_and_angles_are_autograds(numbers: str) -> None:
    pytest.importorskip("torch", reason="the outside witness is torch: install the extra [torch]")
    from tests.autograd import libraries_way_back, way_back

    made_of = made("conventions=live", "gradients=on", numbers=numbers)
    away = way_back(made_of, "rlhf_ppo") | libraries_way_back(made_of, "rlhf_ppo")
    assert {name: far for name, far in away.items() if not far <= 1e-12} == {}
    used = {name: np.asarray(made_of.values[block]) for name, block in made_of.blocks.items() if name.endswith(".grad")}
    found = {answer.preset.name: answer for answer in answers(made_of)}
    moved = (
        {"policy": POLICY, "critic": CRITIC}
        if "policy.W.grad" in used
        else {"policy": ("policy.logits",), "critic": ("critic.out",)}
    )
    for side, leaves in moved.items():
        own = np.concatenate([used[f"{leaf}.grad"].ravel() for leaf in leaves])
        for at, name in enumerate(LIBRARIES):
            norm, turn = found[name].norms[side], found[name].turns[side]
            slope = np.concatenate([used[f"library.{leaf}.grad"][at].ravel() for leaf in leaves])
            assert norm == pytest.approx(np.linalg.norm(slope), rel=1e-12)
            cosine = slope @ own / (np.linalg.norm(slope) * np.linalg.norm(own))
            assert np.cos(np.radians(turn.degrees)) == pytest.approx(cosine, abs=1e-12)
            assert turn.longer == pytest.approx(norm / found["default"].norms[side], rel=1e-12)


def test_a_factor_stretches_and_does_not_turn_and_a_clip_turns() -> None:
    """Variance by N in place of N − 1, for the 6 tokens of the default: √(6/5)."""
    told = answers(made("conventions=live", "gradients=on"), ["openrlhf", "trl_1.12"])
    turns = {effect.key: effect.turns for answer in told for effect in answer.effects}
    factor, by_n = turns["vf_coef"]["critic"], turns["advantage.ddof"]["policy"]
    assert [factor.longer, by_n.longer] == pytest.approx([0.2, (6 / 5) ** 0.5], rel=1e-12)
    assert max(factor.degrees, by_n.degrees) < 1e-6
    assert turns["value_clip_range"]["critic"].degrees > 30


def test_an_angle_is_exact_where_both_agree_and_none_where_there_is_none() -> None:
    one, right = np.array([3.0, 4.0]), np.array([-4.0, 3.0])
    assert turn(2 * one, one) == (2, 0)
    assert turn(one + 1e-9 * right, one).degrees == pytest.approx(np.degrees(1e-9), rel=1e-6)
    assert turn(right, one).degrees == pytest.approx(90, abs=1e-12)
    assert turn(-one, one).degrees == pytest.approx(180, abs=1e-12)
    assert np.isnan(turn(one, 0 * one).degrees)


def test_without_gradients_the_page_has_none() -> None:
    told = answers(made("conventions=live"), ["verl"])
    assert not told[1].norms
    assert "gradient" not in page([Batch("default", "", told)], "blueprint which")


def test_what_moves_is_named_and_what_does_not_is_counted() -> None:
    page = printed("--compare", "verl,dschat,dschat")
    assert page.count("\n| ") == 2 * (2 + 3)  # the losses, and the gradients
    assert "; no rule moves it. 16 of 18 do not move it. The policy's gradient is turned most by" in page
    assert "of the rules most" not in page
    assert page.count(" | – | – |\n") == 1
    assert "A dash: the library does not log it." in page
    assert "no single one moves the policy loss" in printed("--set", "ppo.update_step=0", "--compare", "verl")
    assert "A dash" not in printed("--compare", "verl")
