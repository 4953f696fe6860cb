"""KTO: single responses, each good or bad by itself."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "KTO", "single-responses", "response.good")
