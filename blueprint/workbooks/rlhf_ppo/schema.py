"""Numbers files of RLHF PPO at its three levels: weights of models that are run, what models said (three policies' logits, two
critics' values and scores), or log-probs, values and scores of each token; and the same numbers read from a saved workbook.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from blueprint.inputs import (
    LONGEST,
    ROWS,
    Array,
    Draft,
    Level,
    Numbers,
    NumbersError,
    Part,
    Values,
    check_known,
    check_vocabulary,
    padded,
    refusal,
)
from blueprint.inputs.entries import (
    DRAW_HIGH,
    DRAW_LOW,
    Draw,
    Flag,
    LogProb,
    Number,
    Prompt,
    Ratio,
    Response,
    Seed,
    Token,
    Whole,
    Word,
)
from blueprint.workbooks.common.conventions import FOLLOWS, LIVE, PLAIN, PRESET_DEFAULT, Conventions, rlhf
from blueprint.workbooks.common.numbers_file import block_name
from blueprint.workbooks.common.rollout import RESPONSE
from blueprint.workbooks.common.update import ABOUT, TYPED, update_in
from blueprint.workbooks.rlhf_ppo import conventions_and_update, draw
from blueprint.workbooks.rlhf_ppo.conventions_and_update import (
    PARTS,
    TABLES,
    RlhfNumbers,
    WeightNumbers,
    check_plain,
    conventions_of,
    values_of,
)
from blueprint.workbooks.rlhf_ppo.draw import (
    LIMITS,
    SHAPES,
    WEIGHTS,
    Sizes,
    base_of,
    claims_of,
    fitting,
    is_drawn,
    resolved,
)

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved

_SIZES = {
    "vocabulary": "tokens that there are",
    "embedding": "length of x, which stands for a token",
    "hidden": "length of the memory h",
    "episodes": "texts side by side",
    "prompt": "tokens of the longest prompt",
    "max_new_tokens": "tokens a response may have, the end token included",
}
_MODELS = {
    "old": "the policy that wrote the responses",
    "reference": "the frozen policy from which drifting costs",
    "policy": "policy = old + update_step · delta",
    "old_critic": "its values give the advantages and the value targets",
    "critic": "critic = old_critic + update_step · delta",
    "reward_model": "reads the whole text and scores it once, at its last token",
}
_WEIGHTS = {
    "E": "a row per token, a column per number of x",
    "W": "rows: x, h, 1; a column per number of h; h = tanh([x, h before, 1] · W)",
    "Y": "a row per number of h, a column per token; scores = h · Y",
    "w": "a number per number of h; output = h · w + b",
    "b": "the b of w",
}


def _weights(key: str) -> Part:
    """Describe weights of a model, or what an update adds to them."""
    name = key.partition(".")[2]
    letter = name.removeprefix("delta_")
    added = f"what the update adds to {letter}" + (", in its shape" if SHAPES[letter] else "")
    return Part(key, Number, SHAPES[letter], _WEIGHTS[letter] if letter == name else added, None)


def _weight_numbers(draft: Draft) -> WeightNumbers:
    settings, conventions = conventions_of(draft)
    given, seed = _given(draft), draft.parts["seed"]
    sizes = resolved(given, draft.spare)
    parts = fitting(given, sizes, draft.spare)
    vocabulary = parts.get("text.vocabulary") or draw.vocabulary(sizes.vocabulary)
    prompts = parts.get("text.prompts") or draw.prompts(seed, vocabulary, sizes)
    weights = draw.all_weights(seed, parts, sizes)
    return WeightNumbers(
        **draft.head,
        seed=seed,
        vocabulary=tuple(vocabulary),
        prompts=tuple(map(tuple, prompts)),
        max_new_tokens=sizes.max_new_tokens,
        draws=draw.draws(seed, parts.get("rollout.draws"), prompts, sizes),
        ppo=settings,
        conventions=conventions,
        update=conventions_and_update.update_of(draft, len(prompts), conventions.live, weights),
        weights=weights,
        drawn_anew=tuple(key for key in given if key not in parts),
        responses=tuple(map(tuple, parts.get("rollout.responses", ()))),
    )


def _given(draft: Draft) -> Values:
    """Return the given parts that have sizes: texts, draws and weights."""
    return {key: value for key, value in draft.parts.items() if "." in key and not key.startswith("update.")}


def _values(numbers: WeightNumbers) -> Values:
    (words, embedding), hidden = numbers.weights["old.E"].shape, numbers.weights["old.W"].shape[1]
    prompt, responses = max(map(len, numbers.prompts)), numbers.responses
    sizes = Sizes(words, embedding, hidden, len(numbers.prompts), prompt, numbers.max_new_tokens)
    return {
        "seed": numbers.seed,
        **values_of(numbers.conventions),
        **{f"sizes.{name}": value for name, value in vars(sizes).items()},
        "text.vocabulary": numbers.vocabulary,
        "text.prompts": [" ".join(prompt) for prompt in numbers.prompts],
        "rollout.draws": _draws(numbers, sizes),
        # As a string, or, where the draw decides on a word before others, as a list with "" for that word.
        **(
            {"rollout.responses": [" ".join(each) if all(each) else list(each) for each in responses]}
            if responses
            else {}
        ),
        **conventions_and_update.values_of_update(numbers.update),
        **{key: each for key, each in numbers.weights.items() if numbers.update.by == TYPED or "delta_" not in key},
    }


def _draws(numbers: WeightNumbers, sizes: Sizes) -> list[list[float]]:
    """Return the draws of the response words; those of every column, where the seed does not give the others back.

    Somebody may have emptied cells that draw nothing: draws that no file may hold are left to the seed.
    """
    starts = [len(prompt) - 1 for prompt in numbers.prompts]
    drawn = numbers.draws.tolist()
    own = [row[first : first + sizes.max_new_tokens] for row, first in zip(drawn, starts, strict=True)]
    again = draw.draws(numbers.seed, own, [list(prompt) for prompt in numbers.prompts], sizes)
    may_stand = bool(((numbers.draws >= DRAW_LOW) & (numbers.draws <= DRAW_HIGH)).all())
    return drawn if may_stand and not np.array_equal(again, numbers.draws) else own


def _origins(draft: Draft, numbers: WeightNumbers) -> Callable[[str], str | None]:
    given, seed = _given(draft), f"seed {numbers.seed}"
    claims, kept = claims_of(given, draft.spare), given.keys() - set(numbers.drawn_anew)

    def origin(key: str) -> str | None:
        claim = claims.get(key.removeprefix("sizes."))
        if claim and claim.source != key and key.startswith("sizes."):
            return f"told by {claim.source}"
        if key in numbers.drawn_anew:
            return f"drawn anew, {seed}"
        if key in given or not (key in numbers.weights or key in ("text.prompts", "rollout.draws")):
            return None
        if is_drawn(key, kept):
            return seed
        return "no update" if "delta_" in key else f"as {base_of(key)}"

    return origin


def _remarks(numbers: WeightNumbers, key: str) -> Sequence[str]:
    """Comment each row of weights with what it belongs to."""
    memory = [f"h{each}" for each in range(1, numbers.weights["old.W"].shape[1] + 1)]
    embedding = [f"x{each}" for each in range(1, numbers.weights["old.E"].shape[1] + 1)]
    rows: dict[str, Sequence[str]] = {"E": numbers.vocabulary, "W": [*embedding, *memory, "1"], "Y": memory}
    return rows.get(key.rpartition(".")[2].removeprefix("delta_"), ())


WEIGHTS_LEVEL = Level(
    "rlhf_ppo",
    "weights",
    "models are run over prompts",
    parts=(
        Part("seed", Seed, (), "fills whatever is left out", 1),
        *PARTS,
        *(
            Part(f"sizes.{name}", Whole, (), about, None, schema=dict(zip(("minimum", "maximum"), LIMITS[name], strict=True)))
            for name, about in _SIZES.items()
        ),
        Part("text.vocabulary", Word, ("token",), "the first token ends a text; tokens differ by more than capitals", None,
             otherwise="default tokens"),
        Part("text.prompts", Prompt, ("episode",), "an episode each: tokens of the vocabulary, blanks between them", None),
        Part("rollout.draws", Draw, ("episode", "token"),
             "an episode per row, a draw u per response token (or per column of the sheet)", None),
        Part("rollout.responses", Response, ("episode",),
             'tokens that are written whatever the draws say, an episode each; draws go on behind them, and for "" in a list',
             None, ["very very sleepy <eos>", ""]),
        *conventions_and_update.UPDATE_PARTS,
        *map(_weights, WEIGHTS),
    ),
    tables={
        "sizes": "each may be left out where a given part tells it",
        "text": "what is given of each text",
        "rollout": "how the response tokens come about",
        **TABLES,
        "update": ABOUT,
        **_MODELS,
    },
    settings=LIVE,
    presets=rlhf,
    make=_weight_numbers,
    values=_values,
    defaults=PRESET_DEFAULT,
    origins=_origins,
    remarks=_remarks,
)  # fmt: skip


POLICIES = {
    "old": "the policy that wrote the responses",
    "reference": "the frozen policy from which drifting costs",
    "policy": "the policy after the update",
}
CRITICS = {
    "old_critic": "its values give the advantages and the value targets",
    "critic": "the critic after the update",
}
_SLOTS, _TOKENS = ("response", "position"), ("episode", "token")
_PRESET, _CONVENTIONS, _COMPARE = PARTS


def _logit_numbers(draft: Draft) -> RlhfNumbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if a word is not in the vocabulary, or an episode does not exist.
    """
    if draft.parts.get("conventions") == "plain":
        raise NumbersError("conventions: found plain, expected live, the only ones of numbers that begin at logits.")
    settings, conventions = conventions_of(draft)
    parts = draft.fitted()
    words, vocabulary = parts["text.responses"], parts["text.vocabulary"]
    check_vocabulary(vocabulary)
    for row, response in enumerate(words, start=1):
        for item, word in enumerate(response, start=1):
            check_known(f"text.responses, row {row}, item {item}", word, vocabulary)
    end = parts.setdefault("text.end_word", vocabulary[0])
    check_known("text.end_word", end, vocabulary)
    is_end = np.array([[word == end for word in row] for row in words])
    parts.setdefault("text.mask", np.asarray(np.cumsum(is_end, axis=1) - is_end == 0, dtype=float))
    rows = _rows(parts.pop("text.episodes", None), len(words))
    per_response = [part.key for part in LOGITS.parts if part.axes[:1] == ("response",)]
    parts |= {key: np.array(parts[key])[rows] for key in per_response if key != "text.responses"}
    parts["text.responses"] = tuple(words[row] for row in rows)
    head = {key: each for key, each in parts.items() if key not in (part.key for part in PARTS)}
    return RlhfNumbers(**draft.head, ppo=settings, parts=head, conventions=replace(conventions, live=True))


