"""The record of KTO, whose responses are not in pairs."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "KTO",
    levels={"single-responses": "workbook:LEVEL"},
    build="workbook:LESSON.blueprint",
    settings="workbook:KTO",
    saved={"single-responses": "response.good"},
    misconceptions="definitions:MISCONCEPTIONS",
)
