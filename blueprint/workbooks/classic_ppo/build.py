"""The blueprint of classic PPO, from rewards, values and scores of actions to the total loss, and what one watches while
training.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Block, link, maximum, typed
from blueprint.page.outline import Blueprint, Box, Flow, Note, Piece, Row, Sample, Section, Sheet, key
from blueprint.workbooks.classic_ppo.rollout import (
    CALLED,
    CLASSIC,
    Blocks,
    a,
    choices_of,
    classic_presets,
    head,
    inputs,
    n,
    rollout,
    t,
)
from blueprint.workbooks.common import (
    DASH,
    DOWN,
    EQUAL_RETURNS,
    EVERYWHERE,
    LEGEND,
    LINE,
    ON,
    PRESET,
    TOTAL,
    UP,
    Backward,
    Choices,
    Counting,
    Gae,
    Identity,
    Made,
    Reach,
    Says,
    Settings,
    Total,
    Whitened,
    Witnessed,
    below,
    checks,
    checks_sheet,
    effective_sample_size,
    entropy,
    explained_variance,
    facts_of,
    gae,
    identities,
    largest,
    loss,
    loss_sheet,
    mean,
    means_of,
    outside,
    policy_kl,
    preset_table,
    residual,
    rows_on,
    settings,
    spread,
    start_sheet,
    statistics,
    whitened_advantages,
    with_,
)

LEAD_ADVANTAGE = (
    "from rewards and values to a learning signal for every step; nothing reaches back over the end of an episode"
)
STOPS = "Two things reach back from the next column: its value, unless stop is 1, and its advantage, unless done is 1."
RIGHT_TO_LEFT = (
    "Read from right to left: the last A is δ, each earlier one adds γλ of its neighbour, unless the episode ended."
)
NORMS = {
    "l2": "The distance is the square. Smooth L1 (TorchRL's default) has other rows: they are laid out when a file is built.",
    "smooth_l1": "The distance is smooth L1, as TorchRL has it. The square has other rows: they are laid out when a file is built.",
}
CRITICS = {
    "old": "Explained variance: did the old critic foresee the returns?",
    "new": "The same of the new critic (TorchRL)",
}
"""The critics, and the title under which each is asked what it foresaw."""


OF_LOSS = {
    **{name: name for name in ("policy.logprobs", "old.logprobs", "advantages_used", "returns")},
    **{"critic.values": "values.new", "old_critic.values": "values.old", "response.words": "count"},
}
"""What the loss is made of: by its name in RLHF what it is called here."""


class Derived(NamedTuple):
    """The sheets Advantage, Loss and Diagnostics, and what the checks read of them besides single blocks."""

    sheets: tuple[Sheet, Sheet, Sheet]
    gae: Gae
    white: Whitened
    total: Total


def derived(run: Sheet, norm: str, use: Choices) -> Derived:
    """Defines and outlines everything that follows from a rollout; norm: of the value loss."""
    advantage, found, white = _advantage(rows_on(run), use)
    loss, total = _loss(rows_on(run, advantage), norm, use)
    return Derived((advantage, loss, _diagnostics(rows_on(run, advantage, loss), use)), found, white, total)


def _advantage(run: Blocks, use: Choices) -> tuple[Sheet, Gae, Whitened]:
    """Defines and outlines TD error, advantage, return and whitening."""
    heads = _, done = head(run, "advantage")
    r, V = link("advantage.rewards", run["rewards"]), link("advantage.values", run["values.old"])
    over, N = link("advantage.terminated", run["terminated"]), run["count"]
    stop = use.row("stop", use.switch["bootstrap"].choose(done=done[n, t], terminated=over[n, t]))
    made = gae(r, V, Reach(stop=stop, done=done), use)
    of = statistics("advantage", made.advantages, Counting(EVERYWHERE, N, maximum(N - 1, 1)), use)
    white = whitened_advantages(made.advantages, of, use)
    outline = (
        Section("Where the future stops", (Note(STOPS), over, key(stop))),
        Section("TD error: the reward and what comes after, less what was expected", (r, V, key(made.td_errors))),
        Section("Advantage (GAE)", (Note(RIGHT_TO_LEFT), key(made.advantages))),
        Section("Return: what the critic is trained towards", (key(made.returns),)),
        Section(
            "Whitening: mean 0 and variance 1 over all steps",
            (of.mean, of.centred, of.variance, *of.divisors, white.whitened, key(white.used)),
        ),
    )
    return Sheet("Advantage", LEAD_ADVANTAGE, outline, (n, t), heads), made, white


def _loss(known: Blocks, norm: str, use: Choices) -> tuple[Sheet, Total]:
    """Defines and outlines ratio, clip, value loss and entropy of every step, their means, and the total."""
    p_log_p = link("loss.p_log_p", known["policy.p_log_p"])
    given = loss_sheet.linked({name: known[here] for name, here in OF_LOSS.items()})
    made = loss({**given, "policy.entropy": entropy("policy", p_log_p, use=use)}, use, norm=norm, shared=False)
    outline = loss_sheet.sections(made, note=NORMS[norm], spread=(p_log_p,))
    return Sheet("Loss", loss_sheet.LEAD, tuple(outline), (n, t), head(known, "loss")), made.total


def _diagnostics(known: Blocks, use: Choices) -> Sheet:
    """Defines and outlines the metrics."""
    over = Counting(EVERYWHERE, known["count"], known["count"])
    tiny = typed("rounding", (), "tiny", "what is smaller is mere rounding", decimals=12)
    repeated = {name: link(f"diagnostics.{own}", known[name]) for name, own in LINKED.items()}
    outline = (
        _approximate_kl(repeated["log_ratio"], over, use),
        *_clipped(repeated, known["ratio.clipped"], tiny, over, use),
        *_foreseen(repeated, tiny, over, use),
        Section("Means shown on Start", tuple(means_of([known["rewards"], known["td_errors"]], over).values())),
    )
    return Sheet(
        "Diagnostics",
        "what one watches while training; none of it enters the loss",
        outline,
        (n, t),
        head(known, "diagnostics"),
    )


LINKED = {
    "values.old": "V_old",
    "values.new": "V_new",
    "log_ratio": "log_ratio",
    "ratio": "ratio",
    "value.clipped": "value_clipped",
    "returns": "returns",
}
"""What the metrics are made of, and what it is called where the sheet repeats it."""


def _approximate_kl(d: Block, over: Counting, use: Choices) -> Section:
    """Estimates how far the update moved the policy."""
    kl = policy_kl(d, d, use)
    means = (key(mean(f"approx_kl.{name}", x, over, use)) for name, x in (("k1", kl.k1), ("k3", kl.k3)))
    return Section("Approximate KL of the update", (d, *kl.steps, *means))


def _clipped(repeated: Blocks, clipped_ratio: Block, tiny: Block, over: Counting, use: Choices) -> tuple[Section, ...]:
    """Counts the steps that a clip holds, and looks at the ratios as weights.

    tiny: programs do not round alike: 0.9 − 0.7 is more than 0.2 to one of them and not to another.
    """
    ratio, V_new, held = (repeated[name] for name in ("ratio", "values.new", "value.clipped"))
    moved = outside("clip_fraction.outside", ratio, clipped_ratio, use, tiny)
    shifted = outside("value_fraction.outside", V_new, held, use, tiny)
    weights = (mean("ratio.mean", ratio, over, use), largest("ratio.largest", ratio, use))
    effective = effective_sample_size("ratio.effective", ratio, over, use)
    return (
        Section("Clip fraction", (Row(tiny, "fixed"), ratio, moved, key(mean("clip_fraction", moved, over, use)))),
        Section(
            "Clip fraction of the values (TorchRL)",
            (V_new, repeated["values.old"], held, shifted, key(mean("value_fraction", shifted, over, use))),
        ),
        Section("The ratios as weights of the steps", (*weights, key(effective))),
    )


def _foreseen(repeated: Blocks, tiny: Block, over: Counting, use: Choices) -> tuple[Section, ...]:
    """Asks how much of the returns' variance each critic foresaw."""
    R = repeated["returns"]
    returns = spread("returns", R, over, use)
    outline = [Section("How much the returns vary", (R, *returns))]
    for whose, title in CRITICS.items():
        missed, of_missed = residual(f"residual.{whose}", R, repeated[f"values.{whose}"], over, use)
        share = explained_variance(f"explained_variance.{whose}", of_missed.variance, returns.variance, tiny, use)
        outline.append(Section(title, (missed, *of_missed, key(share))))
    return tuple(outline)


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


MOVED = Backward(
    policy=(("policy.logits",),),
    critic=(("values.new",),),
    called={**CALLED, "policy.written": "actions", "critic.values": "values.new"},
)
