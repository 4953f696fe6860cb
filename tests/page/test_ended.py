"""A number that the result does not read may end without ending the workbook; what the result reads ends the build."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

import blueprint as bp
from blueprint.book import Book
from blueprint.inputs import given, load
from blueprint.language import Ended, NoNumber, block, choose, exp, log, typed
from blueprint.page.engine import Cells, with_ironcalc
from blueprint.page.formulas import expected
from blueprint.page.outline import Blueprint, Line, Section, Sheet
from blueprint.page.recalculate import compare
from blueprint.workbooks import blueprint_of
from tests.page.soffice import with_libreoffice
from tests.page.workshop import MAINS, made, opened
from tests.replayed import window_book, with_everything_logged

Changes = dict[str, Any]
REMARK = "no number: what was typed is too large, empty, not in a list, or leads to a division by 0; the result does not read it"


@cache
def _numbers(name: str) -> dict[str, Any]:
    return dict(given(load(name)))


def _with(name: str, key: str, at: tuple[int, ...], number: float) -> Changes:
    """Returns the change of one number of a part of built-in numbers."""
    array = thawed(_numbers(name)[key])
    inner = array
    for place in at[:-1]:
        inner = inner[place]
    inner[at[-1]] = number
    return {key: array}


def thawed(array: Any) -> Any:
    """Returns nested tuples as lists."""
    return [thawed(each) for each in array] if isinstance(array, list | tuple) else deepcopy(array)


def _word(name: str, word: str) -> int:
    return int(_numbers(name)["text.vocabulary"].index(word))


def sft() -> Changes:
    """A logit of −1e4: the perplexity is e to the power of thousands."""
    return _with("sft", "policy.Y", (0, 0), -1e4)


def other_library() -> Changes:
    """An old logit of −700: the gradient of a library without clamp is beyond the largest number when it is squared."""
    return {
        "preset": "verl",
        "gradients": "on",
        "compare": "verl,nemo_rl",
        **_with("ten-libraries", "old.logits", (0, 3, 6), -700.0),
    }


def forward_kl(*more: tuple[str, str]) -> Changes:
    """A log-ratio of −500 under forward KL: the margin is e to the 500th, and IPO would square it."""
    place = (0, 5, _word("dpo-batch", "<eos>"))
    return {
        "preset": "trl_1.16", "margin.divergence": "forward_kl", **dict(more),
        **_with("dpo-batch", "policy.logits", place, -500.0),
    }  # fmt: skip


def far_off(**more: str) -> Changes:
    """A log-ratio of 1000 to the reference, of which k3 takes e to the power."""
    place = (0, 0, _word("grpo-batch", "three"))
    changes: Changes = {"kl.estimator": "k1", "kl.place": "loss", **more}
    for key in ("policy.logits", "old.logits", "engine.logits"):
        changes |= _with("grpo-batch", key, place, -1000.0)
    return changes


def no_chosen(**more: str) -> Changes:
    """No chosen response has a token: a mean over its tokens is 0 / 0."""
    response, chosen = thawed(_numbers("dpo-batch")["text.response"]), _numbers("dpo-batch")["text.chosen"]
    rows = [[0.0] * len(row) if is_chosen else row for row, is_chosen in zip(response, chosen, strict=True)]
    return {"text.response": rows, **more}


def token() -> Changes:
    """A log-prob of −800: k3, which nothing but a check reads, is e to the 799th."""
    return {"per_token.logprobs_old": [[-0.9, -800.0, -0.5]]}


def tokens_far_off(**more: str) -> Changes:
    """A log-prob of −800 that k3 takes e to the power of, and that the reward does not read, since β is 0."""
    return {"ppo.kl_coef": "0", "ppo.kl_estimator": "k3", **token(), **more}


def old_far_off(**more: str) -> Changes:
    """An old logit of −1000: k3 of the old policy is e to the 999th or so, and β is 0."""
    return {
        "ppo.kl_coef": "0",
        "ppo.kl_estimator": "k3",
        **_with("ten-libraries", "old.logits", (0, 3, 6), -1000.0),
        **more,
    }


def new_far_off(**more: str) -> Changes:
    """A new logit of −1000: k3 of the new policy, which only a loss pays, is e to the 999th or so; the reward pays the KL."""
    return {"ppo.kl_estimator": "k3", **_with("ten-libraries", "policy.logits", (0, 3, 6), -1000.0), **more}


EXAMPLES: dict[str, tuple[str, Callable[[], Changes], set[str]]] = {
    "a perplexity": ("sft", sft, {"perplexity", "epoch2.perplexity"}),
    "another library's gradient": ("ten-libraries", other_library, {"library.policy.grad.norm_l"}),
    "another loss of DPO": ("dpo-batch", forward_kl, {"loss.ipo", "loss.rpo_squared", "curve.ipo"}),
    "another loss of DPO, with gradients": (
        "dpo-batch", lambda: forward_kl(("gradients", "on")), {"loss.ipo", "loss.rpo_squared", "curve.ipo"},
    ),
    "k3 beside k1": ("grpo-batch", far_off, {"kl_old.k3", "kl_new.k3"}),
    "k3 beside k1, with gradients": ("grpo-batch", lambda: far_off(gradients="on"), {"kl_old.k3", "kl_new.k3"}),
    "a KL that is not paid": (
        "grpo-batch", lambda: far_off(**{"kl.place": "none", "kl.estimator": "k3", "gradients": "on"}),
        {"kl_old.k3", "kl_new.k3"},
    ),
    "an NLL of weight 0": (
        "dpo-batch", lambda: no_chosen(gradients="on"), {"nll.token", "odds.chosen"},
    ),
    "a KL of PPO with β = 0": ("very-very-sleepy", tokens_far_off, {"kl.k3"}),
    "a KL of PPO with β = 0, with conventions": (
        "ten-libraries", lambda: old_far_off(**{"loss.log_ratio_clamp": "20", "gradients": "on"}), {"kl.k3"},
    ),
    "a KL that PPO's loss does not pay": ("ten-libraries", lambda: new_far_off(gradients="on"), {"kl_new.k3"}),
    "a check alone": ("very-very-sleepy", token, {"kl.k3"}),
}  # fmt: skip
"""By name: built-in numbers, what is changed in them, and the quantities that end by themselves."""
PROVED = [
    example
    for example in EXAMPLES
    if example not in ("another loss of DPO, with gradients", "k3 beside k1, with gradients")
]
"""Those that engines and torch compute again; of the others another one shows it as well."""
SMALL = ("a perplexity", "k3 beside k1", "a check alone")


@cache
def ended(example: str) -> Book:
    numbers, changes, _ = EXAMPLES[example]
    return Book(blueprint_of(load(numbers, changes())))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ended")


@cache
def saved(example: str, folder: Path) -> Path:
    path = folder / f"{list(EXAMPLES).index(example)}.xlsx"
    ended(example).save(path)
    return path


@cache
def computed(example: str, folder: Path) -> Cells:
    """Returns what an engine makes of the file, which takes it longer than torch."""
    return with_ironcalc(saved(example, folder))


def own(**numbers: float) -> Book:
    """Makes a blueprint of one's own, with a result that reads one of two rows."""
    x, which = typed("x", (), "x", "a number"), typed("which", (), "which", "0: the logarithm, 1: the exponential")
    low, high = block("low", (), "ln", "its logarithm"), block("high", (), "e", "e to its power")
    low[()], high[()] = log(x), exp(x)
    twice, result = block("twice", (), "2e", "twice as much"), block("result", (), "R", "what is wanted")
    twice[()] = 2 * high
    result[()] = choose(which, low=low, high=high) + 1
    lines = tuple(Line((each,)) for each in (x, which, low, high, twice, result))
    sheet = Sheet("Own", "a blueprint of one's own", (Section("All", lines),))
    return Book(Blueprint("Own", (sheet,), {}, {x: numbers["x"], which: numbers["which"]}, result=result))


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_quantities_that_end_by_themselves_are_known_and_the_result_has_a_number(example: str) -> None:
    book = ended(example)
    assert {each.name for each in book.values.roots} >= EXAMPLES[example][2]
    assert book.blueprint.results is not None
    for needed in book.blueprint.results:
        assert needed not in book.values.ended
        assert bool((book.values[needed] == book.values[needed]).all())


