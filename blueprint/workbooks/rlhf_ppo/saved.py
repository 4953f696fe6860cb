"""The way back: the numbers of a saved workbook of RLHF PPO, level by level."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np

from blueprint.inputs import Array, Numbers
from blueprint.reopening.saved import Saved
from blueprint.workbooks.common.conventions import FOLLOWS, PLAIN, Conventions, rlhf
from blueprint.workbooks.common.numbers_file import block_name
from blueprint.workbooks.common.update import update_in
from blueprint.workbooks.rlhf_ppo.draw import WEIGHTS, Sizes, uniforms
from blueprint.workbooks.rlhf_ppo.inputs import BATCH, RATES, RlhfNumbers, Update, WeightNumbers
from blueprint.workbooks.rlhf_ppo.levels import LOGITS, PER_TOKEN

GIVEN_WORDS = "rollout.response"
LIBRARIES = "library.names"
SIZING = {"old.E": 2, "old.W": 2}
"""How many axes the weights have that say how long the vectors are."""


def of_weights(file: Saved) -> WeightNumbers:
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
        responses=((),) * len(draws) if GIVEN_WORDS in file else (),
    )
    return sizes if file.blank else _with_texts(sizes, file)


def _update(file: Saved) -> Update:
    """Return how the new weights come about: by the optimiser that the file says, with the rates that are typed in it."""
    made, said = update_in(file, RATES), file.file.noted
    number = int(said.get("minibatches", 1))
    places = [file.array(f"minibatch.place{epoch}", 1) for epoch in range(1, made.epochs + 1) if number > 1]
    order = tuple(tuple(int(each) + 1 for each in np.argsort(row, kind="stable")) for row in places)
    return Update(made.by, made.epochs, made.rates, number, order, said.get("whiten", BATCH), kept=made.kept)


def _with_texts(made: WeightNumbers, file: Saved) -> WeightNumbers:
    """Lay prompts, responses and draws over numbers: as many columns as they need, which may not be those of the sheet."""
    known = _spellings(file)
    prompts = tuple(_prompt(row, at, known, file) for at, row in enumerate(file.rows("given")))
    made = replace(made, prompts=prompts, max_new_tokens=file.whole("max_new_tokens", 0))
    if GIVEN_WORDS in file:
        rows = zip(file.rows(GIVEN_WORDS), prompts, strict=True)
        slots = (row[len(prompt) - 1 :][: made.max_new_tokens] for row, prompt in rows)
        made = replace(made, responses=tuple(_response(row, made.vocabulary[0], known) for row in slots))
    return replace(made, draws=_columns(made))


def _prompt(row: Sequence[str], at: int, known: Mapping[str, str], file: Saved) -> tuple[str, ...]:
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
    drawn = np.asarray(uniforms(made.seed, sizes))
    width = min(drawn.shape[1], made.draws.shape[1])
    drawn[:, :width] = made.draws[:, :width]
    return drawn


def of_logits(file: Saved) -> RlhfNumbers:
    """Return what is typed in a file that begins at logits, or numbers of its sizes."""
    known = _spellings(file)
    read = LOGITS.saved(file).parts
    parts = {part.key: read[part.key] for part in LOGITS.parts if part.block}
    parts["text.end_word"] = known.get(parts["text.end_word"].casefold(), "")
    parts["text.responses"] = tuple(tuple(known[word.casefold()] for word in row) for row in parts["text.responses"])
    settings, conventions = file.settings(FOLLOWS), _conventions(file)
    return RlhfNumbers(level="logits", **file.head(), ppo=settings, parts=parts, conventions=conventions)


def of_tokens(file: Saved) -> Numbers:
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


def _spellings(file: Saved) -> dict[str, str]:
    """Return the words of the vocabulary by their small letters: a sheet does not tell the two apart."""
    return {word.casefold(): word for word in file.rows("vocabulary", 1)}


def _conventions(file: Saved) -> Conventions:
    """Return the preset in use and the libraries side by side, as the catalogue spells them; all of them go unnamed."""
    if LIBRARIES not in file:
        return PLAIN
    known = {name.casefold(): name for name in rlhf().presets}
    _, *all_others = known.values()
    names = tuple(known.get(word.casefold(), word) for word in file.rows(LIBRARIES, 1))
    return Conventions(True, file.preset(rlhf()), () if names == tuple(all_others) else names)