def _rows(episodes: list[int] | None, count: int) -> list[int]:
    """Pick the episodes that the file names, counted from 1; all of them if it names none."""
    chosen = list(range(1, count + 1)) if episodes is None else episodes
    if not chosen or len(set(chosen)) < len(chosen) or not all(1 <= each <= count for each in chosen):
        raise refusal("text.episodes", str(chosen), f"numbers from 1 to {count}, each once")
    return [each - 1 for each in chosen]


LOGITS = Level(
    "rlhf_ppo",
    "logits",
    "no model is run, nothing is drawn",
    parts=(
        _PRESET,
        _CONVENTIONS._replace(schema={"enum": ["live"]}, otherwise="the only ones at this level"),
        _COMPARE,
        Part("text.vocabulary", Word, ("token",), "tokens differ by more than capitals", noun="token",
             block="vocabulary"),
        Part("text.end_word", Word, (), "the token that ends a response; else the first one", None,
             otherwise="first token of text.vocabulary", block="end_word"),
        Part("text.responses", Word, _SLOTS, "an episode per row, a token of the vocabulary per position", noun="token",
             block="word_written"),
        Part("text.mask", Flag, _SLOTS, "1 on the tokens of the response, 0 behind; else up to and including the end token",
             None, otherwise="up to text.end_word", block="mask"),
        Part("text.episodes", list[int], (), "which rows are taken, counted from 1; else all", None, [1]),
        *(
            Part(f"{name}.logits", Number, (*_SLOTS, "token"),
                 "a list per episode: a row per position, a column per token of the vocabulary", block=f"{name}.logits")
            for name in POLICIES
        ),
        *(
            Part(f"{name}.values", Number, _SLOTS, "an episode per row, a column per position", block=f"{name}.out")
            for name in CRITICS
        ),
        Part("reward_model.scores", Number, ("response",), "a number per episode", block="reward_model.score"),
    ),
    tables={"text": "what was written", **TABLES, **POLICIES, **CRITICS, "reward_model": "what it says of each response"},
    settings=LIVE,
    presets=rlhf,
    limits={"response": ROWS, "position": (1, LONGEST), "token": LIMITS["vocabulary"]},
    make=_logit_numbers,
    values=lambda numbers: values_of(numbers.conventions) | dict(numbers.parts),
)  # fmt: skip


