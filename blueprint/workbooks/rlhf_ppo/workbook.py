"""The blueprint of RLHF PPO from weights or from logits: what all levels that have a loss share, and how each begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from blueprint.inputs import padded
from blueprint.inputs.catalogue import DEFAULT
from blueprint.language import Axis, Block, Operand, block, link, match, typed
from blueprint.page.outline import Blueprint, Line, Note, Row, Section, Sheet, Table, key
from blueprint.workbooks.common import (
    EQUAL_RETURNS,
    LIVE,
    PRESET_DEFAULT,
    ROWS,
    Choices,
    Chosen,
    Identity,
    InView,
    Made,
    Rows,
    Settings,
    Witnessed,
    charts,
    checks,
    checks_sheet,
    chosen_logprobs,
    chosen_of,
    conventions_in_use,
    conventions_sheet,
    count,
    defined,
    ends_at,
    facts_of,
    fixed,
    identities,
    j,
    k,
    kept_values,
    labels,
    n,
    named,
    naming,
    one,
    per_response,
    presets_sheet,
    rows_on,
    score_stays,
    settings,
    settings_sections,
    sheet_of,
    softmax,
    start_sheet,
    t,
    tempered,
    v,
    walk,
    with_lambda,
)
from blueprint.workbooks.common.numbers_file import block_name
from blueprint.workbooks.common.rollout import RESPONSE, prompts
from blueprint.workbooks.common.sheets.models import (
    NEW,
    REFERENCE,
    new_critic,
    new_policy,
    old_critic,
    old_policy,
    policy_that_reads,
    reference,
    reward_model,
    word_sections,
)
from blueprint.workbooks.common.sheets.start import opening_in
from blueprint.workbooks.common.update import TYPED
from blueprint.workbooks.rlhf_ppo.conventions_and_update import RlhfNumbers, WeightNumbers
from blueprint.workbooks.rlhf_ppo.gradients_and_epochs import explained, with_epochs
from blueprint.workbooks.rlhf_ppo.schema import LOGITS
from blueprint.workbooks.rlhf_ppo.sheets import compared, diagnostics, walk_sections
from blueprint.workbooks.rlhf_ppo.steps import (
    Minibatch,
    Models,
    Steps,
    first_minibatch,
    places_differ,
    places_of,
    ranges_of,
    steps_of,
    taken_by_step,
    with_equations_of_the_page,
)

DRAWN_POLICIES = {"old_policy": "old", "reference": "reference", "new_policy": "policy"}


@dataclass(frozen=True)
class Start:
    """Where a workbook begins: its numbers, settings and models, and the sheet of what is typed.

    live: the conventions, where they can be chosen. first: the position shown on Walk. checked: what must be 0, before and
    after what always must. minibatch: what the loss looks at. By the names of blocks, typed: what stands in them; ranges:
    what may be typed there; words: those that hold words of the vocabulary.
    """

    numbers: RlhfNumbers
    settings: Settings
    live: Chosen | None
    models: Models
    inputs: Sheet
    sizes: Mapping[Axis, int]
    names: Mapping[Axis, Block | str]
    checked: tuple[list[Block], list[Block]]
    typed: Mapping[str, object]
    ranges: Mapping[str, tuple[float, float]]
    words: Sequence[str]
    first: int = 1
    facts: Mapping[str, str] = field(default_factory=dict)
    minibatch: Minibatch | None = None


def whole(start: Start, witnessed: Witnessed | None = None) -> Blueprint:
    """Outlines the workbook; with a witness's numbers if there are any."""
    numbers, chosen, live = start.numbers, start.settings, start.live
    use = Choices(chosen.used, chosen.switch, labels=labels("live")) if live else fixed(chosen, LIVE)
    steps = steps_of(start.models, use, start.minibatch)
    rows, head, total = steps.rows, steps.head, steps.loss.total
    opening = opening_in(Path(__file__).parent)
    metrics = diagnostics(steps, use, opening)
    parts = opening.listed(opening.parts, rows, {"adds.kl_loss"} - rows.keys())
    pieces = opening.listed(opening.pieces, {**rows, **rows_on(metrics)})
    known = identities(steps.signal.estimates, rows["rewards"], use)
    checked, verdict, tolerances = checks_sheet(
        head.on("checks").rows, _residuals(start, steps), known, witnessed, [piece.shown for piece in (*parts, *pieces)]
    )
    picked, first_choice = walk.choice(episode=1, decision=start.first)
    pictures, drawn = charts.charts_sheet(_drawn(steps, chosen, use), head.on("charts").rows)
    made, choices = (
        Made(numbers.title, numbers.about, _facts(start)),
        conventions_in_use(live, opening.shown) if live else (),
    )
    wide = walk.MANY_LINES if live else walk.WIDTHS
    walked = walk.walk_sheet(picked, head.rows[:-1], walk_sections(rows, steps.loss), widths=wide)
    writes = rows["word_written" if "rollout.drawn" in rows else "old.p"]
    first = start_sheet(made, parts, pieces, opening.map({**rows, "writes": writes}), verdict, choices)
    blueprint = Blueprint(
        title=numbers.title,
        sheets=(first, walked, start.inputs, *steps.sheets, metrics, checked, pictures),
        sizes=start.sizes,
        typed=chosen.typed | tolerances | first_choice | drawn,
        names=start.names,
        choices=chosen.choices | {rows[name]: rows["vocabulary"] for name in start.words},
        ranges=chosen.ranges | walk.ranges(picked) | {rows[name]: ends for name, ends in start.ranges.items()},
        facts=made.facts,
        result=total.total,
        parts=total.parts,
        chosen=picked,
        whole="batch",
    ).with_typed(start.typed)
    if live:
        return _with_conventions(blueprint, steps, live, numbers.conventions.compare)
    return blueprint if start.minibatch else with_equations_of_the_page(blueprint)


