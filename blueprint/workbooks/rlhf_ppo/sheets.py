"""What sheets of RLHF PPO show: the first one, the metrics of a training step, one position on Walk, and the same batch by the
conventions of several libraries.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import (
    Blueprint,
    Box,
    Entry,
    Item,
    Listed,
    Note,
    Row,
    Section,
    Sheet,
    Step,
    key,
    minor,
)
from blueprint.workbooks.common import (
    ABOUT,
    EVERYWHERE,
    PREFIX,
    Choices,
    Chosen,
    Counting,
    InView,
    Loss,
    Places,
    Preferred,
    Rows,
    Titled,
    any_of,
    below,
    by_name,
    count,
    explained_variance,
    folded,
    largest,
    loss,
    loss_on_walk,
    loss_sections,
    mean,
    means_of,
    metrics_of,
    named,
    per_response,
    preferred,
    residual,
    several,
    sheet_of,
    signal,
    signal_sections,
    size,
    spread,
    titled_sections,
    turned,
    which_sheet,
)
from blueprint.workbooks.common.conventions import LIVE, Values, comparison_in
from blueprint.workbooks.common.sheets.start import Opening, first_of
from blueprint.workbooks.rlhf_ppo.steps import Steps


def averaged_rows(rows: Rows, opening: Opening) -> list[Block]:
    """Returns the rows that the first sheet shows as a mean over the response tokens (shown as `mean.…`)."""
    return [first_of(names, rows) for _, shown, names, *_ in opening.pieces if shown.startswith("mean.")]


ORDER = "In which order to read the epochs"
STEPS = (
    ("epoch 1: the loss", ("policy_loss",), "θ is still θ_old: every ratio is 1 and the policy loss 0, but its gradient is not"),
    ("who pulls", ("policy.logprobs.grad",), "which token pulls; from there back through soft-max and time to the weights"),
    ("the step", ("update1.norm", "update1.1.norm"), "its norm is held to the largest, and the optimiser makes new weights"),
    ("epoch 2, and so on", ("epoch2.ratio", "epoch1.2.ratio"), "the same sheets with these: the ratio leaves 1, clipping begins"),
    ("side by side", ("epochs.policy_loss",), "all steps, a column for each"),
    ("a check", ("slope.verdict",), "does the loss change as its gradients promise?"),
)  # fmt: skip
"""Where to go: what one looks at, the first row of these that there is, and what is to be seen."""


def with_order(made: Blueprint) -> Blueprint:
    """Says on the first sheet in which order the sheets of epochs are read."""
    rows = {each.name: each for each in made.blocks()}
    found = [(title, rows[name], seen) for title, names, seen in STEPS for name in names if name in rows]
    entries = (
        Entry((str(number), title, "", Box("{sheet}", row), "", seen))
        for number, (title, row, seen) in enumerate(found, 1)
    )
    start, *others = made.sheets
    at = 1 + [section.title for section in start.sections].index(ABOUT)
    sections = (*start.sections[:at], Section(ORDER, tuple(entries)), *start.sections[at:])
    return replace(made, sheets=(replace(start, sections=sections), *others))


LEAD = "what one watches while training; none of it enters the loss (no gradient norm: the update is typed)"


class Inputs(NamedTuple):
    """What metrics are made of: all rows by name. over: the response tokens. each: the responses with a token.

    step: the tokens that the loss counts, which are fewer where there are minibatches. live: whether what a library logs follows.
    """

    rows: Rows
    over: Counting
    step: Counting
    each: Counting
    use: Choices
    live: bool


def diagnostics(steps: Steps, use: Choices, opening: Opening) -> Sheet:
    """Defines and outlines the diagnostics, and after them what a library logs."""
    head, length, words = steps.head.on("diagnostics"), steps.rows["response.length"], steps.rows["response.words"]
    wrote = any_of("response.wrote", length[length.axes], use)
    responses = count("response.count", wrote, use)
    over, each = Counting(head.mask, words, words), Counting(EVERYWHERE, responses, responses)
    words = steps.rows.get("minibatch.words", words)
    step = Counting(steps.rows.get("minibatch.mask", head.mask), words, words)
    see = Inputs({**steps.rows, **named(wrote, responses)}, over, step, each, use, bool(steps.metrics))
    means = means_section(means_of(averaged_rows(steps.rows, opening), step))
    return sheet_of("Diagnostics", LEAD, (*(outline(see) for outline in OUTLINE), means, *steps.metrics), head)


def _clip_fractions(see: Inputs) -> Section:
    shares = {"clip_fraction.loss": "clip_fraction.changed", "clip_fraction.ratio": "clip_fraction.outside"}
    return Section("Clip fraction (which tokens: see Loss)", (*_means(see, shares), *_held_values(see)))


def _held_values(see: Inputs) -> tuple[Row | Block, ...]:
    """Flags the tokens whose value the value clip holds, and averages them; a library's own clip fractions have both."""
    if see.live:
        return ()
    held = below("value.held_counts", see.rows["value.square"], see.rows["value.square_clipped"], see.use)
    return held, key(mean("clip_fraction.value", held, see.step, see.use))


