"""The blueprint of the advantage: traces, a row of λ, a long trace; what it says, its sheets and charts stand in `lesson.toml`."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import WithJsonSchema

from blueprint.inputs import Level, Numbers, Part, settings_in
from blueprint.inputs.entries import Flag, Number, between
from blueprint.language import Block, Sum, maximum
from blueprint.workbooks.advantage.definitions import LABELS, b, c, d, gradients, lambdas, long_trace, n, s, t, traces
from blueprint.workbooks.common import Choices, Identity, Rows, Settings, all_in_range
from blueprint.workbooks.common.lesson import Lesson

FOLDER = Path(__file__).parent
ADVANTAGE = settings_in(FOLDER).settings
Lambda = Annotated[Number, between(0, 1), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})]
NAMES = ("whole", "to go", "less b", "less V", "GAE")


def _typed(numbers: Numbers) -> dict[str, Any]:
    """Name the five weights."""
    return {"weight.name": list(NAMES)}


LEVEL = Level(
    "advantage",
    "traces",
    "actions, rewards and values of a few traces, four λ, and one long trace",
    parts=(
        Part("traces.actions", Flag, ("trace", "step"), "which of two actions was taken: a row per trace", block="trace.action"),
        Part("traces.rewards", Number, ("trace", "step"), "what each step earned", block="trace.reward"),
        Part("traces.values", Number, ("trace", "step"), "what a critic expected from this step on; after the last one it is 0",
             block="trace.value"),
        Part("sweep.lambdas", Lambda, ("λ",), "four λ from 0 to 1", block="sweep.lambda"),
        Part("long.rewards", Number, ("step of the long trace",), "the rewards of one long trace", block="long.reward"),
        Part("long.values", Number, ("step of the long trace",), "its values", block="long.value"),
        Part("long.last_value", Number, (), "the value of what comes after its last step", block="long.last_value"),
    ),
    tables={
        "advantage": "settings; one that is left out is as here", "traces": "what happened, trace by trace",
        "sweep": "what is tried", "long": "one long trace",
    },
    settings=ADVANTAGE,
    of_settings="advantage",
    limits={"trace": (2, 64), "step": (1, 100), "λ": (4, 4), "step of the long trace": (2, 200)},
    more_typed=_typed,
)  # fmt: skip


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block | Identity]:
    """Measure how far from 0 is what must be 0: GAE at its ends, and what is left about a mean."""
    gamma, size = use.used["gamma"], use.along("check.size", (n, t))
    size[n, t.last + 1] = 0
    size[n, t] = abs(of["trace.delta"][n, t]) + gamma * size[n, t + 1]
    own = use.along("identity.lambda_one", (n, t))
    own[n, t.last + 1] = 0
    own[n, t] = of["trace.delta"][n, t] + gamma * own[n, t + 1]
    largest = 1 + size[n, t]
    apart = use.along("check.lambda_one", (n, t), abs(own[n, t] - of["weight.less_value"][n, t]) / largest)
    return [
        Identity((size, own), apart),
        use.along("check.action", (n, t), abs(of["trace.action"][n, t] * (1 - of["trace.action"][n, t]))),
        use.along(
            "check.less_mean", (t,), abs(Sum(n, of["weight.less_mean"][n, t])) / maximum(1, abs(of["trace.mean"][t]))
        ),
        use.along(
            "check.lambda_range", (b,), maximum(0, -of["sweep.lambda"][b]) + maximum(0, of["sweep.lambda"][b] - 1)
        ),
        use.along("check.spread", (d,), maximum(0, use.used["reward_sd"] - of["long.first_sd"][d])),
        all_in_range(chosen),
    ]


LESSON = Lesson(
    FOLDER,
    LEVEL,
    LABELS,
    n=n,
    steps=(traces, gradients, lambdas, long_trace),
    checks=checks_of,
    sizes={n: "trace.action", t: ("trace.action", 1), b: "sweep.lambda", s: "long.reward"},
    names={c: "weight.name"},
)