def _facts(start: Start) -> dict[str, str]:
    """Returns what the workbook says of its own making."""
    numbers = start.numbers
    live = {"preset": numbers.conventions.preset, "conventions": "live"} if start.live else {}
    return facts_of(numbers.name, numbers.level) | dict(start.facts) | live


def _with_conventions(made: Blueprint, steps: Steps, live: Chosen, compare: tuple[str, ...]) -> Blueprint:
    """Adds the sheets of conventions and presets, and those that set libraries side by side. compare: their presets, else all."""
    libraries, which, like = compared(steps, live)
    names = compare or tuple(name for name in live.catalogue.presets if name != DEFAULT)
    start, walked, *sheets, checked, pictures = made.sheets
    before, after = (conventions_sheet(live), presets_sheet(live)), (libraries, which)
    shown = (start, walked, *before, *sheets, *after, checked, pictures)
    return naming(replace(made, sheets=shown), like, live, names)


def _residuals(start: Start, steps: Steps) -> list[Block | Identity]:
    """Lists what must be 0 in every workbook, and what in this one."""
    rows, total, chosen, made = steps.rows, steps.loss.total, start.settings, steps.signal
    first, last = start.checked
    summed = rows["slots"] if "slots" in rows else rows["mask"]
    rests = [checks.ratio_rests(rows["ratio"], chosen.used["update_step"])] if "update_step" in chosen.used else []
    return [
        *first,
        *(checks.sums_to_one(name, rows[f"{policy}.p"]) for name, policy in DRAWN_POLICIES.items()),
        *(checks.not_positive(name, rows[f"{policy}.logprobs"]) for name, policy in DRAWN_POLICIES.items()),
        checks.not_negative("exact_kl", rows["kl.exact"]),
        checks.not_negative("k3", rows["kl.k3"]),
        checks.adds_up(rows["advantages"], rows["values"], rows["returns"]),
        *rests,
        *([checks.shares_add_up(summed, total.share, total.total)] if total.share is not None else []),
        checks.parts_add_up(total.parts, total.total),
        checks.all_in_range(chosen),
        *last,
        *([score_stays(made.counted.kept, made.scored, ROWS)] if made.scored else []),
    ]


