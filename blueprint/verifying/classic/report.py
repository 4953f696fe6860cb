"""Reports of a rollout: a verdict as text for people, or as plain data for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blueprint.verifying.classic.verify import Match, Verdict
from blueprint.verifying.coarse import reasons, summary
from blueprint.verifying.lines import AGREES, DIFFERS, FOLLOWS
from blueprint.verifying.report import number, quantity, table, where

LOSSES = ("policy_loss", "value_loss", "entropy", "total_loss")
MOST_CAUSES = 6


def text_of(verdict: Verdict) -> str:
    """Prints a line for every logged quantity, then what deviates first, why, and what merely follows."""
    parts = [f"{_told(verdict)}\n"]
    parts += [table(verdict.lines)] if verdict.lines else list(_nothing_logged(verdict))
    parts += [f"{name}: not compared, it takes {lacks}" for name, lacks in verdict.uncompared.items()]
    parts += list(_deviation(verdict)) if verdict.first else []
    if verdict.agrees and verdict.lines:
        parts.append(summary(verdict.lines))
    parts += reasons(verdict.lines)
    return "\n".join([*parts, *(f"Note: {each}" for each in verdict.notes)])


def _told(verdict: Verdict) -> str:
    environments, steps = verdict.rollout.shape
    many = f"{environments} environment{'s' if environments > 1 else ''}, {steps:,} step{'s' if steps > 1 else ''} each"
    minibatch = (
        "all of them in one minibatch" if verdict.rollout.whole else f"a minibatch of {len(verdict.rollout.at):,}"
    )
    return f"A rollout of classic PPO: {many}, {minibatch}."


def _deviation(verdict: Verdict) -> Iterator[str]:
    assert verdict.first is not None
    yield f"\nFirst deviation: {where(verdict.first)}"
    if verdict.first.says == DIFFERS and not verdict.causes:
        yield "  None of the known mistakes that were tried explains it."
    yield from (f"  It matches with {_cause(each)}" for each in verdict.causes[:MOST_CAUSES])
    if len(verdict.causes) > MOST_CAUSES:
        yield f"  … and with {len(verdict.causes) - MOST_CAUSES} others: this file cannot tell them apart."
    follow = [line.called for line in verdict.lines if line.says == FOLLOWS and line != verdict.first]
    others = [line.called for line in verdict.lines if line.says == DIFFERS and line != verdict.first]
    if follow:
        yield f"  This only follows from it: {', '.join(follow)}."
    if others:
        yield f"  This differs by itself, too, from what the file's own rows before it lead to: {', '.join(others)}."


def _cause(match: Match) -> str:
    still = f"then this still deviates: {', '.join(match.still)}" if match.still else "then everything else agrees, too"
    return f"{match.said}; {still}."


def _nothing_logged(verdict: Verdict) -> Iterator[str]:
    yield f"{verdict.rollout.path} has no results that could be compared: no advantages, returns or logged numbers."
    yield from (f"  {name}, recomputed: {value:.9g}" for name, value in _losses(verdict).items())


def _losses(verdict: Verdict) -> dict[str, float]:
    whole = verdict.replayed.whole
    return {name: whole[name] for name in LOSSES if name in whole}


def data_of(verdict: Verdict) -> dict[str, Any]:
    """Returns a verdict for programs, as JSON has it: what is not a number is null."""
    return {
        "file": verdict.rollout.path,
        "preset": verdict.preset,
        "agrees": all(line.says == AGREES for line in verdict.lines),
        "deviates": not verdict.agrees,
        "environments": verdict.rollout.shape[0],
        "steps": verdict.rollout.shape[1],
        "quantities": [quantity(line) for line in verdict.lines],
        "not_compared": dict(verdict.uncompared),
        "first": quantity(verdict.first) if verdict.first else None,
        "causes": [
            {"matches_with": each.said, "rest_agrees": not each.still, "still": list(each.still)}
            for each in verdict.causes
        ],
        "recomputed": {name: number(value) for name, value in _losses(verdict).items()},
        "notes": list(verdict.notes),
    }