@pytest.mark.parametrize("example", PROVED)
def test_an_engine_shows_the_same_errors_and_start_is_ok_with_a_remark(example: str, folder: Path) -> None:
    book, path = ended(example), saved(example, folder)
    workbook, cells = opened(path), computed(example, folder)
    proof = compare(expected(book.layout), cells)
    assert (proof.failures, proof.agreeing) == ([], proof.total)
    row = next(row for row in range(1, 60) if workbook["Start"].cell(row, 3).value == "all checks")
    place, _, said = str(workbook["Start"].cell(row, 8).value).partition(": ")
    assert (workbook["Start"].cell(row, 4).value, said) == ("OK", REMARK)
    assert (cells["Start", f"D{row}"], cells["Start", f"H{row}"]) == ("OK", f"{place}: {REMARK}")
    assert (workbook["Formulas"]["D4"].value, cells["Formulas", "D4"]) == ("remark", "remark")
    assert int(workbook["Formulas"]["D8"].value) == sum(
        str(each).startswith("#") and len(str(each)) > 1 for each in cells.values()
    )


@pytest.mark.parametrize("example", PROVED)
def test_the_row_says_why_and_its_cell_shows_the_error(example: str, folder: Path) -> None:
    book, workbook = ended(example), opened(saved(example, folder))
    for each in [b for b in book.values.roots if not b.link][:4]:
        spot = book.spots[each.name]
        places = next(iter(book.values.ended[each]))
        at = spot.stands(places)
        assert workbook[at.sheet].cell(at.row, at.column).value in ("#NUM!", "#DIV/0!")
        why = f"(as delivered no number: {book.values.why[each]})"
        row = [str(cell.value) for line in workbook[at.sheet].iter_rows() for cell in line if cell.value is not None]
        whole = [
            str(cell.value) for line in workbook["Contents"].iter_rows() for cell in line if cell.value is not None
        ]
        assert any(why in text or ("no number: … (see Contents)" in text) for text in row), each.name
        assert any(why in text for text in whole), each.name


