"""A step that is verified: its files, how each of them is, and what they came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from blueprint.dumps import Dump, Minibatch, joined
from blueprint.verifying.causes import Match
from blueprint.verifying.lines import settled
from blueprint.verifying.parts import NO_LINES, Lines
from blueprint.verifying.prepared import Prepared, Preparing
from blueprint.verifying.settings import Setting
from blueprint.verifying.step_lines import StepLine
from blueprint.verifying.verdict import Verdict, Watch
from blueprint.verifying.verify import verify


@dataclass(frozen=True)
class Case:
    """The files of a step, the conventions of all of them, and what multiplies the tolerances."""

    preparing: Preparing
    settings: Mapping[str, Setting]
    preset: str
    factor: float
    device: str
    watch: Watch

    def verified(self, each: Prepared, explain: bool = False) -> Verdict:
        """Verifies a file as the part of the step that it is."""
        return self._verdict(each.batch, each.group.whole, explain, each.group.lines, each.shares)

    def under(self, changes: Mapping[str, Setting]) -> Case:
        """Returns the same files under other settings."""
        settings, before = dict(self.settings) | dict(changes), self.preparing
        return replace(
            self, settings=settings, preparing=Preparing(before.batches, settings, before.scope, self.device)
        )

    def on_lines(self, prepared: Sequence[Prepared]) -> list[Prepared]:
        """Returns the files, those of a part of a step with the lines on which all of that part lies."""
        found = {id(each.group): each.group for each in prepared}
        for key, group in found.items():
            if group.whole is False and len(group.batches) > 1:
                whole = self._verdict(joined(group.batches, group.batches[0].path), False, False)
                found[key] = replace(group, lines=whole.left_open)
        return [replace(each, group=found[id(each.group)]) for each in prepared]

    def together(self, batches: Sequence[Minibatch], whole: bool | None) -> Verdict:
        """Verifies the tensors of files as those of one batch, and looks for the cause of what deviates in them."""
        return self._verdict(joined(batches, batches[0].path), whole, True)

    def unwhitened(self, batch: Minibatch) -> Verdict:
        """Verifies what of a file does not hang on what it was whitened with, and looks for the cause of what deviates."""
        tensors = {name: each for name, each in batch.tensors.items() if name != "advantages"}
        return self._verdict(replace(batch, tensors=tensors, logged={}), False, True)

    def _verdict(
        self, batch: Minibatch, whole: bool | None, explain: bool, known: Lines = NO_LINES, shares: bool = False
    ) -> Verdict:
        options = self.settings, self.preset, self.watch, self.factor
        return verify(
            batch, *options, device=self.device, whole=whole, known=known, explain=explain, shares=shares
        )  # fmt: skip


@dataclass(frozen=True)
class Verified:
    """A step that was verified: its case, its files, what each of them came to, and its lines."""

    case: Case
    prepared: Sequence[Prepared]
    verdicts: Sequence[Verdict]
    lines: Sequence[StepLine]

    def prepared_of(self, batch: Dump) -> Prepared:
        """Returns a file as it was prepared."""
        return next(each for each in self.prepared if each.batch.path == batch.path)


def agrees_in(verdict: Verdict, name: str) -> bool:
    """Whether a quantity agrees in a file that has it."""
    return all(line.compared.agrees for line in verdict.lines if line.compared.name == name)


def match_of(said: str, verdicts: Sequence[Verdict], name: str) -> Match:
    """Returns a cause with which a quantity agrees in all files, and what else deviates in some of them then."""
    wrong = [line.compared for each in verdicts for line in each.lines if not settled(line)]
    still = {each.name: max(other.largest for other in wrong if other.name == each.name) for each in wrong}
    return Match(said, largest_in(verdicts, name), tuple(still.items()))


def largest_in(verdicts: Sequence[Verdict], name: str) -> float:
    """Returns the largest difference of a quantity among files."""
    return max(line.compared.largest for each in verdicts for line in each.lines if line.compared.name == name)
