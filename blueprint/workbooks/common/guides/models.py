"""Models and loop: how many networks there are, which of them learn, and where this one step stands in a training run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blueprint.language import Block
from blueprint.page.outline import Box, Entry, Flow, Note, Section

GIVEN = "No network is run here: what the models said is typed. A model without a link has no numbers in this workbook."
HEADINGS = ("in training", "stands on", "", "begins")

LOOP = (
    "The upper row and the left box happen once a rollout: log-probs, values, advantages and returns are stored. The rest "
    "happens once a minibatch, in each epoch over the rollout.",
    "This workbook is one turn of the inner loop: one rollout, one minibatch (the whole batch), the loss after one step. "
    "In a first minibatch π_θ is still π_old, and every ratio is 1; here a step has been taken, so that ratios can be seen.",
)
ON, BACK, UP, DOWN, AGAIN, LINE, DASH = "→", "←", "↑", "↓", "↗", "───────────", "──"


def models_section(blocks: Mapping[str, Block], told: Mapping[str, Any]) -> Section:
    """Tells the models, frozen and trained, and whether they run here."""
    runs = "old.E" in blocks and "told_with_weights" in told
    entries = [_entry(model, blocks) for model in told["model"]]
    notes = Note(told["told"]), Note(told["told_with_weights"] if runs else GIVEN)
    return Section("The models", (*entries, *notes), HEADINGS)


def _entry(model: Mapping[str, Any], blocks: Mapping[str, Block]) -> Entry:
    """Tells one model; the first of its rows that is there leads to it."""
    found = next((blocks[name] for name in model["rows"] if name in blocks), None)
    link: Box | str = Box("{sheet}", found) if found is not None else ""
    return Entry((model["symbol"], model["name"], model["state"], link, "", model["begins"]))


def loop_section(blocks: Mapping[str, Block], told: Mapping[str, str]) -> list[Section]:
    """Draws the loop in which this step stands; nothing where no loss is."""
    if "total_loss" not in blocks:
        return []

    def box(title: str, *names: str) -> Box:
        return Box(title, next((blocks[name] for name in names if name in blocks), None))

    step = box("gradient step on θ", "update_step")
    outer = (
        box(told["begin"], "given", "actions"), ON, box(told["rollout"], "word_written", "old.logprobs"), ON,
        box(told["rewards"], "rewards"), ON,
        box("GAE, whitening", "advantages_used"), ON, box("for each epoch"), ON, box("for each minibatch"),
    )  # fmt: skip
    down = (UP, "", "", "", "", AGAIN, LINE, DASH, "next minibatch ↑", "", DOWN)
    back = (
        box("π_old becomes π_θ, V_old becomes V"), BACK, box("all epochs are over"), BACK, step, BACK,
        box("loss", "total_loss"), BACK, box("clip, value loss …", "surrogate"), BACK, box("ratio", "ratio"),
    )  # fmt: skip
    return [Section("The loop around this step", (Flow((outer, down, back)), *map(Note, LOOP)))]
