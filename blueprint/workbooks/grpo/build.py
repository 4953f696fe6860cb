"""The blueprint of GRPO and its family, from logits and scores to the loss."""

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Block
from blueprint.page.outline import Blueprint, Box, Flow, Piece, Row, Section, Sheet, key, minor
from blueprint.workbooks.common import (
    DOWN,
    ON,
    PRESET,
    Choices,
    Chosen,
    InView,
    Made,
    Rows,
    Says,
    Witnessed,
    checks,
    checks_sheet,
    chosen_of,
    conventions_sheet,
    facts_of,
    presets_sheet,
    rows_on,
    start_sheet,
)
from blueprint.workbooks.common.conventions.data import Conventions
from blueprint.workbooks.grpo.definitions.axes import i, n, q, t, v
from blueprint.workbooks.grpo.definitions.steps import FIXED, LABELS
from blueprint.workbooks.grpo.inputs import MODELS, inputs_sheet, model_sheet, texts
from blueprint.workbooks.grpo.schema import TYPED, grpo_presets
from blueprint.workbooks.grpo.steps import Derived, derived

SHEETS = {
    "Rewards": ("from the score of a response to the reward that its group sees", (n, t),
                ("The reward of a response", FIXED, "The KL to the reference, paid as reward")),
    "Groups": ("each response is compared with the others to its prompt: a column per response, prompts side by side", (q, i),
               ("The rewards of each group", "What is subtracted: the baseline", "What is divided by: the spread",
                "The advantage of each response", "Tokens that count, by prompt")),
    "Advantages": ("from the advantage of a response to that of each of its tokens", (n, t), ("The advantage of each token",)),
    "Ratio": ("how the policy in training compares with the one that wrote, and what becomes of the advantage", (n, t),
              ("The ratio", "Ratio times advantage, clipped", "Other objectives")),
    "Rollout": ("how much a token counts whose probability differs between trainer and generation engine", (n, t),
                ("Rollout correction",)),
    "Loss": ("which tokens count, with which weight, and what the loss is made of", (n, t),
             ("What the policy loss leaves out", "What counts", "How tokens are averaged", "The KL to the reference, in the loss",
              "The loss")),
    "Diagnostics": ("what one watches while training; none of it enters the loss", (n, t), ("What one watches",)),
}  # fmt: skip
"""Title, lead, columns and sections of each sheet of steps."""
LOOKED_FOR = (
    "reward.shaped", "kl_old.used", "reward", "group.reward", "group.baseline_used", "group.spread_used", "group.advantage",
    "advantages", "log_ratio", "ratio", "surrogate", "policy.token_loss", "rollout.counts", "loss.counted", "weight.policy.row",
    "kl_new.counts", "policy_loss", "adds.kl_loss", "adds.entropy", "total_loss", "group.share_same",
)  # fmt: skip
"""Rows that one looks for; they are marked."""
PLAIN = ("group.mean", "group.deviation", "group.less_baseline", "surrogate.unclipped", "surrogate.clipped", "ratio.clipped",
         "advantage.response", "policy.counts", "average.length", "clip.low", "clip.high")  # fmt: skip
"""Rows on the way that are not folded."""


