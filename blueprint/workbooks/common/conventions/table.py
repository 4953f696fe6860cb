"""Describe the tables of a numbers file that say which conventions hold, and gather what they say."""

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from blueprint.inputs.catalogue import DEFAULT
from blueprint.inputs.errors import NumbersError, refusal, shown
from blueprint.inputs.result import Settings
from blueprint.inputs.setting import Setting
from blueprint.inputs.table import Table, entry, table_of
from blueprint.workbooks.common.conventions.data import LIVE, PRESET_DEFAULT, Conventions, followed, rlhf


def _of(table: str) -> dict[str, Setting]:
    """Returns the conventions of one table, by their keys within it."""
    keys = (key for key in LIVE if key.partition(".")[0] == table and "." in key)
    return {key.partition(".")[2]: LIVE[key] for key in keys}


if TYPE_CHECKING:  # a type checker cannot read tables that are built from data

    class Ppo(Table):
        """The settings that every build knows."""

    class BatchTable(Table):
        """Conventions of one kind."""

    class RewardTable(Table):
        """Conventions of one kind."""

    class AdvantageTable(Table):
        """Conventions of one kind."""

    class LossTable(Table):
        """Conventions of one kind."""

    class ValueTable(Table):
        """Conventions of one kind."""

    class MetricsTable(Table):
        """Conventions of one kind."""
else:
    Ppo = table_of("Ppo", {key: setting for key, setting in LIVE.items() if "." not in key})
    BatchTable, RewardTable, AdvantageTable, LossTable, ValueTable, MetricsTable = (
        table_of(name.capitalize(), _of(name)) for name in ("batch", "reward", "advantage", "loss", "value", "metrics")
    )


class LiveFile(Table):
    """The part of a numbers file that says which conventions hold; every key may be left out."""

    preset: str | None = entry("what a library does, for every setting that is left out", example="verl")
    conventions: Literal["plain", "live"] | None = entry("live: every convention is a switch", example="live")
    compare: tuple[str, ...] | str = entry(
        "the presets that stand side by side; else all", (), example=["trl_1.12", "verl"]
    )
    ppo: Ppo = Ppo.empty()
    batch: BatchTable = BatchTable.empty()
    reward: RewardTable = RewardTable.empty()
    advantage: AdvantageTable = AdvantageTable.empty()
    loss: LossTable = LossTable.empty()
    value: ValueTable = ValueTable.empty()
    metrics: MetricsTable = MetricsTable.empty()


TABLES = ("batch", "reward", "advantage", "loss", "value", "metrics")


def gathered(file: LiveFile) -> tuple[Settings, Conventions]:
    """Return the settings that a file gives, and its conventions: live if it asks for any that the plain build lacks.

    Raises:
        NumbersError: if there is no preset of a name, or conventions are said to be plain and are not.
    """
    given: Settings = file.ppo.model_dump(exclude_none=True)
    for table in TABLES:
        said: dict[str, Any] = getattr(file, table).model_dump(exclude_none=True)
        given |= {f"{table}.{key}": value for key, value in said.items()}
    said_compare = file.compare.split(",") if isinstance(file.compare, str) else file.compare
    compare = [name.strip() for name in said_compare if name.strip()]
    preset = DEFAULT if file.preset is None else file.preset
    for name in (preset, *compare):
        rlhf().preset(name)
    asked = file.preset is not None or bool(compare) or not all(_plain(key, value) for key, value in given.items())
    if asked and file.conventions == "plain":
        raise NumbersError(
            "conventions: found plain, but a preset or convention is asked for, which only live ones have."
        )
    live = file.conventions == "live" or asked
    if live:
        given = followed(given)
    return given, Conventions(live, preset, tuple(compare))


def plain(table: BaseModel) -> Settings:
    """Return the settings of a table [ppo] at a level that has no live conventions.

    Raises:
        NumbersError: for one that the plain build does not know.
    """
    given: Settings = table.model_dump(exclude_none=True)
    for key, value in given.items():
        if not _plain(key, value):
            setting = PRESET_DEFAULT[key]
            allowed = " or ".join(map(shown, setting.words)) or f"a number from {setting.low:g} to {setting.high:g}"
            raise refusal(f"ppo.{key}", shown(value), f"{allowed} (live conventions need logits or weights)")
    return given


def _plain(key: str, value: float | str) -> bool:
    """Tell whether the plain build knows a setting, and may hold this value."""
    if key not in PRESET_DEFAULT:
        return False
    setting = PRESET_DEFAULT[key]
    return value in setting.words if setting.words else setting.low <= float(value) <= setting.high
