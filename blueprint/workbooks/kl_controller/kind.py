"""The record of the adaptive KL controller."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "the adaptive KL controller", "controller", "responses.kl")
