"""The record of REINFORCE."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "REINFORCE",
    levels={"bandit": "build:LEVEL"},
    build="build:reinforce",
    settings="build:REINFORCE",
    saved={"bandit": "draws.uniform"},
    misconceptions="definitions:MISCONCEPTIONS",
)
