"""The page "Which PPO is it?", and those of other kinds: what each library computes of a batch, and why, in Markdown; of
gradients a table for each batch, where loss and gradient part, and what turns or stretches them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from blueprint.comparison.measure import Answer, Changed, Effect, Turn, told_of
from blueprint.inputs import OFF, Setting, counted, dotted, shown_value
from blueprint.workbooks.common.conventions import Comparison

RANKED = 4
"""How many are named that stand elsewhere."""
NOWHERE = 0.05
"""Degrees below which a gradient is said not to be turned: the page shows one decimal."""


NO_LONGER = 0.005
"""Part of a length below which a gradient is not said to be stretched: the page shows two decimals."""
NO_LENGTH = "The default's gradient is 0, so that no other has an angle to it."
ALONE = ("norm", "times as long", "angle")
"""What is told of a gradient beside which no other stands."""
TINY = 1e-12
"""Below it a gradient is the default's own, but for rounding."""


class Named(NamedTuple):
    """What a convention of a library does to a gradient."""

    library: str
    effect: Effect
    turn: Turn


def gradient_table(answers: Sequence[Answer], over: str) -> str:
    """Lays norms and angles out, a row per library. over: what gradients are taken over."""
    sides = tuple(answers[0].norms)
    heads = [f"{side}: {what}" for side in sides for what in ("norm", "angle")] if sides[1:] else [*ALONE]
    lines = [["library", *heads], ["---", *["---:"] * len(heads)]]
    for answer in answers:
        lines.append(
            [answer.preset.name, *(each for side in sides for each in _length_and_angle(answer, side, len(sides) > 1))]
        )
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"The gradients, over {over}, and their angles to the default's:\n\n{rows}"


def _length_and_angle(answer: Answer, side: str, several: bool) -> list[str]:
    """Spells how long a gradient is and where it points; where there is one alone, also how much longer than the default's."""
    turn = answer.turns[side]
    return [f"{answer.norms[side]:.4f}", *([] if several else [times(turn)]), degrees(turn)]


def times(turn: Turn) -> str:
    """Spells how many times as long a gradient is; beside one of length 0 nothing can be said."""
    return f"{turn.longer:.2f}" if isfinite(turn.longer) else "–"


def degrees(turn: Turn) -> str:
    """Spells an angle."""
    return f"{turn.degrees:.1f}°" if isfinite(turn.degrees) else "–"


def loss_and_gradient_part(answers: Sequence[Answer], phrase: Callable[[str, Effect], str], main: str) -> str:
    """Says where loss and gradient part most, and which conventions stretch and which turn. phrase: says what an effect is of.

    main: what the number is called that is explained.
    """
    if not answers[0].norms["policy"]:
        return NO_LENGTH
    default, *every = answers
    others = [each for each in every if not each.turns["policy"].distance < TINY] or every

    def moves(each: Answer) -> float:
        return even(abs(each.loss - default.loss) / max(each.turns["policy"].distance, TINY))

    most, least = (_loss_and_turn(find(others, key=moves), default, main) for find in (max, min))
    told = [f"Relative to the change of the gradient, the loss changes most in {most}, and least in {least}."]
    for side in default.norms:
        found = [Named(each.preset.name, effect, effect.turns[side]) for each in others for effect in each.effects]
        told.append(_of_side(side, [each for each in found if isfinite(each.turn.degrees)], phrase))
    return " ".join(told)


def even(number: float) -> float:
    """Rounds what is compared to ten digits, so that of equals the first is named, whichever way a machine rounds."""
    return float(f"{number:.9e}")


def _loss_and_turn(answer: Answer, default: Answer, main: str) -> str:
    """Tells of a library's loss and gradient."""
    losses = (f"{each.loss:.4f}".replace("-", "−") for each in (answer, default))
    turn = answer.turns["policy"]
    return f"{answer.preset.name} ({main} {' for '.join(losses)}; turned by {degrees(turn)}, {_longer(turn)})"


def _of_side(side: str, found: Sequence[Named], phrase: Callable[[str, Effect], str]) -> str:
    """Names the convention that turns a gradient most, and the one that stretches it most without turning it."""
    if not found:
        return ""
    most = max(found, key=lambda each: even(each.turn.degrees))
    told = f"The {side}'s gradient is turned most by {_named(most, phrase)}, by {degrees(most.turn)}"
    straight = [each for each in found if each.turn.degrees < NOWHERE and each.turn.stretch > NO_LONGER]
    longest = max(straight, key=lambda each: even(each.turn.stretch), default=None)
    if longest is None:
        return f"{told}."
    return f"{told}, and stretched most without being turned by {_named(longest, phrase)}: {_longer(longest.turn)}."


def _named(each: Named, phrase: Callable[[str, Effect], str]) -> str:
    return f"“{phrase(each.library, each.effect)}” ({each.library})"


def _longer(turn: Turn) -> str:
    return f"{times(turn)} times as long"


