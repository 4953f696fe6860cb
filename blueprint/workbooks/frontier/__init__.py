"""The exact frontier: what is optimised (a proxy) beside what is wanted (gold), over every response of a small language."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "the frontier of proxy, gold and KL", "proxy-and-gold", "sweep.beta")
