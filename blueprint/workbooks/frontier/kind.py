"""The record of the exact frontier between a proxy reward, the gold reward and the KL."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "the frontier of proxy, gold and KL",
    levels={"proxy-and-gold": "build:LEVEL"},
    build="build:LESSON.blueprint",
    settings="build:FRONTIER",
    saved={"proxy-and-gold": "sweep.beta"},
    misconceptions="definitions:MISCONCEPTIONS",
)