def _values_and_end(numbers: Numbers) -> dict[str, Any]:
    """Return the values with what is behind the last column, which is 0 in a numbers file."""
    values = numbers["per_token.values"]
    return {"old_critic.values": padded(values, max(map(len, values)) + 1, 0.0)}


def _plain_numbers(draft: Draft) -> Numbers:
    check_plain(draft.settings)
    return draft.numbers(draft.fitted())


PER_TOKEN = Level(
    "rlhf_ppo",
    "per-token",
    "no model is run, nothing is drawn",
    parts=(
        Part("per_token.words", Token, _TOKENS, "an episode per row, a column per token of the response", noun="token",
             block="word_written"),
        Part("per_token.logprobs_old", LogProb, _TOKENS, "log-probs of the policy that wrote, in the shape of words",
             block="old.logprobs"),
        Part("per_token.logprobs_ref", LogProb, _TOKENS, "log-probs of the reference, in the shape of words",
             block="reference.logprobs"),
        Part("per_token.values", Number, _TOKENS, "the critic's values, in the shape of words", block="old_critic.values"),
        Part("per_token.scores", Number, _TOKENS, "scores, in the shape of words; usually 0 but on the last one",
             block="reward.score"),
        Part("cases.advantages", Number, ("case",), "a number per case", example=[2.0, -2.0], block="case.advantage"),
        Part("cases.ratios", Ratio, ("case",), "a number per case", example=[1.5, 0.5], block="case.ratio"),
    ),
    tables={
        "ppo": TABLES["ppo"],
        "per_token": "what is given for every response token",
        "cases": "may be left out: pairs for the table of the clipped loss",
    },
    optional=("cases",),
    settings=PRESET_DEFAULT,
    accepts={key: setting for key, setting in LIVE.items() if "." not in key},
    limits={"episode": ROWS, "token": (1, LONGEST)},
    ragged=("token",),
    make=_plain_numbers,
    mask="mask",
    more_typed=_values_and_end,
)  # fmt: skip