@pytest.mark.parametrize("example", PROVED)
def test_torch_has_no_finite_number_there_either(example: str, folder: Path) -> None:
    pytest.importorskip("torch", reason="the outside witness needs torch")
    from blueprint.checking import Checked
    from blueprint.checking.checker import check

    file = Checked(saved(example, folder))
    file.computing = partial(computed, example, folder)
    (verdict,) = check([file]).verdicts
    assert verdict.agrees, [str(first) for first in verdict.firsts]
    assert verdict.file.compared.compared == verdict.file.compared.expected > 0


def test_libreoffice_shows_the_same_errors(needs_libreoffice: None, folder: Path) -> None:
    paths = [saved(example, folder) for example in SMALL]
    for example, theirs in zip(SMALL, with_libreoffice(paths), strict=True):
        ours = computed(example, folder)
        assert compare(ours, {cell: theirs.get(cell) for cell in ours}).failures == []
        assert theirs["Formulas", "D4"] == "remark"


def test_no_cell_and_no_chart_holds_what_no_reader_knows(folder: Path) -> None:
    import zipfile

    for example in SMALL:
        with zipfile.ZipFile(saved(example, folder)) as archive:
            for part in archive.namelist():
                text = archive.read(part).decode("utf-8", "ignore")
                assert [each for each in ("<v>nan", "<v>inf", "\ue000") if each in text] == [], part
                assert "#NUM!" not in text or not part.startswith("xl/charts/"), part


def test_a_saved_file_is_opened_explained_and_compared_with_itself(folder: Path) -> None:
    path = saved("a perplexity", folder)
    book = bp.open(path)
    assert {each.name for each in book.values.roots} == EXAMPLES["a perplexity"][2]
    said = str(book.explain("perplexity")).splitlines()
    assert said[0] == (
        "no number: exp(2234.2685) is beyond 1.8e308, the largest number that a cell can hold; the result does not read it"
    )
    assert said[1].startswith("PPL = #NUM!  (perplexity, Diagnostics!N14)")
    assert "the file says" not in "\n".join(said)


@pytest.mark.parametrize(("which", "error"), [(1.0, "#NUM!"), (0.0, "#NUM!")])
def test_a_blueprint_of_ones_own_reads_the_branch_that_is_taken(which: float, error: str, tmp_path: Path) -> None:
    """−1 has no logarithm, e to the power 1000 is too large: each is fine as long as the other one is wanted."""
    book = own(x=1000.0 if which == 0 else -1.0, which=which)
    ends = {each.name: {end.error for end in cells.values()} for each, cells in book.values.ended.items()}
    assert ends == ({"low": {error}} if which == 1 else {"high": {error}, "twice": {error}})
    book.save(tmp_path / "own.xlsx")
    proof = book.prove(tmp_path / "own.xlsx")
    assert (proof.failures, proof.agreeing) == ([], proof.total)


@pytest.mark.parametrize(("x", "which", "sentence"), [
    (1000.0, 1.0, "high (Own!D9) has no number: exp(1000) is beyond 1.8e308"),
    (0.0, 0.0, "low (Own!D8) has no number: 0 has no logarithm"),
])  # fmt: skip
def test_what_the_result_reads_ends_the_build(x: float, which: float, sentence: str) -> None:
    with pytest.raises(NoNumber) as caught:
        own(x=x, which=which)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("numbers", "changes", "quantity"),
    [
        ("grpo-batch", lambda: far_off(**{"kl.estimator": "k3"}), "kl_new.k3"),
        ("very-very-sleepy", lambda: tokens_far_off(**{"ppo.kl_coef": "0.1"}), "kl.k3"),
        ("ten-libraries", lambda: new_far_off(**{"reward.kl_in": "loss"}), "kl_new.k3"),
        ("dpo-batch", lambda: no_chosen(**{"loss.nll_coef": "1"}), "nll.token"),
        ("dpo-batch", lambda: forward_kl(("loss.form", "ipo")), "loss.ipo"),
    ],
)
def test_settings_that_read_it_end_the_build(numbers: str, changes: Callable[[], Changes], quantity: str) -> None:
    with pytest.raises(NoNumber) as caught:
        Book(blueprint_of(load(numbers, changes())))
    assert str(caught.value).startswith(f"{quantity} ")


