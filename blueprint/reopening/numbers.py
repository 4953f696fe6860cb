"""The way back: what is typed in a saved workbook, as the numbers from which a workbook like it is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from blueprint.inputs.load import Numbers
from blueprint.page.read import ReadError
from blueprint.reopening.book import SavedBook
from blueprint.reopening.chosen import conventions_in, settings_in
from blueprint.reopening.columns import columns_of
from blueprint.reopening.sized import numbers_of
from blueprint.workbooks.classic_ppo.schema import ClassicNumbers
from blueprint.workbooks.kl_controller.schema import ControllerNumbers
from blueprint.workbooks.minibatch.schema import MinibatchNumbers
from blueprint.workbooks.rlhf_ppo.inputs.complete import MODELS
from blueprint.workbooks.rlhf_ppo.inputs.logits import LogitNumbers
from blueprint.workbooks.rlhf_ppo.inputs.result import TokenNumbers, WeightNumbers
from blueprint.workbooks.rlhf_ppo.weights_level import block_name

Typed = Mapping[str, npt.NDArray[Any]]
Ragged = tuple[tuple[float, ...], ...]


def numbers_from(book: SavedBook) -> Numbers:
    """Returns everything that is typed in a file and that numbers can hold; `unheld` says what they cannot.

    Raises ReadError, with the cell, for what stands where numbers must have a whole one, and for an empty prompt.
    """
    typed = {block.name: array for block, array in book.values.arrays.items() if block.typed}
    empty = numbers_of(book.file)
    match empty:
        case MinibatchNumbers():
            raise ReadError(
                f"{book.file.path} shows a part of a training minibatch, which numbers files do not hold: "
                "its numbers are those of the dump (blueprint import), and rebuild keeps them"
            )
        case WeightNumbers():
            made: Numbers = _weights(empty, typed, book)
        case LogitNumbers():
            made = _logits(empty, typed)
        case TokenNumbers():
            made = _tokens(empty, typed)
        case ClassicNumbers():
            made = _classic(empty, typed, book)
        case ControllerNumbers():
            made = _controller(empty, typed, book)
    return replace(made, ppo=settings_in(book, typed))


def _weights(empty: WeightNumbers, typed: Typed, book: SavedBook) -> WeightNumbers:
    known = _spellings(typed)
    prompts = tuple(_prompt(row, at, known, book) for at, row in enumerate(typed["given"]))
    most = _whole("max_new_tokens", (), book)
    names = [f"{model}.{part}" for model, parts in MODELS.items() for part in parts]
    weights = {name: typed[block_name(name)].astype(float) for name in names}
    made = replace(
        empty,
        vocabulary=_words(typed["vocabulary"]),
        prompts=prompts,
        max_new_tokens=most,
        weights=weights,
        conventions=conventions_in(empty.conventions, typed),
    )
    made = replace(made, responses=_responses(made, typed, known))
    return replace(made, draws=columns_of(made, typed["rollout.draw"]))


def _responses(made: WeightNumbers, typed: Typed, known: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    """Returns the words typed for the responses, "" where the draw decides; () for a file without a row for them."""
    if "rollout.response" not in typed:
        return ()
    rows = zip(typed["rollout.response"], made.prompts, strict=True)
    slots = (row[len(prompt) - 1 :][: made.max_new_tokens] for row, prompt in rows)
    return tuple(_response(row, made.vocabulary[0], known) for row in slots)


def _response(row: npt.NDArray[Any], end: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the typed words up to the end word, or the last one: nothing behind it counts."""
    words = [known[word.casefold()] if word else "" for word in row]
    words = words[: words.index(end) + 1] if end in words else words
    return tuple(words[: max((at for at, word in enumerate(words, start=1) if word), default=0)])


