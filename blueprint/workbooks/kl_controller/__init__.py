"""The adaptive KL controller: the coefficient of the KL follows the KL that is measured."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "the adaptive KL controller", "controller", "responses.kl")
