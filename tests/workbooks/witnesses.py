"""All witnesses by name. Each builds the books it needs with what it is given and raises AssertionError if they lie."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from blueprint.book import Book, book
from blueprint.inputs import load
from blueprint.language import Axis, NotationError, at_most, block, equal, less, typed, where
from blueprint.page.engine import with_ironcalc
from blueprint.page.formulas import expected
from blueprint.page.recalculate import compare
from blueprint.workbooks.rlhf_ppo.conventions_and_update import WeightNumbers
from blueprint.workbooks.rlhf_ppo.paper import PAGE
from tests.audit import spoil
from tests.papers.held import assert_holds
from tests.workbooks.building import Build
from tests.workbooks.golden_checks import GOLDEN
from tests.workbooks.identities import IDENTITIES
from tests.workbooks.random_numbers import default, random_numbers, with_settings

# Some with a bias in each head, prompts of different lengths, half a step, and values that fall by more than the clip.
RANDOM_SEEDS = range(4, 8)
OTHER_SETTINGS: tuple[dict[str, float | str], ...] = (
    {"kl_estimator": "k2"},
    {"kl_estimator": "k3", "policy_kl_coef": 0.5},
    {"update_step": 0.5},
)


def notation(build: Build) -> None:
    """Asserts that the notation accepts what was written."""
    try:
        build(default())
    except NotationError as refusal:
        raise AssertionError(str(refusal)) from refusal


def page(build: Build) -> None:
    """Asserts that the default example is what PPO's page makes of its typed numbers."""
    assert_holds(build(default()), PAGE)


def page_by_other_settings(build: Build) -> None:
    """Asserts the same by settings that are read by the default alone as a 0 or as another option."""
    for settings in OTHER_SETTINGS:
        assert_holds(build(with_settings(default(), **settings)), PAGE)


def page_at_random(build: Build) -> None:
    """Asserts the same of random numbers."""
    for numbers in map(random_numbers, RANDOM_SEEDS):
        assert_holds(build(numbers), PAGE)


def engine(build: Build) -> None:
    """Asserts that ironcalc recalculates a small workbook, and the default one, to the same numbers."""
    for numbers in (load("very-very-sleepy"), default()):
        assert_recalculates(build(numbers))


def engine_on_brackets(build: Build) -> None:
    """Asserts that ironcalc recalculates a page of what the PPO workbook does not use to the same numbers."""
    assert_recalculates(brackets())


def assert_recalculates(made: Book) -> None:
    """Asserts that an engine comes to the book's numbers from the formulas alone: every cached one is spoilt first."""
    with TemporaryDirectory() as folder:
        delivered, spoilt = Path(folder) / "delivered.xlsx", Path(folder) / "spoilt.xlsx"
        assert made.save(delivered) == spoil(delivered, spoilt)
        failures = compare(expected(made.layout), with_ironcalc(spoilt)).failures
    assert not failures, str(failures[0])


def brackets() -> Book:
    """Returns a page of sums inside sums, quotients inside quotients, and comparisons of equal numbers."""
    t = Axis("t", "case", start=1)
    a, b, c = (typed(name, (t,)) for name in "abc")
    rows = {
        "difference": a[t] - (b[t] - c[t]),
        "difference_of_sum": a[t] - (b[t] + c[t]),
        "quotient": a[t] / (b[t] / c[t]),
        "quotient_of_product": a[t] / (b[t] * c[t]),
        "product": (a[t] + b[t]) * (b[t] - c[t]),
        "negative": -(a[t] + b[t]),
        "at_most": at_most(a[t], b[t]),
        "less": less(a[t], b[t]),
        "equal": equal(a[t], b[t]),
        "chosen": where(at_most(a[t], b[t]), a[t], c[t]),
        "chosen_less": where(less(a[t], b[t]), a[t], c[t]),
    }
    defined = [block(name, (t,)) for name in rows]
    for made, expr in zip(defined, rows.values(), strict=True):
        made[t] = expr
    return book("Brackets", [a, b, c, *defined], t, {a: [1, 2, -3], b: [2, 2, -5], c: [4, -1, 0.5]})


def _on_default(identity: Callable[[Build, WeightNumbers], None], build: Build) -> None:
    identity(build, default())


WITNESSES: dict[str, Callable[[Build], None]] = {
    "notation": notation,
    "page": page,
    "page by other settings": page_by_other_settings,
    "page at random": page_at_random,
    **{f"golden: {name}": check for name, check in GOLDEN.items()},
    **{f"identity: {name}": partial(_on_default, check) for name, check in IDENTITIES.items()},
    "engine": engine,
    "engine on brackets": engine_on_brackets,
}