def _approximate_kl(see: Inputs) -> Section:
    estimates = {"approx_kl.k1": "policy_kl.k1", "approx_kl.k3": "policy_kl.k3"}
    return Section("Approximate KL of the update", _means(see, estimates))


def _means(see: Inputs, of: dict[str, str]) -> tuple[Row, ...]:
    return tuple(key(mean(name, see.rows[row], see.step, see.use)) for name, row in of.items())


def _per_response(see: Inputs) -> Section:
    rows, use = see.rows, see.use
    linked = {"kl": "kl.used", "score": "score", "penalty": "reward.penalty"}
    kl, score, penalty = (link(f"diagnostics.{name}", rows[row]) for name, row in linked.items())
    total = per_response("kl.response", kl, use, see.over.counted)
    scores, costs = per_response("score.response", score, use), per_response("non_score.response", penalty, use)
    items = (
        (kl, key(mean("kl.per_word", kl, see.over, use))),
        (total, rows["response.wrote"], rows["response.count"], key(mean("kl.per_response", total, see.each, use))),
        (score, scores, key(mean("score.mean", scores, see.each, use))),
        (penalty, costs, key(mean("non_score_reward", costs, see.each, use))),
    )
    return Section("KL to the reference and reward", tuple(item for group in items for item in group))


def _lengths(see: Inputs) -> Section:
    length = see.rows["response.length"]
    average = mean("response.mean_length", length, see.each, see.use)
    return Section("Length of the responses", (average, key(largest("response.longest", length, see.use))))


def _sizes(see: Inputs) -> Section:
    A = link("diagnostics.advantages", see.rows["advantages"])
    sizes = size("advantage.abs", A, see.use)
    return Section("Size of the advantages", (A, sizes, key(mean("advantage.mean_abs", sizes, see.over, see.use))))


def _foreseen(see: Inputs) -> Section:
    V, R = (link(f"diagnostics.{name}", see.rows[name]) for name in ("values", "returns"))
    floor = see.rows["explained_variance.floor"]
    returns, (missed, of_missed) = (
        spread("returns", R, see.over, see.use),
        residual("value.residual", R, V, see.over, see.use),
    )
    share = explained_variance("explained_variance", of_missed.variance, returns.variance, floor, see.use)
    title = "Explained variance: did the old critic foresee the returns?"
    return Section(title, (R, *returns, V, missed, *of_missed, Row(floor, "fixed"), key(share)))


OUTLINE: tuple[Callable[[Inputs], Section], ...] = (
    _clip_fractions,
    _approximate_kl,
    _per_response,
    _lengths,
    _sizes,
    _foreseen,
)
"""The sections, in order; what a function of `common/definitions/metrics.py` makes is shown where one of these names it."""


def means_section(means: dict[str, Block]) -> Section:
    """Outlines means for the first sheet."""
    return Section("Means over the response tokens, shown on Start", tuple(means.values()))