def _drawn(steps: Steps, chosen: Settings, use: Choices) -> list[charts.Drawn]:
    """Lists the pictures with the rows from which they are drawn."""
    rows, total, gae = steps.rows, steps.loss.total, steps.signal.estimates
    within = charts.Within.of(rows)
    words, mask, used = rows["word_written"], rows["mask"], rows["advantages_used"]
    bars, below = charts.advantage_picture(words, rows["advantages"], used, mask, within)
    policies = {"π_old": rows["old.p"], "π_ref": rows["reference.p"], "π_θ": rows["policy.p"]}
    added = (*total.parts, total.total)
    return [
        charts.clip_picture(charts.Points(rows["ratio"], used, rows["surrogate"], words, mask), fixed(chosen, LIVE)),
        bars,
        charts.gae_picture(gae, below, with_lambda(gae, use), within),
        charts.next_word_picture(policies, rows["vocabulary"]),
        charts.parts_picture(dict(zip(charts.PARTS[len(added)], added, strict=True))),
    ]


NAMES: dict[Axis, Block | str] = {k: "x{}", j: "h{}", one: "1"}
LOWEST_DRAW, HIGHEST_DRAW = 0.01, 0.99
LEAD_OF_WEIGHTS = (
    "everything typed that is not a weight or a draw; weights and draws stand on the sheets of their models"
)
OF_THE_POLICY = (
    "In the default example four rounded numbers stand for that step: tokens with Â > 0 become likelier, with Â < 0 less likely.",
    "Two numbers more make two exceptions, so that every case of the clip is there: −0.5 takes the second “very” below 0.8, and",
    "0.5 takes the <eos> after “happy” above 1.2. Its cosine with −∂L_policy/∂Y is 0.38; without these two it would be 0.51.",
)
"""What is said of the default's Δ on the sheet Policy."""
ONE_WORD = "One token per column, from the start column on; the policy writes where a cell is empty."
FIRST_WORD = "The first token ends a text. Tokens must differ by more than capitals; no * ? ~ in a token."