def strongest_turn(effects: Iterable[Effect], phrase: Callable[[Effect], str]) -> str:
    """Says which convention of one library turns the policy's gradient most, and which stretches it most."""
    found = [(effect, effect.turns["policy"]) for effect in effects if "policy" in effect.turns]
    known = [(effect, turn) for effect, turn in found if isfinite(turn.degrees)]
    if not known:
        return ""
    turning, stretching = (
        max(known, key=lambda each: even(each[1].degrees)),
        max(known, key=lambda each: even(each[1].stretch)),
    )
    if turning[1].degrees < NOWHERE:
        return " No single one turns the policy's gradient."
    told = f" The policy's gradient is turned most by {phrase(turning[0])}: {degrees(turning[1])}"
    if turning[0] == stretching[0]:
        return f"{told}, {_longer(turning[1])}."
    return f"{told}; stretched most by {phrase(stretching[0])}: {_longer(stretching[1])}."


def ranked_elsewhere(found: Mapping[str, tuple[float, Turn]], of: str) -> str:
    """Says what stands elsewhere when ranked by how far the loss moves than by how far the gradient does.

    found: by name, by how much the loss is moved, and how the gradient lies to the default's. of: what these are, in words.
    """
    known = {name: each for name, each in found.items() if isfinite(each[0]) and isfinite(each[1].longer)}
    if len(known) < 2:
        return ""
    by_loss = sorted(known, key=lambda name: -even(abs(known[name][0])))
    by_gradient = sorted(known, key=lambda name: -even(known[name][1].distance))
    places = {name: (by_loss.index(name) + 1, by_gradient.index(name) + 1) for name in known}
    apart = sorted(places.items(), key=lambda item: -abs(item[1][0] - item[1][1]))[:RANKED]
    told = "; ".join(
        f"“{name}” is {_place(loss)} by loss and {_place(slope)} by gradient" for name, (loss, slope) in apart
    )
    return f"Of {len(known)} {of}, ranked by how far they are from the default: {told}."


