"""The record of the exact frontier between a proxy reward, the gold reward and the KL."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "the frontier of proxy, gold and KL",
    levels={"proxy-and-gold": "lesson:LEVEL"},
    build="lesson:LESSON.blueprint",
    settings="lesson:SETTINGS",
    saved={"proxy-and-gold": "sweep.beta"},
    misconceptions="lesson:MISCONCEPTIONS",
)
