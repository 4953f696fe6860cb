"""The blueprint of classic PPO, from rewards, values and scores of actions to the total loss, and what one watches while
training.
"""

from dataclasses import replace
from typing import NamedTuple

from blueprint.inputs import Numbers
from blueprint.language import Block, link, maximum, typed
from blueprint.page.outline import Blueprint, Note, Row, Sample, Section, Sheet, key
from blueprint.workbooks.classic_ppo.rollout import (
    CALLED,
    CLASSIC,
    FOLDER,
    LEVEL,
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
    EQUAL_RETURNS,
    EVERYWHERE,
    LEGEND,
    LOSS_LEAD,
    PRESET,
    Backward,
    Choices,
    Counting,
    Gae,
    Identity,
    Made,
    Reach,
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
    links_of_loss,
    loss,
    loss_sections,
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
)
from blueprint.workbooks.common.sheets.start import Opening, opening_in

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


def derived(run: Blocks, norm: str, use: Choices) -> Derived:
    """Defines and outlines everything that follows from a rollout; norm: of the value loss."""
    advantage, found, white = _advantage(run, use)
    loss, total = _loss({**run, **rows_on(advantage)}, norm, use)
    watched = _diagnostics({**run, **rows_on(advantage, loss)}, use)
    return Derived((advantage, loss, watched), found, white, total)


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
    given = links_of_loss({name: known[here] for name, here in OF_LOSS.items()})
    made = loss({**given, "policy.entropy": entropy("policy", p_log_p, use=use)}, use, norm=norm, shared=False)
    outline = loss_sections(made, note=NORMS[norm], spread=(p_log_p,))
    return Sheet("Loss", LOSS_LEAD, tuple(outline), (n, t), head(known, "loss")), made.total


def _diagnostics(known: Blocks, use: Choices) -> Sheet:
    """Defines and outlines the metrics."""
    over = Counting(EVERYWHERE, known["count"], known["count"])
    tiny = typed("rounding", (), "tiny", "what is smaller is mere rounding", decimals=12)
    repeated = {name: link(f"diagnostics.{own}", known[name]) for name, own in LINKED.items()}
    d = repeated["log_ratio"]
    kl = policy_kl(d, d, use)
    means = (key(mean(f"approx_kl.{name}", x, over, use)) for name, x in (("k1", kl.k1), ("k3", kl.k3)))
    outline = (
        Section("Approximate KL of the update", (d, *kl.steps, *means)),
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
    made = derived(rows_on(run), norm, use)
    blocks = rows_on(run, *made.sheets)
    opening = _opening()
    parts, pieces = (opening.listed(some, blocks) for some in (opening.parts, opening.pieces))
    residuals, known = (
        _residuals(blocks, made, chosen, built, use),
        identities(made.gae, blocks["advantage.rewards"], use),
    )
    shown = [each.shown for each in (*parts, *pieces)]
    checked, verdict, tolerances = checks_sheet(head(blocks, "checks"), residuals, known, witnessed, shown)
    facts = facts_of(numbers.name, "classic") | {"preset": preset.name}
    first = start_sheet(
        Made(numbers.title, numbers.about, facts, opening.says), parts, pieces, opening.map(blocks), verdict
    )
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
    ).with_typed(LEVEL.typed(numbers))


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


def _opening() -> Opening:
    """Reads what the first sheet says; no row of this kind is of a network."""
    found = opening_in(FOLDER)
    own = (sample for sample in LEGEND if sample.role not in ("weights", "memory", "probability") and not sample.faded)
    actions = Sample("0.4321", "formula", "probability", "lilac: probabilities of the actions")
    return replace(found, says=found.says._replace(legend=(*own, actions)))


MOVED = Backward(
    policy=(("policy.logits",),),
    critic=(("values.new",),),
    called={**CALLED, "policy.written": "actions", "critic.values": "values.new"},
)