def _place(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


ENDLESS = """\
inf, nan: what the library itself gets, where a number beyond 1.8e308 entered. No cell holds such a number: `blueprint build`
says where it arises."""
EFFECTS = """\
The number after a convention is what it adds to the {main}: the library's {main}, minus the {main} with this one
convention as the default has it. +0.1 means: the convention makes the loss 0.1 larger. The effects do not add up to the whole
difference, because the effect of one convention depends on the others. The three largest are named; an effect below 0.00005
counts as none. *Settings* are {tuned}, which users tune anyway; everything else is a *rule* of the
library's code."""
CHANGES = """\
Each row changes one thing of the default. It shows what that adds to the {main}, how many times as long the gradient then
is, and the angle by which it turns. Where the first number is small and the others are not, the loss does not show the change."""
DEFECTS = "What versions do although their users did not ask for it, each as a change of the default."
MOST, VISIBLE = 3, 0.00005


class Batch(NamedTuple):
    """A batch: its name, what it is, what each library computes of it, its level, and what changes of the default do."""

    name: str
    about: str
    answers: Sequence[Answer]
    level: str = "weights"
    changed: Sequence[Changed] = ()


def page(batches: Sequence[Batch], command: str) -> str:
    """Writes the page: a table for each batch, then each library with what moves its number. All batches are of one kind."""
    libraries, of = told_of(batches[0].level)
    telling = Telling(of, libraries.settings)
    parts = [f"# {of.title}", of.introduction, "This page is what this command prints:", f"    {command}"]
    for batch in batches:
        parts += [f"## The batch `{batch.name}`", *filter(None, [batch.about]), _table(batch.answers, of)]
        if any(answer.preset.unlogged for answer in batch.answers):
            parts.append("A dash: the library does not log it.")
        if not all(isfinite(number) for answer in batch.answers for number in answer.numbers.values()):
            parts.append(ENDLESS)
        if _pulls(batch):
            parts.append(gradient_table(batch.answers, of.over[batch.level]))
    if any(map(_pulls, batches)):
        parts += ["## What the loss does not say: the gradients", of.gradients]
        pulling = [batch for batch in batches if _pulls(batch) and batch.answers[1:]]
        parts += [f"On `{batch.name}`: {telling.parted(batch)}" for batch in pulling]
    parts += [*_alone(batches, of), "## Why they differ", EFFECTS.format(main=of.main, tuned=of.tuned)]
    names = dict.fromkeys(answer.preset.name for batch in batches for answer in batch.answers)
    parts += [telling.library(name, batches) for name in names]
    parts += ["## Build one of these, and where the numbers come from", of.sources] if of.sources else []
    return "\n\n".join(parts)


def _pulls(batch: Batch) -> bool:
    """Tells whether there are gradients, and the default's is a number."""
    return bool(batch.answers[0].norms) and all(map(isfinite, batch.answers[0].norms.values()))


def _alone(batches: Sequence[Batch], of: Comparison) -> Iterator[str]:
    """Tells of changes of the default, each by itself: a table for each batch, then the defects, with what is known of them."""
    if not of.changes:
        return
    yield "## One change at a time"
    yield CHANGES.format(main=of.main)
    for batch in batches:
        heads = [["change", of.main, "gradient: length", "angle"], ["---", "---:", "---:", "---:"]]
        rows = [_row(each) for each in batch.changed if each.change in of.changes]
        yield f"On `{batch.name}`:"
        yield "\n".join(f"| {' | '.join(line)} |" for line in heads + rows)
        found = {
            each.change.title: (each.adds, each.turns["policy"]) for each in batch.changed if each.change in of.changes
        }
        if told := ranked_elsewhere(found, "changes"):
            yield told
    yield "## Known defects, reproduced"
    yield DEFECTS
    for defect in of.defects:
        seen = [
            f"`{batch.name}`: {_seen(each)}" for batch in batches for each in batch.changed if each.change == defect
        ]
        yield f"**{defect.title}.** {defect.says} {'; '.join(seen)}."


def _ranked(batch: Batch) -> str:
    default, *others = batch.answers
    found = {each.preset.name: (each.loss - default.loss, each.turns["policy"]) for each in others}
    return ranked_elsewhere(found, "libraries and papers")


def _row(each: Changed) -> list[str]:
    turn = each.turns["policy"]
    return [each.change.title, number(each.adds, "+"), times(turn), degrees(turn)]


def _seen(each: Changed) -> str:
    """Says what a change does to the loss and, beside a gradient that is not 0, to the gradient."""
    turn, adds = each.turns["policy"], number(each.adds, "+")
    if not isfinite(turn.degrees):
        return adds
    return f"{adds}, the gradient {times(turn)} times as long, turned by {degrees(turn)}"


def _table(answers: Sequence[Answer], of: Comparison) -> str:
    """Lays the numbers out, a row per library."""
    lines = [["library", "version", *of.columns], ["---", "---", *["---:"] * len(of.columns)]]
    for preset, numbers, *_ in answers:
        shown = ["–" if title in preset.unlogged else number(numbers[title]) for title in of.columns]
        lines.append([preset.name, preset.version, *shown])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


class Telling(NamedTuple):
    """Tells of libraries in the words of their kind: how they are compared, and their settings by key."""

    of: Comparison
    settings: Mapping[str, Setting]

    def parted(self, batch: Batch) -> str:
        """Says where loss and gradient part, in the words of the conventions."""
        values = {answer.preset.name: answer.preset.values for answer in batch.answers}
        told = loss_and_gradient_part(
            batch.answers, lambda name, effect: self.phrase(effect.key, values[name]), self.of.main
        )
        return f"{told} {_ranked(batch)}".rstrip() if self.of.changes and batch.answers[2:] else told

    def library(self, name: str, batches: Sequence[Batch]) -> str:
        """Tells of one library: why it is apart, and for each batch which conventions move the loss."""
        of = {batch.name: answer for batch in batches for answer in batch.answers if answer.preset.name == name}
        first = next(iter(of.values()))
        head = f"**{name}**, {first.preset.title}. {first.preset.why}"
        keys = [effect.key for effect in first.effects]
        if not keys:
            return head
        tuned = sum(self.settings[key].tuned for key in keys)
        rules = f"It differs from the default in {counted(tuned, 'setting')} and {counted(len(keys) - tuned, 'rule')}."
        lines = (f"- `{batch}`: {self._moved(answer)}{self._turned(answer)}" for batch, answer in of.items())
        return "\n".join([f"{head} {rules}", "", *lines])

    def _turned(self, answer: Answer) -> str:
        return strongest_turn(answer.effects, lambda effect: self.phrase(effect.key, answer.preset.values))

    def _moved(self, answer: Answer) -> str:
        """Names the conventions that move the loss most, and the rule that does if none of these is one."""
        if not isfinite(answer.loss):
            return f"the {self.of.main} is no number, so nothing can be said to move it."
        moving = [effect for effect in answer.effects if not abs(effect.adds) < VISIBLE]  # one that is no number, too
        if not moving:
            return f"no single one moves the {self.of.main}."
        largest, rules = moving[:MOST], [effect for effect in moving if not self.settings[effect.key].tuned]
        told = "; ".join(self._effect(effect, answer) for effect in largest)
        if not rules:
            told += "; no rule moves it"
        elif rules[0] not in largest:
            told += f"; of the rules most, {self._effect(rules[0], answer)}"
        still = len(answer.effects) - len(moving)
        return f"{told}. {still} of {len(answer.effects)} do not move it." if still else f"{told}."

    def _effect(self, effect: Effect, answer: Answer) -> str:
        return f"{self.phrase(effect.key, answer.preset.values)}: {number(effect.adds, '+')}"

    def phrase(self, key: str, values: Mapping[str, float | str]) -> str:
        """Says what a convention does; one that has no words of its own is given as a numbers file has it."""
        setting, shown = self.settings[key], {each: shown_value(value) for each, value in values.items()}
        phrase = setting.phrases.get(shown[key]) or (setting.phrase if values[key] != OFF else "")
        others = {each.rpartition(".")[2]: self.settings[each].phrases.get(what, what) for each, what in shown.items()}
        return (phrase or f"{dotted(key)} = {{}}").format(shown[key], **others)


def number(value: float, sign: str = "") -> str:
    """Spells a number with four decimals and a true minus; what rounds to 0 has none."""
    return f"{round(value, 4) + 0.0:{sign}.4f}".replace("-", "−")
