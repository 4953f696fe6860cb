"""The whole blueprint: from prompts and weights to the total loss."""

from blueprint.language import Axis, Block, Operand
from blueprint.page.outline import Blueprint, Line, Note, Row, Section, Sheet, Table
from blueprint.workbooks.common import (
    EQUAL_RETURNS,
    PRESET_DEFAULT,
    InView,
    Rows,
    Witnessed,
    checks,
    chosen_of,
    j,
    k,
    n,
    named,
    one,
    rows_on,
    settings,
    settings_sections,
    t,
    v,
)
from blueprint.workbooks.common.epochs import TYPED
from blueprint.workbooks.common.rollout import RESPONSE, block_name, padded, prompts
from blueprint.workbooks.common.sheets.critics import new_critic, old_critic, reward_model
from blueprint.workbooks.common.sheets.policies import new_policy, old_policy, reference
from blueprint.workbooks.rlhf_ppo.epochs import with_epochs
from blueprint.workbooks.rlhf_ppo.inputs.result import WeightNumbers
from blueprint.workbooks.rlhf_ppo.minibatches import first, places_differ, places_of, ranges_of, steps_of
from blueprint.workbooks.rlhf_ppo.slope import explained
from blueprint.workbooks.rlhf_ppo.steps import Models
from blueprint.workbooks.rlhf_ppo.whole import Start, whole

NAMES: dict[Axis, Block | str] = {k: "x{}", j: "h{}", one: "1"}
LOWEST_DRAW, HIGHEST_DRAW = 0.01, 0.99
LEAD = "everything typed that is not a weight or a draw; weights and draws stand on the sheets of their models"
OF_THE_POLICY = (
    "In the default example it is rounded to four numbers: tokens with Â > 0 become likelier, and those with Â < 0 less likely.",
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
    steps = steps_of(numbers.update, places)
    draws = (rows["rollout.draw"], given["rollout.draw.low"], given["rollout.draw.high"])
    length = (given["max_new_tokens"], given["max_new_tokens.low"], given["max_new_tokens.high"])
    start = Start(
        numbers=numbers,
        settings=chosen,
        live=live,
        models=models,
        inputs=inputs_sheet([] if live else settings_sections(chosen), given, length, tuple(places)),
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
        typed=_typed(numbers) | {each.name: row for each, row in places.items()},
        ranges={"max_new_tokens": (1, most), "rollout.draw": (LOWEST_DRAW, HIGHEST_DRAW)} | ranges_of(places),
        words=[name for name in ("given", RESPONSE) if name in given],
        first=len(numbers.prompts[0]),
        facts={"seed": str(numbers.seed)},
        minibatch=first(numbers.update, steps, rows["mask"]),
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


def inputs_sheet(
    settings: list[Section], given: Rows, length: tuple[Block, ...], places: tuple[Block, ...] = ()
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
    return Sheet("Inputs", LEAD, sections, across=(n, t))


def _sizes(numbers: WeightNumbers) -> dict[Axis, int]:
    """Reads how many episodes, positions, tokens and dimensions there are."""
    embedding, memory = numbers.weights["old.E"].shape[1], numbers.weights["old.W"].shape[1]
    return {n: len(numbers.prompts), t: numbers.draws.shape[1], v: len(numbers.vocabulary), k: embedding, j: memory}


def _typed(numbers: WeightNumbers) -> dict[str, object]:
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
