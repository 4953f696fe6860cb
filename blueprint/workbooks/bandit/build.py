"""The blueprint of the bandit: arms, typed draws, and settings; what it says, its sheets and its charts stand in `lesson.toml`."""

from pathlib import Path
from typing import Annotated

from pydantic import WithJsonSchema

from blueprint.inputs import Level, Part, settings_in
from blueprint.inputs.entries import Draw, Number, Word, between
from blueprint.language import Block, Sum, maximum
from blueprint.workbooks.bandit.definitions import LABELS, a, arms, pulls, regret, s, t, temperatures
from blueprint.workbooks.common import Choices, Rows, Settings, all_in_range
from blueprint.workbooks.common.lesson import Lesson

FOLDER = Path(__file__).parent
BANDIT = settings_in(FOLDER).settings
COLDEST, HOTTEST = 0.001, 1000.0
Temperature = Annotated[
    Number,
    between(COLDEST, HOTTEST),
    WithJsonSchema({"type": "number", "minimum": COLDEST, "maximum": HOTTEST}),
]


LEVEL = Level(
    "bandit",
    "pulls",
    "arms and what they pay on average, and a uniform and a normal draw for every pull",
    parts=(
        Part("arms.names", Word, ("arm",), "what each arm is called", noun="arm", block="arm.name"),
        Part("arms.means", Number, ("arm",), "what each arm pays on average; whoever pulls does not know it", block="arm.mean"),
        Part("pulls.uniform", Draw, ("pull",), "which arm is pulled: a number from 0.01 to 0.99", block="pull.uniform"),
        Part("pulls.normal", Number, ("pull",), "what the arm pays above its mean, in units of noise", block="pull.noise"),
        Part("sweep.temperatures", Temperature, ("temperature",), "temperatures that are tried on the last estimates",
             block="tau.value"),
    ),
    tables={
        "bandit": "settings; one that is left out is as here", "arms": "what may be pulled", "pulls": "chance, typed",
        "sweep": "what is tried at the end",
    },
    settings=BANDIT,
    of_settings="bandit",
    limits={"arm": (1, 16), "pull": (2, 200), "temperature": (2, 32)},
)  # fmt: skip


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block]:
    """Measure how far from 0 is what must be 0: probabilities and pulls add up, and the regret counts arms, not rewards."""
    return [
        use.along("check.policy", (t,), abs(Sum(a, of["arm.p"][t, a]) - 1)),
        use.along("check.pulled", (t,), abs(Sum(a, of["pull.is"][t, a]) - 1)),
        use.one("check.all_pulls", abs(Sum(a, of["last.share"][a]) - 1)),
        use.along("check.tau", (s,), abs(Sum(a, of["tau.p"][s, a]) - 1)),
        use.along("check.regret", (t,), maximum(0, -of["regret.pull"][t])),
        use.one("check.decomposed", abs(Sum(a, of["last.share"][a] * of["arm.gap"][a]) - of["regret.mean"])),
        all_in_range(chosen),
    ]


LESSON = Lesson(
    FOLDER,
    LEVEL,
    LABELS,
    n=t,
    steps=(arms, pulls, regret, temperatures),
    checks=checks_of,
    sizes={a: "arm.name", t: "pull.uniform", s: "tau.value"},
    names={a: "arm.name"},
)