LIBRARIES = "library.names"
SIZING = {"old.E": 2, "old.W": 2}
"""How many axes the weights have that say how long the vectors are."""


def of_weights(file: "Saved") -> WeightNumbers:
    """Return what is typed in a file that begins at weights, or numbers of its sizes."""
    draws, seed = file.array("rollout.draw", 2), file.file.noted.get("seed", "")
    sizes = WeightNumbers(
        **file.head(),
        seed=int(seed) if seed.isdecimal() and seed.isascii() and len(seed) < 11 else 1,
        vocabulary=file.rows("vocabulary", 1),
        prompts=(("",),) * len(draws),
        max_new_tokens=max(1, int(np.nan_to_num(float(file.file.array("max_new_tokens.high"))))),
        draws=draws,
        ppo=file.settings(FOLLOWS),
        weights={key: file.array(block_name(key), SIZING.get(key)) for key in WEIGHTS if block_name(key) in file},
        update=_update(file),
        conventions=_conventions(file),
        responses=((),) * len(draws) if RESPONSE in file else (),
    )
    return sizes if file.blank else _with_texts(sizes, file)


def _update(file: "Saved") -> conventions_and_update.Update:
    """Return how the new weights come about: by the optimiser that the file says, with the rates that are typed in it."""
    made, said = update_in(file, conventions_and_update.RATES), file.file.noted
    number = int(said.get("minibatches", 1))
    places = [file.array(f"minibatch.place{epoch}", 1) for epoch in range(1, made.epochs + 1) if number > 1]
    order = tuple(tuple(int(each) + 1 for each in np.argsort(row, kind="stable")) for row in places)
    whiten = said.get("whiten", conventions_and_update.BATCH)
    return conventions_and_update.Update(made.by, made.epochs, made.rates, number, order, whiten, kept=made.kept)


