"""Which number of a rollout went wrong first, all being computed again.

Of a large rollout causes are tried on a few steps at its end first: what does not explain them explains none of it, and they are
soon computed. Advantages are made from the last step to the first, so those of the last steps are what they are in the whole.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from blueprint.dumps import Array, require
from blueprint.language import Reduce, Ref, walk
from blueprint.verifying import (
    Again,
    Compared,
    Given,
    Judge,
    Kept,
    Moved,
    Otherwise,
    Part,
    Quantity,
    Settings,
    StepVerdict,
    Try,
    Verdict,
    VerifyOptions,
    Watch,
    choose,
    computed,
    distance,
    first_line,
    given_of,
    judged,
    otherwise_by,
    step_lines,
)
from blueprint.workbooks.classic_ppo.dumps import OF_STEPS, Rollout
from blueprint.workbooks.classic_ppo.rollout import CLASSIC
from blueprint.workbooks.classic_ppo.verifying.causes import tries
from blueprint.workbooks.classic_ppo.verifying.recompute import (
    ALL,
    EQUATIONS,
    ROWS,
    TYPED,
    Inputs,
    inputs_of,
    recompute,
    with_first,
)

UNSAID = (
    'the file does not say how many updates came before it: with "optimizer_step": "0" in the metadata of the first '
    "minibatch it is checked that the new log-probs are the old ones"
)
CELLS, FEWEST = 1 << 26, 400
"""So many numbers are gone through for causes at most: all causes on a usual rollout, the likeliest on a large one."""
TELLING = 20
"""So many times what a number may be off it must deviate, so that of as many causes none explains it by chance."""
PARTS = ("policy_loss", "value_loss", "entropy")


def check_device(device: str) -> None:
    """Raises MinibatchError for another device than the processor."""
    require(
        device == "cpu",
        f"--device {device}: a rollout of classic PPO is computed on the processor, in float64; leave it out",
    )


FEW, WIDTH, ENVIRONMENTS = 1 << 11, 48, 4
"""Steps of all environments up to which nothing is left out; and how many steps of how many environments are enough."""
LOCAL = {"td_errors", "stop", "advantages", "returns", "rewards.paid", *TYPED, *CLASSIC}
"""Rows of which a few steps are what they are in the whole rollout; and settings."""


@dataclass(frozen=True)
class End:
    """Some environments, and the step from which on they are looked at; of that step itself nothing is compared, since what is
    before it may be read."""

    environments: Array
    start: int

    def cut(self, row: Array) -> Array:
        """Returns what is looked at of a row of steps."""
        return np.asarray(row[self.environments][:, self.start :])

    def of(self, rollout: Rollout) -> Rollout:
        """Returns the end of a rollout, without its minibatch."""
        steps = {name: self.cut(row) for name, row in rollout.tensors.items() if name in OF_STEPS and row.ndim == 2}
        if "next_values" in rollout.tensors:
            steps["next_values"] = rollout.tensors["next_values"][self.environments]
        return replace(rollout, tensors=steps, logged={}, at=np.zeros((0, 2), dtype=np.int64))

    def differs(self, theirs: Array, ours: Array, allowed: float) -> bool:
        """Whether a row of steps of the file is another one there. ours: of the end alone."""
        cut = self.cut(theirs)
        grown = np.maximum(1.0, np.fmin(np.abs(cut), np.abs(ours)))  # of larger numbers more is rounding
        return not bool((distance(cut, ours) <= allowed * grown)[:, 1:].all())


def end_of(theirs: Array, ours: Array, allowed: float) -> End | None:
    """Returns the last steps of the environments in which a row deviates most there; None where they are nearly all.

    Where nothing deviates in the last steps, it begins in front of the last one that does.
    """
    wrong = ~(distance(theirs, ours) <= allowed)
    if theirs.size <= FEW or not wrong.any():
        return None
    last = int(np.flatnonzero(wrong.any(axis=0))[-1])
    start = min(theirs.shape[1], last + WIDTH // 2) - WIDTH
    if start <= 0:
        return None
    environments = np.argsort(-wrong[:, start + 1 :].sum(axis=1), kind="stable")[:ENVIRONMENTS]
    return End(np.sort(environments), start)


def is_local(each: Try, settings: Settings) -> bool:
    """Whether with something done otherwise a few steps are what they are in the whole rollout."""
    equations = EQUATIONS.under(settings)
    for name, change in each.ways.get("equations", {}).items():
        for definition in equations.changed(name, change).definitions:
            for node in walk(definition.expr):
                if isinstance(node, Reduce) or (isinstance(node, Ref) and node.block.name not in LOCAL):
                    return False
    return not each.ways.get("far", False)


class RolloutJudge(Judge):
    """Compares a rollout; where rounding might hide a fault, only what is equal to the last bit agrees."""

    def compared(self, found: Again, only: str = "") -> dict[str, Compared]:
        """Returns what each logged quantity comes to, as `Judge.compared`, without room for the library's arithmetic."""
        return {name: replace(each, arithmetic=0.0) for name, each in super().compared(found, only).items()}


