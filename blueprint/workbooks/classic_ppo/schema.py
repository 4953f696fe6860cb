"""Describe and check the numbers of level "classic": a rollout in several environments, whose rewards are given."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, WithJsonSchema

from blueprint.inputs.errors import check_count, counted, refusal
from blueprint.inputs.kinds import About, Matrix, Number, Text, Title, Vector, Whole
from blueprint.inputs.limits import LIMITS, LONGEST_TEXT
from blueprint.inputs.result import Ragged, Settings
from blueprint.inputs.table import Table, entry, table_of
from blueprint.workbooks.classic_ppo.presets import CLASSIC, classic_presets

if TYPE_CHECKING:
    ClassicPpo = Table  # a type checker cannot read a table that is built from data
else:
    ClassicPpo = table_of("ClassicPpo", CLASSIC)


def _flag(number: float) -> float:
    if number not in (0, 1):
        raise ValueError("0 or 1")
    return number


Flags = list[list[Annotated[Number, AfterValidator(_flag), WithJsonSchema({"enum": [0, 1]})]]]
Scores = list[list[list[Number]]]


class ClassicRollout(Table):
    """A row per environment with an entry per step; scores have a list per step; a next value per environment."""

    actions: list[list[Whole]] = entry("the action taken, counted from 0", needed=True)
    rewards: Matrix = entry("the reward of the step", needed=True)
    done: Flags = entry("1 where the episode ended after the step, else 0", needed=True)
    terminated: Flags | None = entry("as done, but 0 where only a time limit ended it; else the same as done")
    values_old: Matrix = entry("the critic's values before the update", needed=True)
    values_new: Matrix = entry("the critic's values after the update", needed=True)
    next_values: Vector = entry("before the update, the value of the state after the last step", needed=True)
    logits_old: Scores = entry(
        "the policy's scores before the update: a list per step, a number per action", needed=True
    )
    logits_new: Scores = entry("the policy's scores after the update, in the same shape", needed=True)


class ClassicFile(Table):
    """A file of level "classic": it begins at scores, rewards and values, and nothing is drawn."""

    level: Literal["classic"] = entry("where the numbers begin: rewards are given, nothing is drawn", needed=True)
    title: Title = entry("heads the workbook; else the file's name", "")
    about: About = entry("a sentence below the title", "")
    preset: Text = entry("the library whose settings are used where none is given", "default")
    ppo: ClassicPpo = ClassicPpo.empty()
    rollout: ClassicRollout = entry("a row per environment, an entry per step", needed=True)


@dataclass(frozen=True)
class ClassicNumbers:
    """Hold all numbers of level "classic": a row per environment, an entry per step.

    Attributes:
        preset: the library whose settings are used where the file gives none.
        ppo: the settings the file gives, and only those; the rest is the preset's.
        done: 1 where an episode ended after the step; terminated: where it did not end because of a time limit.
        next_values: the value of the state after the last step, one per environment.
        logits_old, logits_new: scores of the actions, a row per environment of a row per step.
    """

    kind: ClassVar = "classic_ppo"

    name: str
    title: str
    about: str
    preset: str
    ppo: Settings
    actions: Ragged
    rewards: Ragged
    done: Ragged
    terminated: Ragged
    values_old: Ragged
    values_new: Ragged
    next_values: tuple[float, ...]
    logits_old: tuple[Ragged, ...]
    logits_new: tuple[Ragged, ...]
    drawn_anew: tuple[str, ...] = ()

    def settings(self) -> Settings:
        """Return every setting that is in use: the file's, else the preset's."""
        return {**classic_presets().preset(self.preset).values, **self.ppo}


def classic_numbers(name: str, file: ClassicFile) -> ClassicNumbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, tables differ in shape, or an action does not exist.
    """
    classic_presets().preset(file.preset)
    given = file.rollout
    _check_shapes(given)
    _check_actions(given.actions, len(given.logits_old[0][0]))
    terminated = given.done if given.terminated is None else given.terminated
    _check_ends(given.done, terminated)
    return ClassicNumbers(
        name=name,
        title=file.title or name,
        about=file.about,
        preset=file.preset,
        ppo=file.ppo.model_dump(exclude_none=True),
        actions=_frozen(given.actions),
        rewards=_frozen(given.rewards),
        done=_frozen(given.done),
        terminated=_frozen(terminated),
        values_old=_frozen(given.values_old),
        values_new=_frozen(given.values_new),
        next_values=tuple(given.next_values),
        logits_old=tuple(map(_frozen, given.logits_old)),
        logits_new=tuple(map(_frozen, given.logits_new)),
    )


def _check_shapes(given: ClassicRollout) -> None:
    """Check that there is an entry per step of every environment, and a score per action."""
    check_count("rollout.actions", len(given.actions), "environment", *LIMITS["episodes"])
    steps = len(given.actions[0])
    check_count("rollout.actions, row 1", steps, "step", 1, LONGEST_TEXT)
    for key in ("actions", "rewards", "done", "terminated", "values_old", "values_new", "logits_old", "logits_new"):
        rows: list[list[Any]] | None = getattr(given, key)
        if rows is not None:
            _check_rows(f"rollout.{key}", rows, len(given.actions), steps)
    if len(given.next_values) != len(given.actions):
        found = counted(len(given.next_values), "number")
        raise refusal("rollout.next_values", found, f"{len(given.actions)}, one per environment")
    actions = len(given.logits_old[0][0])
    check_count("rollout.logits_old, row 1, item 1", actions, "number", *LIMITS["vocabulary"])
    for key, scores in (("logits_old", given.logits_old), ("logits_new", given.logits_new)):
        for place, step in _steps(scores):
            if len(step) != actions:
                raise refusal(f"rollout.{key}, {place}", counted(len(step), "number"), f"{actions}, one per action")


def _check_rows(where: str, rows: list[list[Any]], environments: int, steps: int) -> None:
    if len(rows) != environments:
        raise refusal(where, counted(len(rows), "row"), f"{environments}, one per environment")
    for number, row in enumerate(rows, start=1):
        if len(row) != steps:
            raise refusal(
                f"{where}, row {number}", counted(len(row), "step"), f"{steps}, as the first row of actions has"
            )


def _steps(rows: list[list[Any]]) -> Iterator[tuple[str, Any]]:
    """Yield every entry with its place, in words."""
    for row, entries in enumerate(rows, start=1):
        for item, each in enumerate(entries, start=1):
            yield f"row {row}, item {item}", each


def _check_actions(actions: list[list[int]], known: int) -> None:
    for place, action in _steps(actions):
        if not 0 <= action < known:
            raise refusal(f"rollout.actions, {place}", str(action), f"0 to {known - 1}, as there are {known} actions")


def _check_ends(done: list[list[float]], terminated: list[list[float]]) -> None:
    """Check that what terminated has ended."""
    for (place, ended), (_, stopped) in zip(_steps(done), _steps(terminated), strict=True):
        if stopped > ended:
            raise refusal(f"rollout.terminated, {place}", "1", "0, because the episode is not done there")


def _frozen(rows: Sequence[Sequence[float]]) -> Ragged:
    return tuple(map(tuple, rows))
