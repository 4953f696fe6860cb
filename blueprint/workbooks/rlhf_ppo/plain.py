"""The plain workbook takes its equations from the page `ppo`; where they stand, and which sheet repeats what, is the outline's."""

from collections.abc import Mapping

from blueprint.language import Block, Definition, Ref, reading, typed, walk
from blueprint.language.gradient.graph import behind_links
from blueprint.page.outline import Blueprint
from blueprint.workbooks.common import PRESET_DEFAULT, Switch, n, t
from blueprint.workbooks.rlhf_ppo.ppo import Batch, Settings, ppo

MODELS = (
    "mask", "policy.logprobs", "old.logprobs", "reference.logprobs", "critic.values", "old_critic.values", "policy.entropy",
    "policy_kl.exact", "reward.score",
)  # fmt: skip
"""The blocks of a workbook that the page calls a batch, in its order."""
NUMBERS = (
    "gamma", "gae_lambda", "kl_coef", "clip_range", "value_clip_range", "vf_coef", "ent_coef", "policy_kl_coef", "whiten_eps",
)  # fmt: skip
SWITCHES = ("kl_estimator", "whiten_advantages")


def page() -> list[Block]:
    """Returns the blocks of the page `ppo`, which read stand-ins of the names that a workbook has for models and settings."""
    batch = Batch(*(typed(name, (n, t), edges=(t.last + 1,)) for name in MODELS))
    estimator, whiten = (Switch(PRESET_DEFAULT[name].words, typed(f"{name}.number")) for name in SWITCHES)
    return ppo(batch, Settings._make([*map(typed, NUMBERS), estimator, whiten]))


def with_equations_of_the_page(outline: Blueprint) -> Blueprint:
    """Writes the page's equations into the blocks of an outline, which go by the same names.

    An outline may repeat on a sheet what stands on another (a link); there an equation goes on to read what is repeated.
    """
    there = {block.name: block for block in outline.blocks()}
    for source in page():
        block = there[source.name]
        block.definitions = [
            Definition(definition.target, reading(definition.expr, _instead(definition, block, there)))
            for definition in source.definitions
        ]
    return outline


def _instead(definition: Definition, block: Block, there: Mapping[str, Block]) -> dict[Block, Block]:
    """Returns what a block of the outline reads in place of what the page reads."""
    read = [node.block for old in block.definitions for node in walk(old.expr) if isinstance(node, Ref)]
    repeated = {behind_links(each).name: each for each in read}
    names = {node.block: node.block.name for node in walk(definition.expr) if isinstance(node, Ref)}
    return {stand_in: repeated.get(name, there[name]) for stand_in, name in names.items()}