@dataclass(frozen=True)
class RolloutTrial:
    """A rollout, and how it is computed again and compared."""

    batch: Rollout
    settings: Settings
    straight: Again
    judge: Judge
    given: Given
    inputs: Inputs
    quantities: Mapping[str, Quantity] = field(default_factory=lambda: ALL)
    kept: Kept = field(default_factory=Kept)
    explaining: list[Try] = field(default_factory=list)
    ends: dict[str, End | None] = field(default_factory=dict)
    moved: Moved = field(default_factory=list)

    @property
    def most(self) -> int:
        """How many causes there is time for."""
        return max(FEWEST, CELLS // self.batch.tensors["rewards"].size)

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        return self.judge.called(name)

    def compared(self, each: Try | None = None, given: Given | None = None, until: str = "") -> dict[str, Compared]:
        """Compares what the file logged with what comes out, as the settings say or with something done otherwise."""
        if each is None and not given:
            return self.judge.compared(self.straight, until)
        settings, ways = (each.settings, each.ways) if each else (self.settings, {})
        if each is not None and until and self._fails(each, given or {}, until):
            return {}
        ways = {**ways, "kept": self.kept} if "equations" in ways else ways
        found = computed(ways, lambda: recompute(self.batch, settings, ways, given or {}, until, inputs=self.inputs))
        if found is None:
            return {}
        compared = self.judge.compared(found, until)
        if until and each is not None and compared and compared[until].agrees:
            self.explaining.append(each)
        if ways.get("alone") and not until:  # what agrees as it is was computed as it should be
            straight = self.judge.compared(self.straight)
            compared = {name: straight[name] if straight[name].agrees else one for name, one in compared.items()}
        return compared

    def _fails(self, each: Try, given: Given, name: str) -> bool:
        """Whether a cause does not even explain the last steps of a row of steps, where the rollout is large."""
        if name not in self.ends:
            rows = self.straight.rows
            steps = name in rows and rows[name].shape == self.batch.shape
            self.ends[name] = end_of(self.batch.tensors[name], rows[name], self._allowed(name)) if steps else None
        if (end := self.ends[name]) is None or not is_local(each, self.settings):
            return False
        cut = {key: end.cut(row) for key, row in given.items() if row.shape == self.batch.shape}
        found = recompute(end.of(self.batch), each.settings, each.ways, cut, name).rows
        return name in found and end.differs(self.batch.tensors[name], found[name], self._allowed(name))

    def _allowed(self, name: str) -> float:
        return self.judge.factor * float(self.straight.room[name])

    def tries(self, name: str) -> Iterator[list[Try]]:
        """Yields what may have been done otherwise where a quantity deviates."""
        before = {key: value for key, value in self.given.items() if key in ALL[name].after}
        return tries(self.batch, self.settings, name, before, self.explaining, self._is_telling(name))

    def otherwise(self, each: Try, name: str, alone: bool) -> Otherwise | None:
        """Returns what a cause comes to where the file's numbers are others, by itself; alone: whether only of the quantity."""

        def made(rollout: Rollout, kept: Kept, one: Try | None = None) -> Again:
            settings, ways = (self.settings, {}) if one is None else (one.settings, one.ways)
            return recompute(rollout, settings, ways, until=name if alone and one else "")

        with np.errstate(all="ignore"):
            return otherwise_by(made, each, name, [name] if alone else ALL, (self.batch, self.kept), self.moved)

    def _is_telling(self, name: str) -> bool:
        """Whether a deviation is many times what rounding may do; a share counts in steps of one row."""
        compared = self.judge.compared(self.straight, name)[name]
        least = 1 / len(self.batch.at) if name == "clip_fraction" else compared.allowed
        return compared.logged is None or not compared.largest <= TELLING * least


def trial_of(rollout: Rollout, settings: Settings, options: VerifyOptions) -> RolloutTrial:
    """Computes a rollout again under settings, to be compared with what its file logged."""
    rollout = with_first(rollout)
    inputs = inputs_of(rollout)
    found = recompute(rollout, settings, sized=True, inputs=inputs)
    given = dict(given_of(rollout, {each.name: each for each in ROWS[1:]}))
    given |= {name: np.asarray(rollout.logged[name]) for name in PARTS if name in rollout.logged}
    return RolloutTrial(rollout, settings, found, RolloutJudge(rollout, found, ALL, options.tolerance), given, inputs)


def verdict_of(trial: RolloutTrial, preset: str, explain: bool) -> Verdict:
    """Compares a rollout computed again with everything that its file logged; explain: whether to look for a cause."""
    rollout = trial.batch
    lines, first, causes = judged(trial, trial.tries if explain else lambda name: iter(()), most=trial.most)
    known = rollout.place is not None and rollout.place.before_first_update is not None
    notes = rollout.notes if known else (*rollout.notes, UNSAID)
    uncompared = trial.judge.uncompared()
    return Verdict(preset, trial.straight, tuple(lines), uncompared, first, causes.matches, notes, causes)


def verify(rollout: Rollout, settings: Settings, preset: str = "", factor: float = 1.0) -> Verdict:
    """Computes a rollout again under the values of a preset and compares it with everything that the file logged.

    factor: multiplies every tolerance.
    """
    return verdict_of(trial_of(rollout, settings, replace(VerifyOptions(), tolerance=factor)), preset, True)


def verify_rollouts(
    rollouts: Sequence[Rollout], options: VerifyOptions, watch: Watch, unread: Mapping[Path, str]
) -> StepVerdict:
    """Verifies rollouts, each by itself: files of other steps may not say of which they are."""
    asked = ((each, choose(each, options)) for each in rollouts)
    trials = [(chosen, trial_of(each, chosen.values, options)) for each, chosen in asked]
    parts = [
        Part(Path(of.batch.path), chosen, verdict_of(of, chosen.preset.name, options.causes)) for chosen, of in trials
    ]
    lines = step_lines([part.verdict for part in parts], ALL)
    first = first_line(lines)
    where = first.first[1] if first and first.first else None
    causes = next((part.verdict.causes for part in parts if part.verdict.replayed.batch is where), ())
    return StepVerdict(rollouts[0].step, tuple(parts), unread, tuple(lines), first, causes)