def _with_texts(made: WeightNumbers, file: "Saved") -> WeightNumbers:
    """Lay prompts, responses and draws over numbers: as many columns as they need, which may not be those of the sheet."""
    known = _spellings(file)
    prompts = tuple(_prompt(row, at, known, file) for at, row in enumerate(file.rows("given")))
    made = replace(made, prompts=prompts, max_new_tokens=file.whole("max_new_tokens", 0))
    if RESPONSE in file:
        rows = zip(file.rows(RESPONSE), prompts, strict=True)
        slots = (row[len(prompt) - 1 :][: made.max_new_tokens] for row, prompt in rows)
        made = replace(made, responses=tuple(_response(row, made.vocabulary[0], known) for row in slots))
    return replace(made, draws=_columns(made))


def _prompt(row: Sequence[str], at: int, known: Mapping[str, str], file: "Saved") -> tuple[str, ...]:
    """Return the words of a prompt, up to the first empty cell, as the vocabulary spells them."""
    prompt = tuple(known[word.casefold()] for word in takewhile(bool, row))
    if not prompt:
        raise file.refusal("blank, but a prompt has one token at least: type it", "given", (at, 0))
    return prompt


def _response(row: Sequence[str], end: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """Return the typed words, "" where the draw decides, up to the end word or the last one: nothing behind it counts."""
    words = [known[word.casefold()] if word else "" for word in row]
    words = words[: words.index(end) + 1] if end in words else words
    return tuple(words[: max((at for at, word in enumerate(words, start=1) if word), default=0)])


def _columns(made: WeightNumbers) -> Array:
    """Return the typed draws, (episodes, columns), on as many columns as the numbers have.

    What is typed beyond them is left out; a column that the sheet lacks has its draws from the seed.
    """
    sizes = Sizes(episodes=len(made.prompts), prompt=max(map(len, made.prompts)), max_new_tokens=made.max_new_tokens)
    drawn = np.asarray(draw.uniforms(made.seed, sizes))
    width = min(drawn.shape[1], made.draws.shape[1])
    drawn[:, :width] = made.draws[:, :width]
    return drawn


def of_logits(file: "Saved") -> RlhfNumbers:
    """Return what is typed in a file that begins at logits, or numbers of its sizes."""
    known = _spellings(file)
    read = LOGITS.saved(file).parts
    parts = {part.key: read[part.key] for part in LOGITS.parts if part.block}
    parts["text.end_word"] = known.get(parts["text.end_word"].casefold(), "")
    parts["text.responses"] = tuple(tuple(known[word.casefold()] for word in row) for row in parts["text.responses"])
    settings, conventions = file.settings(FOLLOWS), _conventions(file)
    return RlhfNumbers(level="logits", **file.head(), ppo=settings, parts=parts, conventions=conventions)


def of_tokens(file: "Saved") -> Numbers:
    """Return what is typed in a file that begins at log-probs, or numbers of its sizes.

    Rows are as long as the mask reaches: what stands behind it is not part of any response.
    """
    ends = [int(np.flatnonzero(row)[-1]) + 1 if row.any() else 0 for row in file.array("mask", 2)]
    parts = dict[str, Any]()
    for part in PER_TOKEN.parts:
        if len(part.axes) == 1 and part.block in file:
            parts[part.key] = file.array(part.block, 1)
        elif len(part.axes) == 2:
            parts[part.key] = tuple(row[:end] for row, end in zip(file.rows(part.block), ends, strict=True))
    return Numbers(kind="rlhf_ppo", level="per-token", **file.head(), ppo=file.settings(FOLLOWS), parts=parts)


def _spellings(file: "Saved") -> dict[str, str]:
    """Return the words of the vocabulary by their small letters: a sheet does not tell the two apart."""
    return {word.casefold(): word for word in file.rows("vocabulary", 1)}


def _conventions(file: "Saved") -> Conventions:
    """Return the preset in use and the libraries side by side, as the catalogue spells them; all of them go unnamed."""
    if LIBRARIES not in file:
        return PLAIN
    known = {name.casefold(): name for name in rlhf().presets}
    _, *all_others = known.values()
    names = tuple(known.get(word.casefold(), word) for word in file.rows(LIBRARIES, 1))
    return Conventions(True, file.preset(rlhf()), () if names == tuple(all_others) else names)
