"""Level "weights" of RLHF PPO: models are run over prompts, and whatever is left out is drawn from the seed."""

from collections.abc import Callable, Sequence

import numpy as np

from blueprint.inputs import Draft, Level, Part, Values
from blueprint.inputs.entries import DRAW_HIGH, DRAW_LOW, Draw, Number, Prompt, Response, Seed, Whole, Word
from blueprint.workbooks.common.conventions.data import LIVE, PRESET_DEFAULT, rlhf
from blueprint.workbooks.common.epochs import ABOUT, TYPED
from blueprint.workbooks.rlhf_ppo.inputs import draw, update
from blueprint.workbooks.rlhf_ppo.inputs.draw import WEIGHTS, base_of, is_drawn
from blueprint.workbooks.rlhf_ppo.inputs.fit import fitting
from blueprint.workbooks.rlhf_ppo.inputs.result import PARTS, TABLES, WeightNumbers, conventions_of, values_of
from blueprint.workbooks.rlhf_ppo.inputs.sizes import LIMITS, SHAPES, Sizes, claims_of, resolved

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


def _numbers(draft: Draft) -> WeightNumbers:
    settings, conventions = conventions_of(draft)
    given, seed = _given(draft), draft.parts["seed"]
    sizes = resolved(given, draft.spare)
    parts = fitting(given, sizes, draft.spare)
    vocabulary = parts.get("text.vocabulary") or draw.vocabulary(sizes.vocabulary)
    prompts = parts.get("text.prompts") or draw.prompts(seed, vocabulary, sizes)
    return WeightNumbers(
        **draft.head,
        seed=seed,
        vocabulary=tuple(vocabulary),
        prompts=tuple(map(tuple, prompts)),
        max_new_tokens=sizes.max_new_tokens,
        draws=draw.draws(seed, parts.get("rollout.draws"), prompts, sizes),
        ppo=settings,
        conventions=conventions,
        update=update.update_of(draft, len(prompts), conventions.live),
        weights=draw.all_weights(seed, parts, sizes),
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
        **update.values_of(numbers.update),
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


LEVEL = Level(
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
        *update.PARTS,
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
    make=_numbers,
    values=_values,
    defaults=PRESET_DEFAULT,
    origins=_origins,
    remarks=_remarks,
)  # fmt: skip
