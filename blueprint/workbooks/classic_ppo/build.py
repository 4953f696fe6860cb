"""The blueprint of classic PPO, from rewards, values and scores of actions to the total loss; and its first sheet: the loss and its
parts, the map, and every piece with its number."""

from dataclasses import replace

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Block, typed
from blueprint.page.outline import Blueprint, Box, Flow, Piece, Sample
from blueprint.workbooks.classic_ppo.rollout import Blocks, a, choices_of, head, inputs, n, rollout, t
from blueprint.workbooks.classic_ppo.schema import CLASSIC, classic_presets
from blueprint.workbooks.classic_ppo.steps import Derived, derived
from blueprint.workbooks.common import (
    DASH,
    DOWN,
    EQUAL_RETURNS,
    LEGEND,
    LINE,
    ON,
    PRESET,
    TOTAL,
    UP,
    Choices,
    Identity,
    Made,
    Says,
    Settings,
    Witnessed,
    below,
    checks,
    checks_sheet,
    facts_of,
    identities,
    preset_table,
    rows_on,
    settings,
    start_sheet,
    with_,
)


def classic_ppo(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of classic PPO; the norm of the value loss is laid out as the numbers ask for it.

    witnessed: numbers of an outside witness, to stand beside the workbook's own on the sheet Checks.
    """
    preset = classic_presets().preset(numbers["preset"])
    table = preset_table(classic_presets(), preset.name)
    chosen = settings(numbers.ppo, CLASSIC, table)
    norm = str(numbers.ppo.get("value_norm", preset.values["value_norm"]))
    built = typed("value_norm.built", (), "norm_built", "norm of the value loss in this file", text=True)
    run, use = rollout(), choices_of(chosen, norm)
    made = derived(run, norm, use)
    blocks = rows_on(run, *made.sheets)
    parts, pieces = (_listed(some, blocks) for some in (PARTS, PIECES))
    residuals, known = (
        _residuals(blocks, made, chosen, built, use),
        identities(made.gae, blocks["advantage.rewards"], use),
    )
    shown = [each.shown for each in (*parts, *pieces)]
    checked, verdict, tolerances = checks_sheet(head(blocks, "checks"), residuals, known, witnessed, shown)
    facts = facts_of(numbers.name, "classic") | {"preset": preset.name}
    first = start_sheet(Made(numbers.title, numbers.about, facts, SAYS), parts, pieces, _flow(blocks), verdict)
    environments, steps, actions = numbers["rollout.logits_old"].shape
    return Blueprint(
        title=numbers.title,
        sheets=(first, inputs(table, chosen, built), run, *made.sheets, replace(checked, across=(n, t), grey=None)),
        sizes={n: environments, t: steps, a: actions, PRESET: len(classic_presets().presets)},
        typed=chosen.typed | tolerances | {built: norm, blocks["rounding"]: EQUAL_RETURNS},
        choices=chosen.choices,
        ranges=chosen.ranges
        | {blocks["actions"]: (0, actions - 1), blocks["done"]: (0, 1), blocks["terminated"]: (0, 1)},
        facts=facts,
        result=made.total.total,
        parts=made.total.parts,
        whole="batch",
    ).with_typed(_typed(numbers))


def _residuals(blocks: Blocks, made: Derived, chosen: Settings, built: Block, use: Choices) -> list[Block | Identity]:
    """Lists what must be 0."""
    gae, white, done, over = made.gae, made.white, blocks["advantage.done"], blocks["advantage.terminated"]
    return [
        checks.in_range("actions", blocks["actions"], 0, blocks["count.actions"] - 1, use),
        checks.is_0_or_1("done", done, over, use=use),
        below("check.terminated", done, over, use),
        checks.sums_to_one("old", blocks["old.p"], use),
        checks.sums_to_one("new", blocks["policy.p"], use),
        checks.not_negative("k3", blocks["policy_kl.k3"], use),
        checks.adds_up(gae.advantages, gae.V, gae.returns, use),
        checks.centred(white.whitened, white.of.counting, use),
        checks.parts_add_up(made.total.parts, made.total.total),
        checks.all_in_range(chosen),
        checks.as_built(chosen.used["value_norm"], built, use),
    ]


def _typed(numbers: Numbers) -> dict[str, object]:
    """Lists what is given; the value after the last step stands in the end column of the old values."""
    return {name: numbers[f"rollout.{name}"] for name in ("rewards", "done", "terminated")} | {
        "actions": np.array(numbers["rollout.actions"], dtype=float),
        "values.old": np.column_stack([numbers["rollout.values_old"], numbers["rollout.next_values"]]),
        "values.new": numbers["rollout.values_new"],
        "old.logits": numbers["rollout.logits_old"],
        "policy.logits": numbers["rollout.logits_new"],
    }


SAYS = Says(
    (
        "PPO as in games and control: several environments run side by side, rewards are given, and an episode may end anywhere.",
        "A column is one step of one environment, on every sheet. A row is a quantity with one formula from end to end.",
        "Type into cream cells; everything else follows. On Inputs one picks a library: CleanRL, Stable-Baselines3, TorchRL, rlax.",
    ),
    "Beside each value stands what it is a mean or a sum of, over all steps of all environments; its link leads to the row.",
    heading="Classic PPO by hand",
    legend=(
        *(sample for sample in LEGEND if sample.role not in ("weights", "memory", "probability") and not sample.faded),
        Sample("0.4321", "formula", "probability", "lilac: probabilities of the actions"),
    ),
    signs=(
        "end: after the last step · Σ: one number for the environment · batch: one number for all environments",
        "n: environment · t: step · a: action, by its id from 0 · [t + 1]: the next column · Σ_n,t: sum over all steps",
    ),
)
PARTS = {
    "total loss": ("total_loss", "total_loss"),
    "policy loss": ("policy_loss", "policy_loss"),
    "value loss, weighted": ("adds.value_loss", "adds.value_loss"),
    "entropy bonus, weighted": ("adds.entropy", "adds.entropy"),
}
"""The total loss and the three numbers that add up to it."""
PIECES = {
    "rewards": ("mean.rewards", "rewards"),
    "TD errors": ("mean.td_errors", "td_errors"),
    "GAE advantage estimation": ("advantage.mean", "advantages"),
    "value targets (from the old critic)": ("returns.mean", "returns"),
    "advantage whitening": ("advantage.divisor", "advantages_used"),
    "importance-sampling ratios": ("ratio.mean", "ratio"),
    "clipped surrogate (PPO clip)": ("policy_loss", "surrogate"),
    "value loss": ("value_loss", "value.step_loss"),
    "entropy bonus": ("entropy", "policy.entropy"),
    "approximate KL, k1": ("approx_kl.k1", "approx_kl.k1"),
    "approximate KL, k3": ("approx_kl.k3", "approx_kl.k3"),
    "clip fraction": ("clip_fraction", "clip_fraction.outside"),
    "effective sample size": ("ratio.effective", "ratio.effective"),
    "explained variance, old critic": ("explained_variance.old", "explained_variance.old"),
    "explained variance, new critic": ("explained_variance.new", "explained_variance.new"),
}
"""The pieces of PPO under their usual names: the number that is shown, and the row to which its link leads."""
ORIGINS = {"total loss": TOTAL, "advantage whitening": "what is divided by"}
"""What a number is, where it is no mean of its row."""


def _listed(some: dict[str, tuple[str, str]], blocks: Blocks) -> list[Piece]:
    """Lists pieces that the first sheet shows."""
    return [Piece(title, blocks[name], blocks[row], of=ORIGINS.get(title, "")) for title, (name, row) in some.items()]


def _flow(blocks: Blocks) -> Flow:
    """Draws the way from what is given to the total loss; what enters from elsewhere is named below its box."""

    def box(title: str, name: str) -> Box:
        return Box(title, blocks[name])

    return Flow((
        (box("reward r (given)", "rewards"), ON, box("TD error δ", "td_errors"), ON, box("advantage A", "advantages"), ON,
         box("whitened Â", "advantages_used")),
        (box("value V_old, V(next) (given)", "values.old"), UP, with_("stop", blocks["stop"]), "",
         with_("done", blocks["done"]), DOWN, box("return R", "returns")),
        (box("scores of π_old (given)", "old.logits"), ON, box("log π_old", "old.logprobs"), DOWN),
        (box("scores of π_θ (given)", "policy.logits"), ON, box("log π_θ", "policy.logprobs"), ON, box("ratio ρ", "ratio"), ON,
         box("clipped surrogate", "surrogate"), ON, box("policy loss", "policy_loss"), DOWN),
        ("", DOWN, "", "", "", "", with_("Â", blocks["advantages_used"])),
        ("", "", box("entropy H", "policy.entropy"), DASH, LINE, DASH, LINE, ON, box("mean entropy", "entropy"), ON,
         box("TOTAL LOSS", "total_loss")),
        (box("value V (given)", "values.new"), ON, box("value clipped", "value.clipped"), ON,
         box("larger distance", "value.larger"), ON, box("loss of the step", "value.step_loss"), ON,
         box("value loss", "value_loss"), UP),
        ("", "", with_("V_old", blocks["values.old"]), "", with_("return R", blocks["returns"])),
    ))  # fmt: skip