POLICIES = {"old policy": "old", "reference": "reference", "new policy": "policy"}
SIGNAL = {
    "Reward": ("kl.k1", "kl.k2", "kl.k3", "kl.used", "reward.penalty", "rewards"),
    "Advantage": (
        "td_errors", "advantages", "returns",
        "advantage.mean", "advantage.centred", "advantage.variance", "advantage.whitened", "advantages_used",
    ),
}  # fmt: skip
"""The steps to the reward and the advantage of one token."""
LIVE_SIGNAL = {
    "Where things are counted": ("slots", "response", "kept"),
    "KL to the reference": (
        "kl.free", "kl.held", "kl.k1", "kl.abs", "kl.k2", "kl.k3", "kl.chosen", "kl.clamped", "kl.used",
    ),
    "Reward": (
        "score.place", "score.placed", "kl.support", "reward.penalty", "rewards.raw", "reward.whitened", "reward.shifted",
        "rewards",
    ),
    "Advantage": ("values.kept", "gae.ahead", "td_errors", "advantages", "returns"),
    "Whitening": (
        "advantage.mean", "advantage.centred", "advantage.variance", "advantage.divisor", "advantage.whitened",
        "advantage.shifted", "advantages_used",
    ),
}  # fmt: skip
"""The same with the steps of every convention, where they are live."""


def walk_sections(rows: Rows, loss: Loss) -> list[Section]:
    """Outlines the whole derivation of one token, from what was read to its share of the loss."""
    value = (rows["critic.out"], rows["critic.values"]) if "critic.memory" in rows else ()
    titled = (*model_sections(rows), *signal_on_walk(rows), *loss_on_walk(loss, value, rows["policy.entropy"]))
    return titled_sections(*titled)


def model_sections(rows: Rows) -> Iterator[Titled]:
    """Outlines how the old policy wrote the token, and what all models say of it, as far as they are run here."""
    a, mask = rows["rollout.written"], rows["mask"]
    logits = {name: rows.get(f"{name}.tempered", rows[f"{name}.logits"]) for name in POLICIES.values()}
    exponentials, p = Listed(rows["old.exponentials"]), Listed(rows["old.p"], adds=True)
    soft = (Listed(logits["old"]), rows["old.top"], exponentials, rows["old.logsumexp"], p)
    every_next = ("Every next token: logits and soft-max", soft)
    if "old.memory" in rows:
        read, h, drawn = rows["rollout.read"], rows["old.memory"], rows["rollout.drawn"]
        embedded = Listed(rows["old.E"], member=read, says="embedding of the token read")
        yield "The token read, and the memory", (read, embedded, Listed(h, by=-1), Step(h, member=0), Listed(h))
        yield every_next
        upto = Step(rows["old.cumulative"], member=drawn)
        yield "The draw, and the token written", (rows["rollout.draw"], upto, drawn, mask, a)
    else:
        yield every_next
        yield "The token written", (mask, a)
    for title, name in POLICIES.items():
        steps = (Step(logits[name], member=a), Step(rows[f"{name}.log_p"], member=a), rows[f"{name}.logprobs"])
        yield f"How likely was the token to the {title}?", steps
    if "reward_model.out" in rows:
        scored, V = Step(rows["reward_model.out"], later=True), (rows["old_critic.out"], rows["old_critic.values"])
        yield "Reward model and old critic", (scored, rows["reward.score"], *V)


def walk_sections_of_signal(rows: Rows) -> list[Section]:
    """Outlines the derivation of one token's advantage, from given log-probs, value and score."""
    given = several(rows, "mask", "old.logprobs", "reference.logprobs", "score", "values")
    return titled_sections(("The position", given), *signal_on_walk(rows))


def signal_on_walk(rows: Rows) -> Iterator[Titled]:
    """Outlines reward and advantage of one token."""
    for title, names in (LIVE_SIGNAL if "slots" in rows else SIGNAL).items():
        yield title, several(rows, *names)


