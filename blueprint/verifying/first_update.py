"""Before the first update the policy is the old one: the ratio is 1, values are the old ones, approximate KL and clip fraction 0.

That holds within what two forwards of the same model may be apart, token by token, and not for log-probs of the generating
engine, which have a page of their own, `engine.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import erfc, sqrt
from types import MappingProxyType

import numpy as np

from blueprint.dumps import ENGINE, Minibatch
from blueprint.verifying.compare import AGREES, DIFFERS, EARLY, TOO_COARSE, Compared, Line, first_spot
from blueprint.verifying.gap import MOST, Gap, TwoForwards, forward, gap, limits, patterns
from blueprint.verifying.logged import CALLED

EXPECTED = MappingProxyType(
    {"approx_kl.used": 0.0, "clip_fraction.used": 0.0, "ratio.mean": 1.0, "loss.mean_ratio": 1.0}
)
"""What is logged before the first update, where the file has no new log-probs."""

PAIRS = (("logprobs_old", "logprobs_new"), ("values_old", "values_new"))


def before_first_update(batch: Minibatch) -> TwoForwards:
    """Checks a file that says that it was written before the first update; of one that does not say, notes what would be wrong."""
    before = batch.place.before_first_update if batch.place else None
    if before is False:
        return TwoForwards()
    generated = of_the_engine(batch)
    found = _checked(batch, PAIRS[1:] if generated else PAIRS)
    if generated:
        found = replace(
            found, notes=(f"before the first update the ratio need not be 1, and is not checked: {generated}",)
        )
    if before:
        return found
    said = " ".join(each.strip() for each in found.said)
    return TwoForwards(
        notes=(f"if this was before the first update (optimizer_step 0), {said}",) if found.differs else ()
    )


def of_the_engine(batch: Minibatch) -> str:
    """Returns why the old log-probs are those of the generating engine, or "" if nothing says so."""
    if batch.old_from is not None:
        return "logprobs_old are those of the generating engine, as the file says" if batch.old_from == ENGINE else ""
    called = batch.called.get("logprobs_old", "")
    if "rollout" in called or "generation" in called:
        return f"logprobs_old are called {called}"
    rollout, old = (np.asarray(batch.tensors.get(name, ())) for name in ("logprobs_rollout", "logprobs_old"))
    if old.size and rollout.size and np.array_equal(rollout[batch.mask], old[batch.mask]):
        return "logprobs_old are logprobs_rollout, those of the generating engine"
    return ""


def _checked(batch: Minibatch, pairs: Sequence[tuple[str, str]]) -> TwoForwards:
    gaps = {new: found for old, new in pairs if (found := gap(batch, old, new)) is not None}
    dtype, why = forward(batch, gaps)
    lines, said = list[Line](), list[str]()
    for each in gaps.values():
        usual, most = limits(each, dtype)
        says, row_off = AGREES, each.has_a_row_off(most)
        if row_off or not each.size() <= usual:
            like = patterns(batch, each, usual)
            says = DIFFERS if (row_off or each.size() > most or any(one.telling for one in like)) else TOO_COARSE
            said += _sentences(batch, each, (dtype, why), [one.said for one in like])
        lines.append(_line(batch, each, dtype, says))
    if PAIRS[0] in pairs and "logprobs_new" not in gaps:
        lines += _logged(batch, dtype)
    return TwoForwards(
        tuple(lines), (*said, *(each.why for each in lines if each.says == DIFFERS and not each.compared.spot))
    )


def _logged(batch: Minibatch, dtype: str) -> Iterator[Line]:
    """Yields what was logged of the ratio. Noise of s nats makes a KL of s²/2, moves the ratio by as much, clips some tokens."""
    for called, logged in batch.logged.items():
        name = CALLED.get(called, called)
        if name not in EXPECTED:
            continue
        clip = batch.hyperparameters.get("ppo.clip_range", 0.2)
        far = float(clip) if isinstance(clip, float | int) else 0.2
        most = erfc(far / MOST[dtype] / sqrt(2)) if name == "clip_fraction.used" else MOST[dtype] ** 2
        apart = abs(logged - EXPECTED[name])
        says = AGREES if apart <= most else DIFFERS
        yield Line(
            called,
            Compared(
                name, name, EARLY, 1, int(says == DIFFERS), apart, most, None, float(logged), EXPECTED[name], np.inf
            ),
            says,
            why=f"{called} is {logged:.4g} instead of {EXPECTED[name]:g}; "
            f"forwards in {dtype} make it differ by {most:.2g} at most.",
        )


def _line(batch: Minibatch, each: Gap, dtype: str, says: str) -> Line:
    """Returns the line of a tensor: what differs is how many tokens are further apart than forwards usually are."""
    usual, most = limits(each, dtype)
    wrong = each.loud & (np.abs(each.apart) > usual)
    wrong = wrong if wrong.any() else each.loud
    differs = says == DIFFERS
    found = Compared(
        each.name,
        each.name.replace("new", "old"),
        EARLY,
        int(each.tokens.sum()),
        int(wrong.sum()) if differs else 0,
        each.size(),
        usual if says == AGREES else most,
        first_spot(batch, wrong, each.new, each.old, each.rows) if differs else None,
        size=np.inf,
        dtype=dtype,
    )
    why = f"it is {each.size():.2g} from the old one before any update, which forwards in {dtype} may be, though seldom"
    return Line(batch.called.get(each.name, each.name), found, says, why=why)


def _sentences(batch: Minibatch, each: Gap, forward: tuple[str, str], like: list[str]) -> Iterator[str]:
    """Yields what is wrong with a tensor, and what that is like."""
    (dtype, why), (usual, most) = forward, limits(each, forward[0])
    name, old = (batch.called.get(one, one) for one in (each.name, each.name.replace("new", "old")))
    tokens, loud = int(each.tokens.sum()), int(each.loud.sum())
    unit = "" if each.unit == 1 else ", over the spread of the values"
    note = f"{name} should be {old}, but {loud:,} of {tokens:,} tokens differ, by {each.size():.2g} (root mean square{unit})"
    if each.name == "logprobs_new":
        note += f"; the mean ratio is {np.exp(np.clip(each.apart[each.tokens], -50, 50)).mean():.4g} instead of 1"
    yield f"{note}; forwards in {dtype} ({why}) usually differ by up to {usual:.2g} and never by more than {most:.2g}."
    for said in like or ["it is scattered over rows and tokens, as by dropout in one forward, or by another precision"]:
        yield f"  {name}: {said}."
