"""The examples of the README, and of the pages to which it leads, are run as they stand there."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.rlhf_ppo.conventions_and_update import WeightNumbers
from tests.checking.cells import change
from tests.commands import run_command
from tests.test_docs import DOCS, FENCED
from tests.test_links import LINK

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {
    name: (DOCS / f"{name}.md").read_text(encoding="utf-8")
    for name in (
        "reading", "explain", "gradients", "how-it-is-checked", "own-blueprint", "numbers-file", "verify", "class",
    )
}  # fmt: skip
"""What the README led through before it was short."""
OWN = FENCED.findall(PAGES["own-blueprint"])


def test_the_readme_is_short_and_leads_to_its_pages() -> None:
    assert len(README.splitlines()) <= 160
    assert {f"docs/{name}.md" for name in PAGES} <= set(LINK.findall(README))


def test_own_blueprint_and_its_four_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    example = next(block for block in OWN if block.startswith("from blueprint"))
    exec(compile(example, "own-blueprint.md", "exec"), space)
    assert (tmp_path / "savings.xlsx").stat().st_size > 0
    sessions = [block for block in OWN if block.startswith(">>>")]
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()  # compares the class and text of errors, too
    for number, session in enumerate(sessions):
        runner.run(
            parser.get_doctest(session, space, f"own blueprint {number}", "own-blueprint.md", 0), clear_globs=False
        )
    results = runner.summarize()
    assert results.failed == 0
    assert results.attempted >= 5


def test_what_is_named_in_readme_and_pages_can_be_imported() -> None:
    """Classes of errors, functions and modules: `blueprint.language.axes.NotationError`."""
    text = "\n".join([README, *PAGES.values()])
    named = sorted(set(re.findall(r"\bblueprint(?:\.[A-Za-z_]\w*)+(?=[:`\s(])", text)))
    assert "blueprint.language.axes.NotationError" in named
    for name in named:
        if not name.endswith((".toml", ".xlsx")):
            assert resolve_name(name), name
    for module, names in re.findall(r"from (blueprint[\w.]*) import ([\w, ]+)", text):
        assert all(resolve_name(f"{module}:{name.strip()}") for name in names.split(",")), (module, names)


def test_the_doors_of_the_readme_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="check and verify need torch: install the extra [torch]")
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    lines = next(block for block in FENCED.findall(README) if block.startswith("import blueprint as bp"))
    found = {}
    for line in lines.splitlines():
        if line.startswith(("book[", "bp.")):
            found[line.partition("#")[0].strip()] = eval(line, space)
        else:
            exec(line, space)
    assert len(found) == 4
    assert str(found['book["advantages"]'].index.name) == "episode"
    assert "total_loss" in str(found['bp.open("verl.xlsx").explain("total_loss")'])
    assert found['bp.check("verl.xlsx").frame'].agrees.all()


def test_the_example_is_about_ten_lines_of_definitions() -> None:
    example = next(block for block in OWN if block.startswith("from blueprint"))
    definitions = [line for line in example.splitlines() if line and not line.startswith(("from", "savings"))]
    assert len(definitions) <= 10


@pytest.mark.parametrize(
    ("name", "batch", "count", "told"),
    [
        ("which-ppo", "ten-libraries", 10, "the policy losses of ten libraries run from −1.01 to +2.28"),
        ("which-grpo", "grpo-batch", 32, "compares 32 libraries and papers"),
        ("which-dpo", "dpo-batch", 37, "dpo-batch has 37 presets"),
    ],
)
def test_the_readme_counts_what_the_pages_compare(name: str, batch: str, count: int, told: str) -> None:
    """The rows of a page's first table: two of the head, the default, and the others."""
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8").partition(f"## The batch `{batch}`\n")[2]
    rows = re.search(r"(?:^\| .*\n)+", page, flags=re.MULTILINE)
    assert rows is not None
    assert len(rows[0].splitlines()) - 3 == count
    assert told in README


def test_the_policy_losses_of_the_ten_run_as_the_readme_says() -> None:
    page = (DOCS / "which-ppo.md").read_text(encoding="utf-8").partition("## The batch `ten-libraries`\n")[2]
    others = re.findall(
        r"^\| (?!library|---|default)\S+ \| [^|]+ \| (\S+) \|", page.partition("A dash")[0], flags=re.MULTILINE
    )
    losses = [float(each.replace("−", "-")) for each in others]
    assert (len(losses), f"{min(losses):.2f}", f"{max(losses):.2f}") == (10, "-1.01", "2.28")


