"""The pictures of the page, drawn: what stands in docs/pictures under these names."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tests.page.workshop import made
from tests.story.cells import cell_of
from tests.story.drawing import Drawing, Point, width_of

TIMELINE = Path(__file__).parent.parent / "data" / "timeline.toml"
LANES = {
    "networks": ("networks and language models", "square"),
    "learning": ("reinforcement learning", "circle"),
    "alignment": ("from preferences and rules", "diamond"),
}
"""What each lane of the timeline is about, and the shape of its marks; colours stand for models, so the lanes have none."""


class Event(NamedTuple):
    """Something that happened: year, lane, a short name for the chart, one sentence, and where that was looked up."""

    year: int
    lane: str
    name: str
    said: str
    source: str


def events() -> list[Event]:
    """Reads the events of the timeline, the earliest first."""
    return [Event(**each) for each in tomllib.loads(TIMELINE.read_text(encoding="utf-8"))["event"]]


def the_map() -> Drawing:
    """Draws agent and environment three times: as the words of reinforcement learning, as a dog, as a language model."""
    drawn = Drawing(
        900, 330, "Agent and environment, three times: in words of RL, as a dog and its owner, as a language model."
    )
    panels = (
        ("in the words of RL", ["agent", "habits: the policy π"], "action", ["state,", "reward"], ["environment"], "ink", "ink"),
        ("a dog", ["dog", "what it tends to do"], "“sits”", ["sees a hand,", "gets a treat"], ["you and the room"], "ink", "ink"),
        (
            "a language model", ["π_θ: the policy", "p(next token | text)"], "token", ["text so far,", "score at the end"],
            ["the text, and RM", "RM reads it once it ends"], "policy", "reward",
        ),
    )  # fmt: skip
    for number, (head, agent, down, up, world, above, below) in enumerate(panels):
        left = 20 + 295 * number
        drawn.text(Point(left + 135, 28), head, 16, bold=True)
        drawn.box(Point(left + 35, 50), 200, 62, agent, above)
        drawn.box(Point(left + 35, 235), 200, 62, world, below)
        drawn.arrow(Point(left + 75, 114), Point(left + 75, 233))
        drawn.arrow(Point(left + 215, 233), Point(left + 215, 114))
        drawn.text(Point(left + 67, 178), down, 14, anchor="end")
        for line, words in enumerate(up):
            drawn.text(Point(left + 207, 168 + 20 * line), words, 12, anchor="end")
    return drawn


def no_slope() -> Drawing:
    """Draws the way from weights to score, where the slope ends, and the way around."""
    drawn = Drawing(
        900,
        300,
        "From weights to probabilities there is a slope; through the draw of a token, none; log π leads around it.",
    )
    boxes = (
        ("θ", "weights", "policy"), ("z", "logits", "policy"), ("π", "probabilities", "policy"),
        ("draw", "a token falls", "ink"), ("token", "a whole number", "ink"), ("score", "RM reads tokens", "reward"),
    )  # fmt: skip
    for number, (head, words, colour) in enumerate(boxes):
        drawn.box(Point(15 + 148 * number, 90), 126, 60, [head, words], colour)
    for number in range(len(boxes) - 1):
        drawn.arrow(Point(141 + 148 * number, 112), Point(163 + 148 * number, 112))
    for number in (0, 1):
        drawn.arrow(Point(163 + 148 * number, 134), Point(141 + 148 * number, 134), "policy")
    drawn.text(Point(225, 76), "slopes flow back: soft-max, matrices", 14, "policy")
    drawn.text(Point(670, 76), "no slope: a token changes in jumps, or not at all", 14)
    for number in (2, 3, 4):
        at = 152 + 148 * number
        drawn.line(Point(at - 6, 128), Point(at + 6, 140), "ink")
        drawn.line(Point(at + 6, 128), Point(at - 6, 140), "ink")
    drawn.line(Point(818, 152), Point(818, 215), "reward")
    drawn.arrow(Point(818, 215), Point(378, 215), "reward")
    drawn.arrow(Point(374, 215), Point(374, 152), "policy")
    drawn.text(Point(600, 205), "the score comes back as a mere number", 14, "reward")
    drawn.text(Point(374, 243), "× ∇ log π(token)", 16, "policy", bold=True)
    drawn.text(
        Point(450, 280), "the way around: score · ∇ log π(token), on average the gradient of the expected score", 14
    )
    drawn.text(Point(450, 30), "Where the gradient ends, and how it gets home", 16, bold=True)
    return drawn


def variance() -> Drawing:
    """Draws what a baseline does to the variance of the gradient, and what old draws are worth: numbers of `reinforce`."""
    drawn = Drawing(
        900, 290, "Left: variance of the gradient without a baseline and with two. Right: what old draws are worth."
    )
    drawn.text(Point(225, 28), "variance of one estimate of ∇J", 16, bold=True)
    baselines = (
        ("no baseline", "variance.without"),
        ("expected reward", "variance.with"),
        ("the best constant", "least.variance"),
    )
    bars = [(words, float(cell_of(f"reinforce: {row}").book.show(row).value)) for words, row in baselines]
    most = max(number for _, number in bars)
    for place, (words, number) in enumerate(bars):
        top = 62 + 62 * place
        drawn.text(Point(20, top + 21), words, 14, anchor="start")
        drawn.bar(Point(165, top), 200 * number / most, 30, "policy")
        drawn.text(Point(175 + 200 * number / most, top + 21), f"{number:.2f}", 14, anchor="start", bold=True)
    drawn.text(Point(225, 262), "the mean of the estimates is the same in all three", 13, "soft")
    drawn.text(Point(680, 28), "share of a hundred draws that is left", 16, bold=True)
    steps = made(numbers="reinforce")
    for place in range(5):
        share, largest = (
            float(steps.show(name, s=place + 1).value) for name in ("moved.effective", "moved.ratio_largest")
        )
        top = 56 + 36 * place
        drawn.text(
            Point(480, top + 18), f"{place} step{'s' * (place != 1)} away, ρ up to {largest:.1f}", 13, anchor="start"
        )
        drawn.bar(Point(675, top), 140 * share, 22, "old")
        drawn.text(Point(685 + 140 * share, top + 18), f"{100 * share:.0f} %", 14, anchor="start", bold=True)
    drawn.text(Point(680, 262), "old draws, weighted by ρ: the farther, the fewer count", 13, "soft")
    return drawn


def models() -> Drawing:
    """Draws where the models come from: base model, fine-tuned model, and the four of RLHF with the snapshots of two."""
    drawn = Drawing(
        900, 400, "Where the models come from: base, fine-tuned, then reference, policy, reward model and critic."
    )
    drawn.box(Point(15, 165), 140, 62, ["base model", "continues any text"])
    drawn.box(Point(235, 165), 150, 62, ["fine-tuned model", "answers"])
    drawn.arrow(Point(157, 196), Point(233, 196))
    drawn.text(Point(195, 158), "demonstrations", 12, "soft")
    drawn.box(Point(475, 20), 180, 62, ["π_ref: reference", "frozen: where we began"], "reference", dashed=True)
    drawn.box(Point(475, 115), 180, 62, ["π_θ: policy", "trained: writes"], "policy")
    drawn.box(Point(475, 255), 180, 62, ["RM: reward model", "frozen: judges the whole"], "reward", dashed=True)
    for y in (51, 146, 286):
        drawn.arrow(Point(387, 196), Point(473, y))
    drawn.text(Point(425, 275), "comparisons", 12, "soft", anchor="end")
    drawn.box(Point(735, 115), 150, 62, ["π_old", "its stored log-probs"], "old", dashed=True)
    drawn.arrow(Point(657, 146), Point(733, 146))
    drawn.text(Point(695, 106), "each rollout", 12, "soft")
    drawn.box(Point(735, 255), 150, 62, ["V: critic", "trained: expects"], "critic")
    drawn.arrow(Point(657, 286), Point(733, 286))
    drawn.text(Point(695, 342), "often begins as RM", 12, "soft")
    drawn.text(
        Point(450, 385),
        "solid: trained; dashed: frozen. A colour and a symbol for each model, as in the workbooks.",
        13,
        "soft",
    )
    return drawn


def x_of(year: int) -> float:
    """Returns where a year stands: before 2012 a year is narrow, from then on wide."""
    return 40 + 3.4 * (year - 1957) if year < 2011 else 240 + 45.5 * (year - 2011)


def timeline() -> Drawing:
    """Draws the timeline: a lane for each strand, a mark for each event, its name above it where there is room."""
    drawn = Drawing(900, 470, "A timeline of neural networks, reinforcement learning and alignment from 1957 to 2025.")
    for year in (1957, 1970, 1980, 1990, *range(2012, 2026)):
        drawn.line(Point(x_of(year), 430), Point(x_of(year), 436))
        drawn.text(Point(x_of(year), 454), str(year) if year < 2000 else f"’{year % 100}", 12, "soft")
    drawn.line(Point(20, 430), Point(888, 430))
    drawn.text(Point(231, 425), "//", 14, "soft")
    for number, (lane, (words, shape)) in enumerate(LANES.items()):
        bottom = 135 + 137 * number
        drawn.line(Point(20, bottom), Point(888, bottom))
        drawn.text(Point(22, bottom - 102), words, 14, anchor="start", bold=True)
        names = placed([each for each in events() if each.lane == lane])
        for event, level, _ in names:
            at = Point(x_of(event.year), bottom)
            drawn.line(at, Point(at.x, bottom - 12 - 18 * level))
            drawn.mark(at, shape, "ink")
        for event, level, left in names:
            drawn.text(Point(left, bottom - 14 - 18 * level), event.name, 12, anchor="start", over="paper")
    return drawn


def placed(several: list[Event]) -> list[tuple[Event, int, float]]:
    """Returns the events of a lane with the level of each name, 0 the lowest, and where it begins, so that no two overlap."""
    found: list[tuple[Event, int, float]] = []
    ends = [0.0] * 6
    for event in several:
        wide = width_of(event.name, 12)
        left = min(max(x_of(event.year) - 6, 4), 892 - wide)
        level = next(number for number, end in enumerate(ends) if end <= left)
        ends[level] = left + wide + 8
        found.append((event, level, left))
    return found


def overlaps(several: list[tuple[Event, int, float]]) -> list[tuple[str, str]]:
    """Returns the names of a lane that lie on each other."""
    rows = sorted((level, left, left + width_of(event.name, 12), event.name) for event, level, left in several)
    return [(one[3], other[3]) for one, other in pairwise(rows) if one[0] == other[0] and other[1] < one[2]]


PICTURES: dict[str, Callable[[], Drawing]] = {
    "rl-map.svg": the_map,
    "no-slope.svg": no_slope,
    "variance.svg": variance,
    "four-models.svg": models,
    "timeline.svg": timeline,
}
"""What draws each picture, by the name of its file."""
