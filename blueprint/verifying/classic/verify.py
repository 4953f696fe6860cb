"""Which number of a rollout went wrong first: everything that a file logged, compared with it computed again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blueprint.dumps.classic import Rollout
from blueprint.verifying.classic.causes import Try, tries
from blueprint.verifying.classic.judge import Judge, given_of
from blueprint.verifying.classic.quantities import ALL, FIRST
from blueprint.verifying.classic.recompute import recompute
from blueprint.verifying.classic.work import Given, Replayed
from blueprint.verifying.compare import Compared
from blueprint.verifying.lines import AGREES, DIFFERS, FOLLOWS, TOO_COARSE, Line, first_of, following
from blueprint.verifying.settings import Settings

FIRST_NAMES = {each.name for each in FIRST}
SIGNAL = ("rewards", "advantages", "returns")


@dataclass(frozen=True)
class Match:
    """Something done otherwise with which the first deviation agrees; still: what then deviates, none if everything agrees."""

    said: str
    still: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """What a rollout comes to under a preset.

    lines: every logged quantity that can be compared, in the order of derivation. uncompared: those that cannot, and what
    the file lacks for them. first: the first that differs by itself; causes: what explains it, the best first.
    """

    rollout: Rollout
    preset: str
    replayed: Replayed
    lines: tuple[Line, ...]
    uncompared: Mapping[str, str]
    first: Line | None
    causes: tuple[Match, ...]
    notes: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether every logged number that could be compared agrees."""
        return self.first is None


def verify(rollout: Rollout, settings: Settings, preset: str = "", factor: float = 1.0) -> Verdict:
    """Computes a rollout again under the values of a preset and compares it with everything that the file logged.

    factor: multiplies every tolerance.
    """
    found = recompute(rollout, settings)
    judge, given = Judge(rollout, found, factor), given_of(rollout)
    straight = judge.compared(found)
    own = judge.compared(recompute(rollout, settings, given=given))
    lines = [_line(judge, each, own[name], straight) for name, each in straight.items()]
    wrong = [line for line in lines if line.says in (DIFFERS, FOLLOWS)]
    first, causes = (first_of(lines) if wrong else None), tuple[Match, ...]()
    if first is not None and first.says == DIFFERS:
        causes = causes_of(judge, settings, given, first.compared.name)
        if causes and not causes[0].still:
            lines = [
                line if line.says not in (DIFFERS, FOLLOWS) or line == first else following(line) for line in lines
            ]
    return Verdict(
        rollout, preset, found, tuple(lines), judge.uncompared(), first, causes, (*rollout.notes, *_notes(rollout))
    )


def _line(judge: Judge, straight: Compared, own: Compared, all_of_them: Mapping[str, Compared]) -> Line:
    """Says of a quantity whether it agrees, is too coarse to tell, follows from what stands before it, or differs."""
    name = straight.name
    called = judge.rollout.called.get(name, name) if name not in FIRST_NAMES else FIRST_CALLED[name]
    if straight.agrees:
        return Line(called, straight, TOO_COARSE if straight.too_coarse else AGREES)
    earlier = [all_of_them[each] for each in ALL[name].after if each in all_of_them]
    return Line(called, straight, FOLLOWS if earlier and own.agrees else DIFFERS)


FIRST_CALLED = {"first.logprobs": "new log-probs against old", "first.values": "new values against old"}
"""What the two are called that must be alike before the first update."""


def causes_of(judge: Judge, settings: Settings, given: Given, name: str) -> tuple[Match, ...]:
    """Returns what explains a deviation: tried on that quantity alone, from the file's own rows before it, then on the rest."""
    found = []
    for each in tries(judge.rollout, settings, name in SIGNAL):
        if _explains(judge, each, given, name):
            found.append(Match(each.said, _still(judge, each)))
    best = [each for each in found if not each.still]
    return tuple(best or sorted(found, key=lambda match: len(match.still)))


def _explains(judge: Judge, each: Try, given: Given, name: str) -> bool:
    if name in FIRST_NAMES:
        return judge.first_with(ALL[name], each.rollout).agrees
    before = {key: value for key, value in given.items() if key in ALL[name].after}
    return judge.compared(recompute(each.rollout, each.settings, each.ways, before, name))[name].agrees


def _still(judge: Judge, each: Try) -> tuple[str, ...]:
    """Returns what deviates although everything was done so."""
    compared = judge.compared(recompute(each.rollout, each.settings, each.ways))
    return tuple(judge.rollout.called.get(name, name) for name, one in compared.items() if not one.agrees)


def _notes(rollout: Rollout) -> tuple[str, ...]:
    """Says whether this could be checked before the first update."""
    if rollout.place is None or rollout.place.before_first_update is None:
        return (
            'the file does not say how many updates came before it: with "optimizer_step": "0" in the metadata of the first '
            "minibatch it is checked that the new log-probs are the old ones",
        )
    return ()