def grpo(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
    chosen = chosen_of(numbers.ppo, Conventions(True, numbers["preset"]), of=grpo_presets())
    use = Choices(chosen.settings.used, chosen.settings.switch, labels=LABELS.labels)
    given = dict(texts())
    inputs, head = inputs_sheet(given), InView(given["word_written"], given["response.tokens"])
    models = []
    for name in MODELS:
        sheet, rows = model_sheet(name, given, head)
        models.append(sheet)
        given |= rows
    made = derived(given, use)
    sheets = [*models, *_steps(made, given, head)]
    everything = {**given, **rows_on(*sheets)}
    parts, pieces = _pieces(PARTS, everything), _pieces(PIECES, everything)
    checked, verdict, tolerances = checks_sheet(
        head.on("checks").rows,
        _residuals(everything, made, chosen),
        [],
        witnessed,
        [piece.shown for piece in (*parts, *pieces)],
    )
    facts = facts_of(numbers.name, "groups") | {"preset": numbers["preset"], "conventions": "live"}
    first = start_sheet(
        Made(numbers.title, numbers.about, facts, SAYS), parts, pieces, _flow(everything), verdict, _chosen(chosen)
    )
    responses, positions, tokens = np.shape(numbers["policy.logits"])
    prompts = len(numbers["text.prompts"])
    return Blueprint(
        title=numbers.title,
        sheets=(first, conventions_sheet(chosen, ()), presets_sheet(chosen), inputs, *sheets, checked),
        sizes={
            n: responses,
            t: positions,
            v: tokens,
            q: prompts,
            i: responses // prompts,
            PRESET: len(grpo_presets().presets),
        },
        typed=chosen.settings.typed | tolerances,
        names={v: given["vocabulary"], q: given["prompt"], PRESET: chosen.table.names},
        choices={**chosen.settings.choices, given["word_written"]: given["vocabulary"]},
        ranges={**chosen.settings.ranges, given["mask"]: (0, 1), given["truncated"]: (0, 1)},
        facts=facts,
        result=made.total.total.block,
        parts=tuple(part.block for part in made.total.parts),
        whole="batch",
    ).with_typed(_typed(numbers, prompts))


def _typed(numbers: Numbers, prompts: int) -> dict[str, object]:
    """Lists what is typed by the names of its blocks; the responses to a prompt stand side by side."""
    places = np.arange(1.0, 1 + len(numbers["reward.scores"])).reshape(prompts, -1)
    return {
        "group.response": places,
        "response.number": places.ravel(),
        **{name: _array(numbers[key]) for key, name in TYPED.items()},
    }


def _array(value: object) -> object:
    return np.array(value, dtype=object) if isinstance(value, tuple) else value


def _steps(made: Derived, given: Rows, head: InView) -> list[Sheet]:
    """Outlines the sheets of steps: rows that one looks for are marked, the others folded."""
    sheets = []
    for title, (lead, across, titles) in SHEETS.items():
        sections = tuple(Section(each, tuple(_row(row) for row in made.steps.sections[each])) for each in titles)
        if title == "Groups":
            where = (Row(given["group.response"]), minor(given["response.left"]), minor(given["response.is"]))
            sections = (Section("Which response stands where", where), *sections)
        here = head.on(f"on_{title.lower()}") if across == (n, t) else None
        sheets.append(Sheet(title, lead, sections, across, here.rows if here else (), here.mask if here else None))
    return sheets


def _row(row: Block) -> Row:
    if row.name in LOOKED_FOR:
        return key(row)
    return Row(row) if row.name in PLAIN or not row.axes else minor(row)


def _residuals(rows: Rows, made: Derived, chosen: Chosen) -> list[Block]:
    """Lists what must be 0."""
    return [
        checks.is_0_or_1("mask", rows["mask"]),
        *(checks.sums_to_one(name, rows[f"{name}.p"], LABELS) for name in MODELS),
        *(checks.not_positive(name, rows[f"{name}.logprobs"], LABELS) for name in MODELS),
        checks.parts_add_up([part.block for part in made.total.parts], made.total.total.block),
        checks.all_in_range(chosen.settings),
    ]  # type: ignore[list-item]


PARTS = {
    "total loss": ("total_loss", "total_loss"),
    "policy loss": ("policy_loss", "policy_loss"),
    "KL to the reference, weighted": ("adds.kl_loss", "adds.kl_loss"),
    "entropy bonus, weighted": ("adds.entropy", "adds.entropy"),
}
"""The total loss and the three numbers that add up to it."""
PIECES = {
    "rewards": ("mean.reward", "reward"),
    "equal rewards": ("group.share_same", "group.share_same"),
    "advantages": ("mean.advantage", "advantages"),
    "ratios": ("mean.ratio", "ratio"),
    "clipped below": ("clip.fraction_low", "clip.low"),
    "clipped above": ("clip.fraction_high", "clip.high"),
    "KL to the reference": ("kl.mean_new", "kl_new.counts"),
    "policy loss": ("policy_loss", "policy.token_loss"),
    "entropy": ("entropy", "policy.entropy"),
}
"""The pieces under their usual names: the number that is shown, and the row to which its link leads."""


def _pieces(some: dict[str, tuple[str, str]], rows: Rows) -> list[Piece]:
    return [Piece(title, rows[shown], rows[row]) for title, (shown, row) in some.items()]


def _chosen(chosen: Chosen) -> tuple[Piece, ...]:
    """Lists which conventions are in use, for the first sheet."""
    used = {
        "preset in use": chosen.table.chosen, "baseline": chosen.settings.used["group.baseline"],
        "spread": chosen.settings.used["group.std"], "ratio of": chosen.settings.used["ratio.level"],
        "objective": chosen.settings.used["loss.objective"], "KL": chosen.settings.used["kl.place"],
        "tokens are averaged": chosen.settings.used["loss.aggregation"],
    }  # fmt: skip
    return tuple(Piece(title, block, block, equation=False) for title, block in used.items())


def _flow(rows: Rows) -> Flow:
    """Draws the way from what is given to the loss."""

    def box(title: str, name: str) -> Box:
        return Box(title, rows[name])

    return Flow((
        (box("score (given)", "score"), ON, box("reward r", "reward"), ON, box("in the group", "group.reward"), ON,
         box("less the baseline", "group.less_baseline"), ON, box("advantage A", "group.advantage"), ON, box("of the token Â", "advantages")),
        ("", "", "", "", "", "", "", "", "", "", DOWN),
        (box("log π_θ", "policy.logprobs"), ON, box("log-ratio d", "log_ratio"), ON, box("ratio ρ", "ratio"), ON,
         box("clipped surrogate", "surrogate"), ON, box("loss of the token", "policy.token_loss"), ON, box("POLICY LOSS", "policy_loss")),
        ("", "", "", "", "", "", "", "", "", "", DOWN),
        (box("log π_ref", "reference.logprobs"), ON, box("KL of the token", "kl_new.counts"), ON, box("mean KL", "kl_loss"), ON,
         box("what it adds", "adds.kl_loss"), ON, box("TOTAL LOSS", "total_loss")),
    ))  # fmt: skip


SAYS = Says(
    (
        "GRPO and its family: several responses to each prompt, rewards compared within the group, no critic.",
        "A column is one token of one response, on every sheet but Groups, where it is one response. A row is a quantity.",
        "Type into cream cells; everything else follows. On Conventions one picks a library or a paper.",
    ),
    "Beside each value stands what it is a mean of; its link leads to the row.",
    heading="GRPO by hand",
)
