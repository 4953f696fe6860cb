"""The record of KTO, whose responses are not in pairs."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "KTO",
    levels={"single-responses": "build:LEVEL"},
    build="build:LESSON.blueprint",
    settings="build:KTO",
    saved={"single-responses": "response.good"},
    misconceptions="definitions:MISCONCEPTIONS",
)