def _prompt(row: npt.NDArray[Any], at: int, known: Mapping[str, str], book: SavedBook) -> tuple[str, ...]:
    """Returns the words of a prompt, up to the first empty cell, as the vocabulary spells them."""
    words = [*row, ""]
    prompt = words[: words.index("")]
    if not prompt:
        raise ReadError(f"{book.file.where('given', (at, 0))}: blank, but a prompt has one word at least: type it")
    return tuple(known[word.casefold()] for word in prompt)


def _logits(empty: LogitNumbers, typed: Typed) -> LogitNumbers:
    known = _spellings(typed)
    return replace(
        empty,
        vocabulary=_words(typed["vocabulary"]),
        end_word=known.get(str(typed["end_word"]).casefold(), ""),
        words=tuple(tuple(known[word.casefold()] for word in row) for row in typed["word_written"]),
        mask=typed["mask"],
        logits={name: typed[f"{name}.logits"] for name in ("old", "reference", "policy")},
        values={name: typed[f"{name}.out"] for name in ("old_critic", "critic")},
        scores=typed["reward_model.score"],
        conventions=conventions_in(empty.conventions, typed),
    )


def _tokens(empty: TokenNumbers, typed: Typed) -> TokenNumbers:
    """Returns rows as long as the mask reaches; what stands behind it is not part of any response."""
    ends = [int(np.flatnonzero(row)[-1]) + 1 if row.any() else 0 for row in typed["mask"]]

    def cut(name: str, told: Callable[[Any], Any] = float) -> tuple[Any, ...]:
        return tuple(tuple(map(told, row[:end])) for row, end in zip(typed[name], ends, strict=True))

    cases = "case.ratio" in typed
    return replace(
        empty,
        words=cut("word_written", str),
        logprobs_old=cut("old.logprobs"),
        logprobs_ref=cut("reference.logprobs"),
        values=cut("old_critic.values"),
        scores=cut("reward.score"),
        case_advantages=tuple(map(float, typed["case.advantage"])) if cases else (),
        case_ratios=tuple(map(float, typed["case.ratio"])) if cases else (),
    )


def _classic(empty: ClassicNumbers, typed: Typed, book: SavedBook) -> ClassicNumbers:
    return replace(
        empty,
        actions=_whole_rows("actions", book),
        rewards=_rows(typed["rewards"]),
        done=_rows(typed["done"]),
        terminated=_rows(typed["terminated"]),
        values_old=_rows(typed["values.old"][:, :-1]),
        values_new=_rows(typed["values.new"]),
        next_values=tuple(map(float, typed["values.old"][:, -1])),
        logits_old=tuple(map(_rows, typed["old.logits"])),
        logits_new=tuple(map(_rows, typed["policy.logits"])),
    )


def _controller(empty: ControllerNumbers, typed: Typed, book: SavedBook) -> ControllerNumbers:
    return replace(empty, kl_sums=_rows(typed["responses.kl"]), lengths=_whole_rows("responses.length", book))


def _spellings(typed: Typed) -> dict[str, str]:
    """Returns the words of the vocabulary by their small letters: a sheet does not tell the two apart."""
    return {word.casefold(): word for word in typed["vocabulary"]}


def _words(array: npt.NDArray[Any]) -> tuple[str, ...]:
    return tuple(map(str, array))


def _rows(array: npt.NDArray[Any]) -> Ragged:
    return tuple(tuple(map(float, row)) for row in array)


def _whole_rows(name: str, book: SavedBook) -> tuple[tuple[int, ...], ...]:
    rows, columns = book.values.arrays[book.blocks[name]].shape
    return tuple(tuple(_whole(name, (row, column), book) for column in range(columns)) for row in range(rows))


def _whole(name: str, at: tuple[int, ...], book: SavedBook) -> int:
    """Returns a number that must be a whole one."""
    number = float(book.values.arrays[book.blocks[name]][at])
    if not number.is_integer():
        raise ReadError(f"{book.file.where(name, at)}: found {number:.15g}, expected a whole number")
    return int(number)
