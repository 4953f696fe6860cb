"""The record of the exact frontier between a proxy reward, the gold reward and the KL."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "the frontier of proxy, gold and KL", "proxy-and-gold", "sweep.beta")
