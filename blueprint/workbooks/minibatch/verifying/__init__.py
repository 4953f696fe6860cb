"""Minibatches of RLHF: verified in `blueprint.verifying`, and shown, a few words of them, as a workbook; and a file taken for the
part of a larger batch that it is, with the mean and deviation with which its numbers were whitened, and what its losses were
divided by."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf

from blueprint.dumps import Minibatch, Moments, Share
from blueprint.verifying import Replay, Verdict, Verifier, known_device
from blueprint.verifying.logged import PARTS
from blueprint.verifying.parts import Straight
from blueprint.verifying.step import verify_minibatches
from blueprint.workbooks.minibatch.verifying.export import shown

CALLED = {"rewards": "reward", "advantages": "advantage"}
"""By whitened tensor, the beginning of the names of its moments."""
WEIGHTS = {"policy_loss": "policy", "value_loss": "value", "kl_loss": "policy"}
"""By loss, the part whose weights it has; others have their own."""


def as_part(verdict: Verdict) -> Minibatch:
    """Returns the minibatch with moments and share as they were fitted to what its verdict leaves open; itself where nothing is.

    Computed again with them, its whitened numbers and its losses are those of the file.
    """
    found: Replay = verdict.replayed
    fitted = dict(found.batch.moments)
    fitted |= {CALLED[name]: _moments(CALLED[name], line, found) for name, line in verdict.left_open.items() if line}
    return replace(found.batch, moments=fitted, share=_share(verdict))


def _share(verdict: Verdict) -> Share | None:
    """Returns what the losses that are left open were divided by: so often more than the file has, as its own mean is larger."""
    found: Replay = verdict.replayed
    open_ = [
        each for each in (line.compared for line in verdict.lines) if each.name in {*PARTS} & verdict.left_open.keys()
    ]
    sure = max(open_, key=lambda each: abs(each.recomputed or 0.0) / (each.allowed or inf), default=None)
    if sure is None or not sure.recomputed or not sure.logged:
        return found.batch.share
    part = WEIGHTS.get(sure.name, sure.name)
    tokens, responses = (count * sure.recomputed / sure.logged for count in found.counted(part))
    return Share(tokens, responses, inferred_from=sure.name)


def _moments(name: str, line: Straight, found: Replay) -> Moments:
    """Returns count, mean and squares that give a line's mean and deviation by the conventions in force.

    How many numbers were whitened is not known: as many as are here, whose squares then come to that deviation.
    """
    known, whole = found.options, found.whole
    count = whole[f"{name}.count"]
    divided_by = max(1.0, count) + float(known["advantage.mean_eps"])
    squares = _variance(1 / line.slope, known) * divided_by / whole[f"{name}.bessel"]
    mean = line.mean * divided_by / count
    return Moments(count, mean, squares - count * (mean - line.mean) ** 2)


def _variance(deviation: float, known: Mapping[str, float | str]) -> float:
    """Returns the variance whose deviation, in the form in force, is what numbers were divided by."""
    eps = float(known["whiten_eps"])
    forms = {
        "rsqrt_var_plus": deviation**2 - eps,
        "clamp": deviation**2,
        "std_plus": (deviation - eps) ** 2,
        "std_max": deviation**2,
    }
    return max(0.0, forms[str(known["advantage.eps_form"])])


VERIFIER = Verifier(known_device, verify_minibatches, shown, as_part)
