"""The levels at which a workbook of GRPO begins: logits, log-probs or rewards of one's own, and prompts that a policy answers."""

from collections.abc import Mapping
from pathlib import Path

from blueprint.inputs import Numbers
from blueprint.language import Axis, Block, Sum, link, typed
from blueprint.page.outline import Blueprint, Line, Note, Row, Section, Sheet, Table, key, minor
from blueprint.workbooks.common import (
    Chosen,
    InView,
    Rows,
    Witnessed,
    checks,
    j,
    k,
    named,
    one,
    rows_on,
    several,
    sheet_of,
)
from blueprint.workbooks.common.conventions import Conventions
from blueprint.workbooks.common.epochs import beside_in, repeated, with_epochs
from blueprint.workbooks.common.rollout import RESPONSE, prompts
from blueprint.workbooks.common.sheets.conventions import chosen_of
from blueprint.workbooks.common.sheets.logprobs import given_logprobs
from blueprint.workbooks.common.sheets.models import new_policy, old_policy, reference, reward_model
from blueprint.workbooks.common.update import TYPED, UPDATE
from blueprint.workbooks.common.workbook import Start, chosen_in
from blueprint.workbooks.grpo.definitions.rewards_and_group_advantages import (
    LABELS,
    answers,
    i,
    n,
    q,
    rules,
    same_prompt,
    scores,
    t,
    v,
)
from blueprint.workbooks.grpo.schema import (
    HIGHEST_DRAW,
    LEARN,
    LOWEST_DRAW,
    PROMPTS,
    RESPONSES,
    ROLLOUTS,
    TYPED_RESPONSES,
    grpo_presets,
    presets_of,
    presets_of_given,
)
from blueprint.workbooks.grpo.sheets import MODELS, inputs_sheet, model_sheet, places, responses, texts
from blueprint.workbooks.grpo.workbook import MOVED, whole


def logits_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of GRPO from logits and scores; with a witness's numbers if there are any."""
    given = dict(texts())
    inputs, head = inputs_sheet(given), InView(given["word_written"], given["response.tokens"])
    models = {name: model_sheet(name, given, head) for name in MODELS}
    for _, rows in models.values():
        given |= rows
    size = RESPONSES.sizes(numbers)
    start = Start(
        numbers=numbers,
        chosen=chosen_in(numbers, presets_of_given()),
        given=given,
        head=head,
        sheets=(inputs, *(sheet for sheet, _ in models.values())),
        sizes={**_of_groups(size), t: size["position"], v: size["token"]},
        names={v: given["vocabulary"], q: given["prompt"]},
        checked=(checks.is_0_or_1("mask", given["mask"]),),
        typed=RESPONSES.typed(numbers),
        ranges={"mask": (0, 1), "truncated": (0, 1)},
        words=("word_written",),
    )
    return whole(start, witnessed)


