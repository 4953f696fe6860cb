"""Models and loop: how many networks there are, which of them learn, and where this one step stands in a training run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from blueprint.language import Block
from blueprint.page.outline import Box, Entry, Flow, Note, Section

FROZEN, TRAINED, KEPT = "frozen", "trained", "kept"


class Model(NamedTuple):
    """One role: symbol, name, the rows by which it is known (the first that is there counts), state, and beginning."""

    symbol: str
    name: str
    rows: tuple[str, ...]
    state: str
    begins: str


MODELS = (
    Model("π_θ", "policy", ("policy.logprobs",), TRAINED, "at the weights of the old policy; each gradient step moves it"),
    Model(
        "π_old", "old policy (proximity model θ_old)", ("old.logprobs",), KEPT,
        "a copy of the policy from when it wrote the responses; its log-probs are stored then",
    ),
    Model(
        "π_ref", "reference", ("reference.logprobs",), FROZEN,
        "at the weights that the policy had before RLHF, those of supervised fine-tuning; it never changes",
    ),
    Model(
        "RM", "reward model", ("reward_model.out", "reward_model.score", "score.given", "reward.score", "score.placed"),
        FROZEN, "trained on people's comparisons before RLHF, often from the same pretrained weights; it never changes",
    ),
    Model("V", "critic", ("critic.values", "critic.out"), TRAINED, "at the weights of the old critic"),
    Model(
        "V_old", "old critic", ("old_critic.values", "values.masked"), KEPT,
        "a copy of the critic from when the responses were written; its values are stored then",
    ),
)  # fmt: skip
CLASSIC = (
    Model("π_θ", "policy", ("policy.logprobs",), TRAINED, "at the weights of the old policy; each gradient step moves it"),
    Model("π_old", "old policy", ("old.logprobs",), KEPT, "a copy of the policy from when it acted"),
    Model("V", "critic", ("values.new",), TRAINED, "at the weights of the old critic; often it shares layers with the policy"),
    Model("V_old", "old critic", ("values.old",), KEPT, "a copy of the critic from when the policy acted"),
)  # fmt: skip
FOUR = (
    "Four networks are in memory: two are trained, two are frozen. Policy and critic appear twice, as they are and as they "
    "were during the rollout: of the old ones only log-probs and values are stored, not the weights."
)
TWO = (
    "Two networks are in memory, and both are trained: there is neither a reference nor a reward model. Both appear twice, "
    "as they are and as they were during the rollout."
)
WEIGHTS = (
    "Here the weights of all six are on their sheets: policy and critic are θ_old + step · Δ with a typed Δ, so with a step "
    "of 0 they are the old ones."
)
GIVEN = "No network is run here: what the models said is typed. A model without a link has no numbers in this workbook."
HEADINGS = ("in training", "stands on", "", "begins")

LOOP = (
    "The upper row and the left box happen once a rollout: log-probs, values, advantages and returns are stored. The rest "
    "happens once a minibatch, in each epoch over the rollout.",
    "This workbook is one turn of the inner loop: one rollout, one minibatch (the whole batch), the loss after one step. "
    "In a first minibatch π_θ is still π_old, and every ratio is 1; here a step has been taken, so that ratios can be seen.",
)
ON, BACK, UP, DOWN, AGAIN, LINE, DASH = "→", "←", "↑", "↓", "↗", "───────────", "──"


def models_section(blocks: Mapping[str, Block], facts: Mapping[str, str]) -> list[Section]:
    """Tells the models, frozen and trained; nothing where there are none."""
    if facts["level"] == "controller":
        return []
    classic = facts["level"] == "classic"
    told = [TWO if classic else FOUR, WEIGHTS if facts["level"] == "weights" else GIVEN]
    entries = [_entry(model, blocks) for model in (CLASSIC if classic else MODELS)]
    return [Section("The models", (*entries, *map(Note, told)), HEADINGS)]


def _entry(model: Model, blocks: Mapping[str, Block]) -> Entry:
    found = next((blocks[name] for name in model.rows if name in blocks), None)
    link: Box | str = Box("{sheet}", found) if found is not None else ""
    return Entry((model.symbol, model.name, model.state, link, "", model.begins))


def loop_section(blocks: Mapping[str, Block], facts: Mapping[str, str]) -> list[Section]:
    """Draws the loop in which this step stands; nothing where no loss is."""
    if "total_loss" not in blocks:
        return []

    def box(title: str, *names: str) -> Box:
        return Box(title, next((blocks[name] for name in names if name in blocks), None))

    acts = facts["level"] == "classic"
    begin = "environments" if acts else "prompts of a batch"
    roll = "rollout: π_old acts" if acts else "rollout: π_old writes"
    pays = box("rewards", "rewards") if acts else box("score, KL, reward", "rewards")
    step = box("gradient step on θ", "update_step")
    outer = (
        box(begin, "given", "actions"), ON, box(roll, "word_written", "old.logprobs"), ON, pays, ON,
        box("GAE, whitening", "advantages_used"), ON, box("for each epoch"), ON, box("for each minibatch"),
    )  # fmt: skip
    down = (UP, "", "", "", "", AGAIN, LINE, DASH, "next minibatch ↑", "", DOWN)
    back = (
        box("π_old becomes π_θ, V_old becomes V"), BACK, box("all epochs are over"), BACK, step, BACK,
        box("loss", "total_loss"), BACK, box("clip, value loss …", "surrogate"), BACK, box("ratio", "ratio"),
    )  # fmt: skip
    return [Section("The loop around this step", (Flow((outer, down, back)), *map(Note, LOOP)))]