SIDE_BY_SIDE = "the same tokens, log-probs, values and scores by the conventions of several libraries: find the row where they part"
FIXED = "Tokens and log-probs are those of this workbook, the temperature included: what a library samples anew is not shown."
WHERE = "Rows of steps on the way are folded; the sign at the left of a row opens them."
WHICH = "one batch, several answers: what each library computes, what it does differently, and why"
START = {
    **{f"place.{place}": place for place in Places._fields},
    "slots": "S",
    "old.logprobs": "logp_old",
    "reference.logprobs": "logp_ref",
    "policy.logprobs": "logp_new",
    "kl.exact": "kl_old_ref",
    "kl_new.exact": "kl_new_ref",
    "policy_kl.exact": "policy_kl",
    "policy.entropy": "entropy",
    "old_critic.values": "V_old",
    "critic.values": "V_new",
    "score.given": "score",
    "response.slots": "slots",
    "response.length": "length",
    "response.ended": "by_word",
    "response.padded": "by_pad",
    "response.most": "most",
}
"""What every library starts from, and what it is called where it is repeated."""
SHOWN = ("approx_kl.used", "clip_fraction.used", "clip_fraction.value", "ratio.mean", "kl.statistic", "ev.used")
"""Metrics that are listed with the losses."""


def compared(steps: Steps, chosen: Chosen) -> tuple[Sheet, Sheet, Preferred]:
    """Runs every library's conventions over the batch, and sets them side by side; with what each library does."""
    like = preferred(chosen)
    use = like.choices(chosen.settings.switch)
    start = {name: link(f"libraries.{again}", steps.rows[name]) for name, again in START.items()}
    given = {**start, **{name: steps.rows[name] for name in ("mask", "explained_variance.floor")}}
    made = signal(given, use)
    out = loss({**given, **made.rows}, use)
    metrics = metrics_of(out, use)
    outline = (*signal_sections(made), *loss_sections(out))
    libraries = _libraries(start, given["mask"], outline, metrics, steps.head.on("libraries"))
    results = _results(out, metrics)
    return libraries, which_sheet("Which PPO", WHICH, like, results, chosen, "the losses and what is watched"), like


def _libraries(
    start: Rows, mask: Block, outline: tuple[Section, ...], metrics: tuple[Section, ...], head: InView
) -> Sheet:
    """Outlines the rows: what all start from, then every step, of which only the results are unfolded."""
    sections = [Section("What all start from", (Note(FIXED), Note(WHERE), *map(minor, start.values())))]
    placed = {*start.values(), mask}
    for section in outline:
        items = tuple(item for item in map(folded, section.items) if item.block not in placed)
        placed |= {item.block for item in items}
        sections.append(Section(section.title, items))
    logged = tuple(item for section in metrics for item in map(folded, section.items))
    sections.append(Section("What is watched", logged))
    return replace(sheet_of("Libraries", SIDE_BY_SIDE, sections, head, first=0), closed=True)


def _results(out: Loss, metrics: tuple[Section, ...]) -> tuple[Item, ...]:
    """Repeats the numbers of every library, with links to their rows."""
    means, logged = out.total.means, by_name(metrics, PREFIX)
    key_rows = (means["policy_loss"], means["value_loss"], out.total.total)
    others = (
        out.coefficients[0], means["kl_loss"], means["entropy"], *(logged[name] for name in SHOWN),
    )  # fmt: skip
    named = {row: turned(row) for row in (*key_rows, *others)}
    return (*(key(named[row]) for row in key_rows), *(named[row] for row in others))


OF_THE_BATCH = ("update_step", "batch.temperature", "batch.temperature_eps")
KL_LOSS = tuple(key for key in LIVE if key.startswith("loss.kl_"))


def silent(values: Values) -> tuple[str, ...]:
    """Returns the conventions that have no effect: those of the KL in the loss, if no KL is in the loss."""
    return () if values["reward.kl_in"] in ("loss", "both") else KL_LOSS


COMPARISON = comparison_in(Path(__file__).parent, of_the_batch=OF_THE_BATCH, silent=silent)