def test_an_empty_cell_still_ends_the_build_since_a_sheet_would_take_it_for_0() -> None:
    """A spreadsheet shows no error for what is computed from an empty cell: nothing that is read as 0 passes for an error."""
    x, y = typed("x", (), "x", "a number"), typed("y", (), "y", "another")
    unread, result = block("unread", (), "u", "read by nothing"), block("result", (), "R", "what is wanted")
    unread[()], result[()] = x + 1, y + 1
    sheet = Sheet("Own", "", (Section("All", tuple(Line((each,)) for each in (x, y, unread, result))),))
    with pytest.raises(NoNumber, match="a cell of x is empty"):
        Book(Blueprint("Own", (sheet,), {}, {x: float("nan"), y: 1.0}, result=result))


def test_a_cell_that_ended_is_nan_and_knows_its_error() -> None:
    book = own(x=-1.0, which=1.0)
    assert not isinstance(book.values.cell(book.blocks["high"]), Ended)
    end = book.values.cell(book.blocks["low"])
    assert isinstance(end, Ended)
    assert (end != end, end.error) == (True, "#NUM!")


SLOW = {"default": "very-very-sleepy", "q-learning": "q-learning-path", "dpo": None, "grpo": None, "sft": None}
"""What stands for the numbers of a kind whose workbook takes long; three kinds of pairs and texts are built as reward-model is."""
KINDS = [*filter(None, (SLOW.get(name, name) for name in MAINS.values())), "a minibatch"]


def with_unread(outline: Blueprint) -> Blueprint:
    """Adds, on the last sheet, e to the power of a typed 1000, half of it on a row of its own, and 1 / 0."""
    far, nothing = typed("far", (), "far", "a number"), typed("nothing", (), "nil", "0")
    beyond, half, none = (
        block(f"unread.{name}", (), name, "what nothing reads") for name in ("beyond", "half", "none")
    )
    beyond[()], none[()] = exp(far), far / nothing
    half[()] = beyond / 2
    *others, last = outline.sheets
    more = Section("Unread", tuple(Line((each,)) for each in (far, nothing, beyond, half, none)), printed=False)
    sheets = (*others, replace(last, sections=(*last.sections, more)))
    return replace(outline, sheets=sheets, typed={**outline.typed, far: 1000.0, nothing: 0.0})


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_workbook_lives_with_what_its_result_does_not_read(kind: str, tmp_path: Path) -> None:
    whole = window_book(batch=with_everything_logged()) if kind == "a minibatch" else made(numbers=kind)
    book = Book(with_unread(whole.blueprint))
    assert {each.name: {str(end.error) for end in cells.values()} for each, cells in book.values.ended.items()} == {
        "unread.beyond": {"#NUM!"}, "unread.half": {"#NUM!"}, "unread.none": {"#DIV/0!"},
    }  # fmt: skip
    assert {each.name for each in book.values.roots} == {"unread.beyond", "unread.none"}
    book.save(tmp_path / "a.xlsx")
    proof = book.prove(tmp_path / "a.xlsx")
    assert (proof.failures, proof.agreeing) == ([], proof.total)
    stored = opened(tmp_path / "a.xlsx")
    row = next(row for row in range(1, 60) if stored["Start"].cell(row, 3).value == "all checks")
    assert (stored["Start"].cell(row, 4).value, stored["Formulas"]["D4"].value) == ("OK", "remark")


GRADIENTS = {
    "default": {"policy.W.grad", "critic.W.grad"}, "classic": {"policy.logits.grad", "values.new.grad"},
    "sft": {"update2.policy.W"},
    "dpo": {"policy.W.grad"}, "grpo": {"policy.W.grad"}, "reward-model": {"update4.reward_model.W"},
}  # fmt: skip
"""By built-in numbers, some of the gradients that are asked for; of an optimiser the weights that it leaves."""


@pytest.mark.parametrize("numbers", GRADIENTS)
def test_the_gradients_that_are_asked_for_must_have_numbers(numbers: str) -> None:
    needed = {each.name for each in made("gradients=on", numbers=numbers).blueprint.results or ()}
    assert GRADIENTS[numbers] <= needed
    assert not any(name.startswith(("library.", "which.", "check.")) for name in needed)
