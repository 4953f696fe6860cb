"""The page "Which PPO is it?": what each library computes of a batch, and what makes the difference, in Markdown."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from blueprint.inputs import OFF, counted, dotted, shown_value
from blueprint.which import gradients
from blueprint.which.measure import COLUMNS, Answer, Effect
from blueprint.workbooks.common.conventions.data import LIVE

INTRODUCTION = """\
They are all called PPO, and each computes another loss from the same batch: the same tokens, log-probs, values and scores
(the temperature is the batch's own, too). Every row below follows what one library does when nothing is set, read in its
source at the version named; `blueprint presets` says where. The total is what the policy's optimiser makes smaller: where
the critic has an optimiser of its own, the value loss is no part of it. No row is the right one, but whoever compares two
runs should know which row each of them is."""
ENDLESS = """\
inf, nan: what the library itself gets, where a number beyond 1.8e308 entered. No cell holds such a number: `blueprint build`
says where it arises."""
EFFECTS = """\
Behind each convention stands what it adds to the policy loss: it alone is set back to what the default does, everything
is computed anew, and the new loss is taken off the old one. +0.1 means: the convention makes the loss 0.1 larger. The
effects do not add up to the whole difference, because one convention hides or magnifies another. The three largest are
named; what is smaller than 0.00005 counts as not moving it. *Settings* are γ, λ, clips and coefficients, which users tune
anyway; all else is a *rule* of the library's code."""
MOST, VISIBLE = 3, 0.00005
TUNED = frozenset(key for key, setting in LIVE.items() if setting.tuned)
"""What every user of any library sets anew: γ, λ and the coefficients. All else is a rule of the library's code."""


class Batch(NamedTuple):
    """A batch: its name, what it is, what each library computes of it, and the level at which it begins."""

    name: str
    about: str
    answers: Sequence[Answer]
    level: str = "weights"


def page(batches: Sequence[Batch], command: str) -> str:
    """Writes the page: a table for each batch, then each library with what moves its number."""
    parts = ["# Which PPO is it?", INTRODUCTION, "This page is what this command prints:", f"    {command}"]
    for batch in batches:
        parts += [f"## The batch `{batch.name}`", *filter(None, [batch.about]), _table(batch.answers)]
        if any(answer.preset.unlogged for answer in batch.answers):
            parts.append("A dash: the library does not log it.")
        if not all(isfinite(number) for answer in batch.answers for number in answer.numbers.values()):
            parts.append(ENDLESS)
        if _pulls(batch):
            parts.append(gradients.table(batch.answers, batch.level))
    if any(map(_pulls, batches)):
        parts += ["## What the loss does not say: the gradients", gradients.EXPLAINED]
        parts += [f"On `{batch.name}`: {_parted(batch)}" for batch in batches if _pulls(batch) and batch.answers[1:]]
    parts += ["## Why they differ", EFFECTS]
    names = dict.fromkeys(answer.preset.name for batch in batches for answer in batch.answers)
    parts += [_library(name, batches) for name in names]
    return "\n\n".join(parts)


def _pulls(batch: Batch) -> bool:
    """Tells whether there are gradients, and the default's is a number."""
    return bool(batch.answers[0].norms) and all(map(isfinite, batch.answers[0].norms.values()))


def _parted(batch: Batch) -> str:
    """Says where loss and gradient part, in the words of the conventions."""
    values = {answer.preset.name: answer.preset.values for answer in batch.answers}
    return gradients.parted(batch.answers, lambda library, effect: phrase_of(effect.key, values[library]))


def _table(answers: Sequence[Answer]) -> str:
    """Lays the numbers out, a row per library."""
    lines = [["library", "version", *COLUMNS], ["---", "---", *["---:"] * len(COLUMNS)]]
    for preset, numbers, *_ in answers:
        shown = ["–" if title in preset.unlogged else number(numbers[title]) for title in COLUMNS]
        lines.append([preset.name, preset.version, *shown])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _library(name: str, batches: Sequence[Batch]) -> str:
    """Tells of one library: why it is apart, and for each batch which conventions move the policy loss."""
    of = {batch.name: answer for batch in batches for answer in batch.answers if answer.preset.name == name}
    first = next(iter(of.values()))
    head = f"**{name}**, {first.preset.title}. {first.preset.why}"
    keys = [effect.key for effect in first.effects]
    if not keys:
        return head
    tuned = sum(key in TUNED for key in keys)
    rules = f"It differs from the default in {counted(tuned, 'setting')} and {counted(len(keys) - tuned, 'rule')}."
    return "\n".join(
        [f"{head} {rules}", "", *(f"- `{batch}`: {_moved(answer)}{_turned(answer)}" for batch, answer in of.items())]
    )


def _turned(answer: Answer) -> str:
    return gradients.strongest(answer.effects, lambda effect: phrase_of(effect.key, answer.preset.values))


def _moved(answer: Answer) -> str:
    """Names the conventions that move the policy loss most, and the rule that does if none of these is one."""
    if not isfinite(answer.numbers["policy loss"]):
        return "the policy loss is no number, so nothing can be said to move it."
    moving = [effect for effect in answer.effects if not abs(effect.adds) < VISIBLE]  # one that is no number, too
    if not moving:
        return "no single one moves the policy loss."
    largest, rules = moving[:MOST], [effect for effect in moving if effect.key not in TUNED]
    told = "; ".join(_effect(effect, answer) for effect in largest)
    if not rules:
        told += "; no rule moves it"
    elif rules[0] not in largest:
        told += f"; of the rules most, {_effect(rules[0], answer)}"
    still = len(answer.effects) - len(moving)
    return f"{told}. {still} of {len(answer.effects)} do not move it." if still else f"{told}."


def _effect(effect: Effect, answer: Answer) -> str:
    return f"{phrase_of(effect.key, answer.preset.values)}: {number(effect.adds, '+')}"


def phrase_of(key: str, values: Mapping[str, float | str]) -> str:
    """Says what a convention does; one that has no words of its own is given as a numbers file has it."""
    setting, shown = LIVE[key], {each: shown_value(value) for each, value in values.items()}
    phrase = setting.phrases.get(shown[key]) or (setting.phrase if values[key] != OFF else "")
    others = {each.rpartition(".")[2]: LIVE[each].phrases.get(what, what) for each, what in shown.items()}
    return (phrase or f"{dotted(key)} = {{}}").format(shown[key], **others)


def number(value: float, sign: str = "") -> str:
    """Spells a number with four decimals and a true minus; what rounds to 0 has none."""
    return f"{round(value, 4) + 0.0:{sign}.4f}".replace("-", "−")