def test_what_the_readme_says_a_build_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = run_command("build").output.splitlines()
    shown = README[README.index("    rlhf_ppo.xlsx: ") :].split("\n\n")[0]
    expected = [line.removeprefix("    ") for line in shown.splitlines()]
    # The largest difference depends on the processor's exp; everything else must be as printed.
    cut = [re.sub(r"difference \S+\)", "difference)", line) for line in printed]
    assert cut == [re.sub(r"difference \S+\)", "difference)", line) for line in expected]


def test_the_numbers_file_of_the_page_is_read(tmp_path: Path) -> None:
    text = re.findall(r"```toml\n(.*?)```", PAGES["numbers-file"], flags=re.DOTALL)[0]
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    loaded = load(tmp_path / "mine.toml")
    assert isinstance(loaded, WeightNumbers)
    assert (len(loaded.vocabulary), loaded.weights["old.W"].shape[1], loaded.ppo) == (5, 5, {"gamma": 1.0})


def test_nothing_is_left_to_be_filled_in() -> None:
    assert not re.search(r"^[A-Z]{3,}$|TODO|FIXME", "\n".join([README, *PAGES.values()]), flags=re.MULTILINE)


def test_what_the_page_says_explain_prints() -> None:
    page = PAGES["explain"]
    asked, *shown = page[page.index("    $ blueprint explain ") :].split("\n\n`--json`")[0].splitlines()
    arguments = asked.removeprefix("    $ blueprint ").split()
    printed = run_command(*arguments).output.splitlines()
    assert printed == [line.removeprefix("    ") for line in shown]


def test_explain_in_python_prints_as_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = FENCED.findall(PAGES["explain"])
    exec(compile(code, "explain.md", "exec"), {})
    printed = run_command("explain", "advantages", "--episode", "1", "--token", "5").output
    assert capsys.readouterr().out.splitlines()[0] == printed.splitlines()[0]


def test_what_the_page_says_of_the_loss_and_its_gradient() -> None:
    """The KL in the loss: little in the loss, and degrees in the gradient."""
    (asked, shown) = re.findall(r"^    \$ blueprint (.*)\n    (.*)$", PAGES["gradients"], flags=re.MULTILINE)[0]
    assert shown in run_command(*asked.split()).output.splitlines()


def test_what_the_page_says_of_a_broken_formula(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the outside witness needs torch")
    page = PAGES["how-it-is-checked"]
    shown = page[page.index("    Reward & advantage!U25: ") :].split("\n\n")[0].splitlines()
    Book(blueprint_of(load("default"))).save(tmp_path / "a.xlsx")
    change(tmp_path / "a.xlsx", tmp_path / "b.xlsx", "Reward & advantage", {"U25": (None, 0.25)})
    printed = run_command("check", tmp_path / "b.xlsx").output
    assert "\n".join(line.removeprefix("    ") for line in shown) in printed


def test_the_step_that_the_page_offers_to_who_has_none_agrees() -> None:
    pytest.importorskip("torch", reason="verify needs torch")
    (pattern,) = re.findall(r"^    blueprint verify (tests/\S+)$", PAGES["verify"], flags=re.MULTILINE)
    printed = run_command("verify", *sorted(ROOT.glob(pattern))).output
    (said,) = re.findall(r"a line for each quantity, and \"([^\"]+)\"", PAGES["verify"])
    assert said in printed.splitlines()


def test_what_the_page_says_verify_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines are those of the notebook with the planted mistake."""
    pytest.importorskip("torch", reason="verify needs torch")
    from blueprint.verifying import text_of

    monkeypatch.chdir(tmp_path)
    notebook = ROOT / "notebooks" / "replay-a-minibatch.ipynb"
    space: dict[str, object] = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code" and "verdict" not in space:
            exec(compile("".join(cell["source"]), notebook.name, "exec"), space)
    page = PAGES["verify"]
    shown = page[page.index("    First deviation: advantages, row 0, columns 0 … 45: ") :].split("\n\n")[0].splitlines()
    assert "\n".join(line.removeprefix("    ") for line in shown) in text_of(space["verdict"])  # type: ignore[arg-type]