def _of_groups(size: Mapping[str, int]) -> dict[Axis, int]:
    """Counts prompts, the responses to each, and all responses."""
    return {q: size["prompt"], i: size["response"] // size["prompt"], n: size["response"]}


def rollouts_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of GRPO from rewards and log-probs; with a witness's numbers if there are any."""
    texts = responses()
    head = InView(texts["word_written"], texts["response.tokens"])
    said, rows, unseen = given_logprobs(Path(__file__).parent, numbers.parts, head, LABELS)
    size = ROLLOUTS.sizes(numbers)
    start = Start(
        numbers=numbers,
        chosen=chosen_in(numbers, presets_of(numbers.parts)),
        given={**texts, **rows},
        head=head,
        sheets=(inputs_sheet(texts), said),
        sizes={**_of_groups(size), t: size["position"]},
        names={q: texts["prompt"]},
        checked=(checks.is_0_or_1("mask", texts["mask"]),),
        typed=ROLLOUTS.typed(numbers),
        ranges={"mask": (0, 1), "truncated": (0, 1)},
    )
    return whole(start, witnessed, unseen=unseen)


LEAD_PROMPTS = (
    "everything typed that is not a weight or a draw: the prompts, once for each response, and the right answers"
)
SAME = "The responses to a prompt stand side by side: type the same prompt above each of them."
FIRST_WORD = "The first token ends a text. Tokens must differ by more than capitals; no * ? ~ in a token."
TWICE = "The engine holds the weights of the old policy, but computes in its own way: by so much its log-probs differ."
RULES = (
    "A verifiable reward: nobody judges, a rule does. Pick on Conventions whether the rules, the typed score or the reward",
    "model gives the score.",
)


AGAIN = ("Policy", "Groups", "Ratio", "Rollout", "Loss", "Diagnostics")
"""Sheets on which something hangs on the policy; on Groups it is how many tokens of a prompt count."""
EPOCHS = repeated(tuple(LEARN), AGAIN, MOVED.of, beside_in(Path(__file__).parent))


def weights_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of GRPO from prompts, draws, weights and rules, with the steps of an optimiser where there are any.

    witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks.
    """
    without = () if numbers[UPDATE].by == TYPED else ("update_step",)
    chosen = chosen_of(numbers.ppo, Conventions(True, numbers["preset"]), without, grpo_presets())
    given = _given_prompts(TYPED_RESPONSES in numbers.parts)
    models, head, rows = _models(given, chosen)
    engine, rows = _engine(head, rows)
    judged, rows = _rewards(head, rows, chosen)
    codes, apart = same_prompt(given)
    low, high = given["rollout.draw.low"], given["rollout.draw.high"]
    length = (given["max_new_tokens"], given["max_new_tokens.low"], given["max_new_tokens.high"])
    most, size = numbers["sizes.max_new_tokens"], PROMPTS.sizes(numbers)
    columns = max(map(len, numbers["text.prompts"])) + most
    start = Start(
        numbers=numbers,
        chosen=chosen,
        given=rows,
        head=head,
        sheets=(_inputs_of_prompts({**given, **codes}, length), *models, engine, judged),
        sizes={**_of_groups(size), t: columns, v: size["token"], k: size["embedding"], j: size["hidden"]},
        names={k: "x{}", j: "h{}", one: "1", v: given["vocabulary"], q: "prompt {}"},
        checked=(
            checks.no_gap(given["is_given"]),
            checks.not_empty(given["is_given"]),
            checks.in_range("draws", rows["rollout.draw"], low, high),
            checks.in_range("length", *length),
            apart,
        ),
        typed=PROMPTS.typed(numbers),
        ranges={"max_new_tokens": (1, most), "rollout.draw": (LOWEST_DRAW, HIGHEST_DRAW)},
        words=("given", "answer", *((RESPONSE,) if RESPONSE in given else ())),
    )
    placed = (
        *several(rows, "answer.id", "answer.placed"),
        *several(codes, "prompt.column", "prompt.group", "prompt.largest", "prompt.apart"),
    )
    made = whole(start, witnessed, placed, (1, len(numbers["text.prompts"][0])))
    return with_epochs(made, numbers[UPDATE], EPOCHS)


def _given_prompts(with_responses: bool) -> dict[str, Block]:
    """Makes what is typed besides weights and draws, by name."""
    answer = typed("answer", (q,), "answer", "right answer to the prompt", text=True)
    greedy = typed("greedy", (q,), "score_g", "score of the greedy response to the prompt", decimals=2)
    score = typed("score.typed", (n,), "score_typed", "score that somebody gave", decimals=2)
    return {**prompts(with_responses), **named(answer, greedy, score), **places()}


def _models(given: Rows, chosen: Chosen) -> tuple[list[Sheet], InView, Rows]:
    """Runs the policies that write and read, and the reward model: their sheets, the rows in view, every row so far."""
    old = old_policy(given)
    rows = {**given, **rows_on(old)}
    head = InView(rows["word_written"], rows["mask"], rows["word_read"])
    read = [reference(head, rows, None), reward_model(head, rows, "judge.score")]
    rows |= rows_on(*read)
    new = new_policy(head, rows, chosen.settings.used.get("update_step"), None)
    return [old, *read, new], head, {**rows, **rows_on(new)}


def _engine(head: InView, rows: Rows) -> tuple[Sheet, Rows]:
    """Lays what the generation engine says of the tokens beside what the old policy does."""
    here = head.on("engine")
    off = typed("engine.off", (n, t), "off", "how far the engine's log-prob is from the trainer's", decimals=3)
    old = link("engine.old", rows["old.logprobs"])
    made = LABELS.row("engine.logprobs", here.mask[n, t] * (old[n, t] + off[n, t]))
    section = Section("The log-prob in the engine", (Note(TWICE), off, old, key(made)))
    lead = "the engine that wrote the tokens says of them almost what the old policy does"
    return sheet_of("Engine", lead, (section,), here), {**rows, **named(off, made)}


def _rewards(head: InView, rows: Rows, chosen: Chosen) -> tuple[Sheet, Rows]:
    """Scores every response by rules that one can read."""
    here = head.on("rules")
    written, ends, length = (link(f"rules.{name}", rows[row]) for name, row in
                             (("written", "rollout.written"), ("ends", "rollout.ends"), ("length", "response.length")))  # fmt: skip
    cut = LABELS.each("truncated", 1 - Sum(t, ends[n, t]))
    model = LABELS.each("score.model", Sum(t, rows["judge.score"][n, t]))
    found = {**rows, **answers(rows), **named(cut, model)}
    found |= rules(found, written, here.mask, ends, length, chosen.settings)
    found |= named(scores(found, chosen.settings)) | {"response.tokens": rows["mask"]}
    sections = (
        Section("Is the answer right?",
                (*map(Note, RULES), Table(found["answer"], role="text"), found["answer.of"], written, ends, found["rule.hit"],
                 *several(found, "rule.last", "rule.right.anywhere", "rule.right.at_end"), key(found["rule.right"]))),
        Section("Did it come to an end, and how long is it?",
                (cut, key(found["rule.form"]), length, found["rule.beyond"], key(found["rule.cost"]))),
        Section("The score", (*several(found, "rule.earned", "score.rules"), found["score.typed"], model, key(found["score"]))),
    )  # fmt: skip
    return sheet_of("Rules", "how a response is scored: by rules that anybody can check", sections, here), found


def _inputs_of_prompts(given: Rows, length: tuple[Block, ...]) -> Sheet:
    """Outlines prompts, vocabulary, and which response stands where."""
    counts = tuple(Line((given[f"count.{of}"],), "line") for of in ("prompts", "group", "responses"))
    columns = ("response.number", "response.apart", "response.same")
    sections = (
        Section("Prompts: the tokens that are given",
                (Note(SAME), Row(given["given"], "text"), given["is_given"], given["given_id"],
                 *map(minor, several(given, "prompt.place", "prompt.total")))),
        Section("Length", (Line(length), Line((given["decisions"],))), ("used", "from", "to")),
        Section("Groups", (*counts, Table(given["greedy"]))),
        Section("Vocabulary", (Note(FIRST_WORD), Table(given["vocabulary"], role="text"))),
        Section("Which column is that of which response", tuple(minor(given[name]) for name in columns)),
    )  # fmt: skip
    return Sheet("Inputs", LEAD_PROMPTS, sections, across=(n, t))