def weights_level(numbers: WeightNumbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of RLHF PPO from prompts, draws, weights and settings; with a witness's numbers if there are any."""
    places = places_of(numbers.update)
    given = prompts(bool(numbers.responses)) | named(*places)
    without = () if numbers.update.by == TYPED else ("update_step",)
    live = chosen_of(numbers.ppo, numbers.conventions, without) if numbers.conventions.live else None
    offered = {key: each for key, each in PRESET_DEFAULT.items() if key not in without}
    chosen = live.settings if live else settings(numbers.ppo, offered)
    models = models_of(given, chosen.used.get("update_step"), live and live.temperature)
    rows, most = models.rows, numbers.max_new_tokens
    steps = taken_by_step(numbers.update, places)
    draws = (rows["rollout.draw"], given["rollout.draw.low"], given["rollout.draw.high"])
    length = (given["max_new_tokens"], given["max_new_tokens.low"], given["max_new_tokens.high"])
    start = Start(
        numbers=numbers,
        settings=chosen,
        live=live,
        models=models,
        inputs=weights_inputs_sheet([] if live else settings_sections(chosen), given, length, tuple(places)),
        sizes=_sizes(numbers),
        names=NAMES | {v: given["vocabulary"]},
        checked=(
            [checks.no_gap(given["is_given"]), checks.not_empty(given["is_given"])],
            [
                checks.in_range("draws", *draws),
                checks.in_range("length", *length),
                *([places_differ(next(iter(places)), steps)] if steps else []),
            ],
        ),
        typed=_typed_weights(numbers) | {each.name: row for each, row in places.items()},
        ranges={"max_new_tokens": (1, most), "rollout.draw": (LOWEST_DRAW, HIGHEST_DRAW)} | ranges_of(places),
        words=[name for name in ("given", RESPONSE) if name in given],
        first=len(numbers.prompts[0]),
        facts={"seed": str(numbers.seed)},
        minibatch=first_minibatch(numbers.update, steps, rows["mask"]),
    )
    outline = whole(start, witnessed)
    return outline if numbers.update.by == TYPED else explained(with_epochs(outline, numbers.update, steps))


def models_of(given: Rows, update_step: Block | None, temperature: Operand | None) -> Models:
    """Runs the six models. With a temperature, log-probs and values are taken in every slot, used or not."""
    old = old_policy(given, temperature)
    rows = {**given, **rows_on(old)}
    head = InView(rows["word_written"], rows["mask"], rows["word_read"])
    before = (old, reference(head, rows, temperature), reward_model(head, rows), old_critic(head, rows))
    rows |= rows_on(*before)
    between = (new_policy(head, rows, update_step, temperature, OF_THE_POLICY), new_critic(head, rows, update_step))
    return Models(head, before, between, {**rows, **rows_on(*between)})


def weights_inputs_sheet(
    settings: list[Section], given: Rows, length: tuple[Block, ...], places: tuple[Block, ...]
) -> Sheet:
    """Outlines the sheet where everything is typed that is not a weight or a draw; the settings come first."""
    prompt = (Note(ONE_WORD), Row(given["given"], "text"), given["is_given"], given["given_id"])
    sections = (
        *settings,
        Section("Prompts: the tokens that are given", prompt),
        Section("Length", (Line(length), Line((given["decisions"],))), ("used", "from", "to")),
        *([Section("Minibatches: the order in which an epoch takes the responses", places)] if places else []),
        Section("Vocabulary", (Note(FIRST_WORD), Table(given["vocabulary"], role="text"))),
    )
    return Sheet("Inputs", LEAD_OF_WEIGHTS, sections, across=(n, t))


def _sizes(numbers: WeightNumbers) -> dict[Axis, int]:
    """Reads how many episodes, positions, tokens and dimensions there are."""
    embedding, memory = numbers.weights["old.E"].shape[1], numbers.weights["old.W"].shape[1]
    return {n: len(numbers.prompts), t: numbers.draws.shape[1], v: len(numbers.vocabulary), k: embedding, j: memory}


def _typed_weights(numbers: WeightNumbers) -> dict[str, object]:
    """Lays out texts, draws and weights by the names of their blocks; empty cells follow the last token of a text.

    Of a prompt the start column holds the first token; a response begins where the last token of its prompt is read.
    """
    columns, most = numbers.draws.shape[1], numbers.max_new_tokens
    pairs = zip(numbers.prompts, numbers.responses, strict=False)
    responses = [[""] * (len(prompt) - 1) + list(response) for prompt, response in pairs]
    return {
        "given": padded(numbers.prompts, columns + 1),
        "vocabulary": list(numbers.vocabulary),
        **({RESPONSE: padded(responses, columns)} if responses else {}),
        "rollout.draw": numbers.draws,
        "explained_variance.floor": EQUAL_RETURNS,
        "rollout.draw.low": LOWEST_DRAW,
        "rollout.draw.high": HIGHEST_DRAW,
        "max_new_tokens": most,
        "max_new_tokens.low": 1,
        "max_new_tokens.high": most,
        **{
            block_name(key): weight
            for key, weight in numbers.weights.items()
            if numbers.update.by == TYPED or "delta" not in key
        },
    }


LEAD_OF_LOGITS = "everything typed that is not a logit, a value or a score; those stand on their own sheets"
OLD = "π_old, which wrote the tokens: its logits are given, in every position, used or not"
RAW = "A critic's number is given in every position: some libraries read it behind a response too."


def logits_level(numbers: RlhfNumbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint that begins at logits; with a witness's numbers if there are any."""
    live = chosen_of(numbers.ppo, numbers.conventions, without=("update_step",))
    given = given_texts()
    start = Start(
        numbers=numbers,
        settings=live.settings,
        live=live,
        models=given_models(given, live.temperature),
        inputs=logits_inputs_sheet(given),
        sizes=dict(zip((n, t, v), numbers["old.logits"].shape, strict=True)),
        names={v: given["vocabulary"]},
        checked=([checks.is_0_or_1("mask", given["mask"])], []),
        typed=LOGITS.typed(numbers) | {"explained_variance.floor": EQUAL_RETURNS},
        ranges={"mask": (0, 1)},
        words=("word_written", "end_word"),
    )
    return whole(start, witnessed)


def given_texts() -> dict[str, Block]:
    """Makes the typed tokens of every slot, the typed mask, and what follows from them, by name."""
    vocabulary = typed("vocabulary", (v,), "vocab", "tokens", text=True)
    end_word = typed("end_word", (), "end_word", "the token that ends a response", text=True)
    written = typed("word_written", (n, t), "writes", "token at the position", text=True)
    m = typed("mask", (n, t), "m", "mask: 1 on the response", unit="0 or 1", decimals=0)
    ids = block("rollout.written", (n, t), "a", "id of the token, counted from 0", decimals=0)
    a = defined(ids, match(v, vocabulary[v], written[n, t]))
    end_id = defined(
        block("end_id", (), "end_id", "id of the end token", decimals=0), match(v, vocabulary[v], end_word)
    )
    S = block("slots", (n, t), "S", "1 in every position, padding included", unit="0 or 1", decimals=0)
    S[n, t.last + 1] = 0
    S[n, t] = 1
    is_end, ends = ROWS.rows("rollout.is_end", "rollout.ends")
    ends_at(is_end, ends, a, m, end_id)
    counts = (per_response("response.length", m, ROWS), count("response.words", m, ROWS))
    return named(vocabulary, end_word, end_id, written, m, S, a, is_end, ends, *counts)


def logits_inputs_sheet(given: Rows) -> Sheet:
    """Outlines vocabulary, tokens and mask."""
    vocabulary, end_word, end_id, written, mask, *others = given.values()
    words = (Table(vocabulary, role="text"), Line((end_word,), "line"), Line((end_id,)))
    title = "Tokens of every position, and which of them are the response"
    sections = (Section("Vocabulary", words), Section(title, (Row(written, "text"), Row(mask), *others)))
    return Sheet("Inputs", LEAD_OF_LOGITS, sections, (n, t))


def given_models(given: Rows, temperature: Operand) -> Models:
    """Outlines three policies by their typed logits, and two critics and a reward model by their typed numbers."""
    head = InView(given["word_written"], given["mask"])
    old = _old(given, head, _logits("old", temperature))
    rows = {**given, **rows_on(old)}
    reference, policy = (
        policy_that_reads(part, head, rows, _logits(part.name, temperature)) for part in (REFERENCE, NEW)
    )
    before = (old, reference, _reward_model(head), _critic("old_critic", "old", "Old critic", given, head))
    between = (policy, _critic("critic", "new", "Critic", given, head))
    return Models(head, before, between, {**given, **rows_on(*before, *between)})


def _logits(name: str, temperature: Operand) -> tuple[Block, ...]:
    """Types a policy's logits, and divides them by the temperature."""
    return tempered(name, typed(f"{name}.logits", (n, t, v), "z", "logit of every next token", decimals=2), temperature)


def _old(given: Rows, head: InView, logits: tuple[Block, ...]) -> Sheet:
    """Outlines the old policy: from its logits to the log-probability that is kept."""
    written, S = link("old.written", given["rollout.written"]), link("old.slots", given["slots"])
    words = softmax("old", logits[-1])
    kept = (written, S, words.p_log_p, key(chosen_logprobs("old", words.logp, written, S)))
    sections = (*word_sections(logits, words), Section("The token that was written", kept))
    return sheet_of("Old policy", OLD, sections, head.on("old"))


def _critic(name: str, whose: str, title: str, given: Rows, head: InView) -> Sheet:
    """Outlines a critic by its typed number in every slot."""
    out = typed(f"{name}.out", (n, t), "v", f"{whose} critic's number at the position", decimals=2)
    S = link(f"{name}.slots", given["slots"])
    values = kept_values(ROWS.row(f"{name}.values"), out, S)
    section = Section("The value in every position", (Note(RAW), S, out, key(values)))
    return sheet_of(title, f"what the {title.lower()} says before each token", (section,), head.on(name))


def _reward_model(head: InView) -> Sheet:
    score = typed("reward_model.score", (n,), "RM", "score of the response")
    section = Section("One score for each response", (key(score),))
    return sheet_of(
        "Reward model",
        "what the reward model gave; conventions decide where it lands",
        (section,),
        head.on("reward_model"),
    )
