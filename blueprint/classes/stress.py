"""The stress page: how the answers of a class are spread, blank by blank, and what was drawn again, and why.

It holds answers as a distribution, so it is the teacher's; which student has which stands in the key alone.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from xml.etree.ElementTree import Element

import numpy as np

from blueprint.classes.degenerate import RULES
from blueprint.classes.drawing import WIDTH, histogram
from blueprint.classes.draws import Draws, Refused
from blueprint.classes.html_page import Content, element, page, table, tiles
from blueprint.classes.key import Key, KeyBlank

BINS, MOST_CELLS, DOWN, LEFT, RIGHT = 12, 40, 18, 90, 80
"""Columns of a histogram; cells of a blank of which the range is drawn, how far apart, and where they begin and end."""


def stress_page(draws: Draws, key: Key, refused: Refused, again: int) -> str:
    """Returns the page as HTML that needs no other file. again: how many draws were refused."""
    title = f"{key.assignment}: how the answers are spread"
    lead = (
        f"For the teacher: answers of {len(key.students):,} variants, and not whose they are. Level {key.level}, seed {key.seed}; "
        f"what varies: {', '.join(key.vary)}."
    )
    return page(
        title,
        element("h1", title),
        element("p", lead, class_="lead"),
        _tiles(key, again),
        element("h2", "What was drawn again"),
        *_drawn_again(key, refused),
        element("h2", "The blanks"),
        _blanks(key),
        *(part for number, blank in enumerate(key.blanks) for part in _blank(draws, key, refused, number, blank)),
    )


def _tiles(key: Key, again: int) -> Element:
    shared = sum(times for times in Counter(student.variant for student in key.students).values() if times > 1)
    least = min(different(key, blank) for blank in key.blanks)
    return tiles(
        {
            "students": f"{len(key.students):,}",
            "share their inputs with another": f"{shared:,}",
            "draws refused and drawn again": f"{again:,}",
            "different answers in the blank with the fewest": f"{least:,}",
        }
    )


def _drawn_again(key: Key, refused: Refused) -> Iterator[Element]:
    if not refused:
        yield element("p", "Nothing: the first draw was a good exercise for every student.")
        return
    yield element(
        "p",
        "A variant is handed out only if it is a good exercise in all blanks. A draw that is bad in several ways counts in each.",
    )
    rows = (
        (
            f"{times:,}",
            "the whole" if blank is None else f"{key.blanks[blank].id} {key.blanks[blank].title}",
            RULES[rule],
        )
        for (rule, blank), times in sorted(refused.items(), key=lambda item: -item[1])
    )
    yield table({"draws": True, "blank": False, "why": False}, rows)


def _blanks(key: Key) -> Element:
    rows: list[Sequence[Content]] = []
    for blank in key.blanks:
        found = [number for student in key.students for number in student.answers[blank.id]]
        ends = (shown(number, blank.decimals) for number in (min(found), median(found), max(found)))
        rows.append((element("a", blank.id, href=f"#{blank.id}"), blank.title, f"{different(key, blank):,}", *ends))
    return table({"blank": False, "what": False, "different": True, "least": True, "median": True, "most": True}, rows)


def different(key: Key, blank: KeyBlank) -> int:
    """Returns how many different answers a class has in a blank, to the digits that the sheet shows."""
    return len(
        {tuple(round(number, blank.decimals) for number in student.answers[blank.id]) for student in key.students}
    )


def _blank(draws: Draws, key: Key, refused: Refused, number: int, blank: KeyBlank) -> Iterator[Element]:
    about = draws.assignment.worksheet.blanks[number].block.about
    where = blank.addresses[0] if len(blank.addresses) == 1 else f"{blank.addresses[0]} … {blank.addresses[-1]}"
    bad = sum(count for (_, which), count in refused.items() if which == number)
    again = f" {bad:,} times a draw was bad here." if bad else ""
    yield element("h2", f"{blank.id}  {blank.title}", id=blank.id)
    yield element("p", f"{about.symbol}: {about.meaning} ({blank.sheet}, {where}).{again}", class_="note")
    if different(key, blank) == 1 < len(key.students):
        yield element("p", "⚠ All students have the same answer: what varies does not reach this blank.")
    yield from (element("p", f"⚠ {line}") for line in draws.warnings if line.startswith(f"{blank.id} "))
    answers = [student.answers[blank.id] for student in key.students]
    yield spread([each[0] for each in answers], blank) if len(blank.cells) == 1 else ranges(answers, blank)


def spread(numbers: Sequence[float], blank: KeyBlank) -> Element:
    """Draws how many answers fall where."""
    counts, edges = np.histogram(numbers, bins=min(BINS, max(1, len(set(numbers)))))
    return histogram(counts.tolist(), [shown(edge, blank.decimals) for edge in edges.tolist()], blank.title, "students")


def ranges(answers: Sequence[Sequence[float]], blank: KeyBlank) -> Element:
    """Draws, for each cell of a blank, from where to where its answers reach, and a dot at their median."""
    columns = [sorted(cells) for cells in zip(*answers, strict=True)][:MOST_CELLS]
    low, high = min(cells[0] for cells in columns), max(cells[-1] for cells in columns)
    across, height = (WIDTH - LEFT - RIGHT) / (high - low or 1.0), DOWN * len(columns) + 40
    parts = [element("title", f"where the answers of {len(columns)} cells lie, least to most, with their median")]
    for place, cells in enumerate(columns):
        y, (least, middle, most) = (
            DOWN * place + 14,
            (LEFT + (at - low) * across for at in (cells[0], median(cells), cells[-1])),
        )
        parts += [
            element("text", blank.addresses[place], x=0, y=y + 4, class_="soft"),
            element(
                "line",
                x1=f"{least:.1f}",
                x2=f"{most:.1f}",
                y1=y,
                y2=y,
                stroke="#4a78b5",
                stroke_width=4,
                stroke_linecap="round",
            ),
            element("circle", cx=f"{middle:.1f}", cy=y, r=4, fill="#1f2430"),
        ]
    for number, x in ((low, LEFT), (high, WIDTH - RIGHT)):
        parts.append(
            element("text", shown(number, blank.decimals), x=x, y=height - 8, class_="soft", text_anchor="middle")
        )
    if len(blank.cells) > MOST_CELLS:
        parts.append(
            element("text", f"and {len(blank.cells) - MOST_CELLS} more cells", x=WIDTH / 2, y=height - 8, class_="soft")
        )
    return element("svg", *parts, viewBox=f"0 0 {WIDTH} {height}", width=WIDTH, height=height, role="img")


def shown(number: float, decimals: int) -> str:
    """Prints a number as a sheet does, with a minus sign of its own."""
    return f"{number + 0.0:.{decimals}f}".replace("-", "−")
