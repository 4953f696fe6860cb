"""Level "choices": prompts with a chosen and a rejected response each, and the weights of the two models that read them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from blueprint.inputs import ROWS, Draft, Level, Numbers, Part, refusal
from blueprint.inputs.entries import Number, Prompt, Word
from blueprint.workbooks.common import epochs, weights
from blueprint.workbooks.common.rollout import block_name
from blueprint.workbooks.common.side_by_side import compared_by_name, presets_in
from blueprint.workbooks.dpo.schema import DPO, MODELS, PRESETS, RECORDS, SETTINGS, dpo_presets

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved

WEIGHTS = ("E", "W", "Y")
DELTAS = tuple(f"policy.delta_{letter}" for letter in WEIGHTS)
STEP = "policy.update_step"
OTHERS = "mismatched.responses"
Texts = tuple[tuple[str, ...], ...]


def each_response(numbers: Numbers) -> tuple[Texts, Texts, Texts]:
    """Returns the prompt, the response and the mismatched response of each column: chosen and rejected ones in turn."""
    prompts = tuple(prompt for prompt in numbers["text.prompts"] for _ in range(2))
    return prompts, in_turn(numbers["text.chosen"], numbers["text.rejected"]), numbers[OTHERS]


def in_turn(chosen: Sequence[Any], rejected: Sequence[Any]) -> tuple[Any, ...]:
    """Lays what chosen and rejected responses have out in the order of the sheet."""
    return tuple(each for pair in zip(chosen, rejected, strict=True) for each in pair)


def _numbers(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, tables differ in shape, a token is unknown, or steps are described where none
            is taken.
    """
    parts = compared_by_name(draft.fitted(), dpo_presets())
    weights.check_texts(parts, "text.chosen", "text.rejected", *([OTHERS] if OTHERS in parts else []))
    weights.check_inputs(parts, "reference")
    responses = in_turn(parts["text.chosen"], parts["text.rejected"])
    # As KTO in TRL: the response of the next row stands behind the prompt of this one.
    parts.setdefault(OTHERS, (*responses[1:], responses[0]))
    if len(parts[OTHERS]) != len(responses):
        raise refusal(OTHERS, f"{len(parts[OTHERS])} responses", f"{len(responses)}, two per prompt")
    for side in ("chosen", "rejected"):
        parts.setdefault(f"rewards.{side}", np.zeros(len(parts["text.prompts"])))
    update = epochs.update_of(draft)
    none = {key: np.zeros_like(parts[f"reference.{of}"], dtype=float) for key, of in zip(DELTAS, WEIGHTS, strict=True)}
    if update.by != epochs.TYPED:  # Where an optimiser moves the policy, nothing else does.
        parts |= none | {STEP: 1.0}
    found = {key: each for key, each in (none | parts).items() if not key.startswith("update.")}
    return draft.numbers(found | {"update": update})


def values(numbers: Numbers) -> dict[str, Any]:
    """Return what a numbers file says."""
    steps = epochs.values_of(numbers["update"])
    return {key: each for key, each in numbers.parts.items() if key != "update"} | steps


def numbers_in(file: "Saved") -> Numbers:
    """Return what is typed in a saved workbook, or, of a blank one, numbers of its sizes."""
    vocabulary = tuple(map(str, file.array("vocabulary")))
    number, good = (np.nan_to_num(file.array(name, 1)) for name in ("pair.number", "response.chosen"))
    order = np.lexsort((-good, number)) if number.any() else np.arange(len(number))
    columns = file.array("given", 2).shape[1]
    # Of a blank workbook one knows how many columns there are, and takes each prompt for one token long.
    prompts, responses, others = (
        tuple(tuple(filter(None, row)) or (vocabulary[-1],) * blank for row in np.array(file.array(name, 2))[order])
        for name, blank in (("given", 1), ("text.response", columns - 1), ("mismatched.response", columns - 1))
    )
    true = file.array("true.reward", 1)[order]
    update = epochs.update_in(file)
    parts: dict[str, Any] = {
        **presets_in(file, dpo_presets()),
        "text.vocabulary": vocabulary,
        "text.prompts": prompts[::2],
        "text.chosen": responses[::2],
        "text.rejected": responses[1::2],
        OTHERS: others,
        "rewards.chosen": true[::2],
        "rewards.rejected": true[1::2],
        **{f"reference.{letter}": file.array(f"reference.{letter}") for letter in WEIGHTS},
        STEP: float(file.array("update_step", 0)) if "update_step" in file else 1.0,
        **{
            key: file.array(block) if (block := block_name(key)) in file else np.zeros_like(file.array(f"reference.{of}"))
            for key, of in zip(DELTAS, WEIGHTS, strict=True)
        },
        "update": update,
    }  # fmt: skip
    return Numbers(kind="dpo", level="choices", **file.head(), ppo=file.settings(), parts=parts)


def _pairs(key: str, about: str, **more: Any) -> Part:
    return Part(key, Prompt, ("pair",), about, noun="text", **more)


LEVEL = Level(
    "dpo",
    "choices",
    "prompts with a chosen and a rejected response each, and the weights of the models that read them",
    parts=(
        *PRESETS,
        *epochs.PARTS,
        Part("text.vocabulary", Word, ("token",), "the first token ends a text; tokens differ by more than capitals", noun="token"),
        _pairs("text.prompts", "tokens of the vocabulary, blanks between them; a prompt for each pair"),
        _pairs("text.chosen", "the chosen response of each pair, its end token included"),
        _pairs("text.rejected", "the rejected response of each pair"),
        Part("rewards.chosen", Number, ("pair",), "the true reward of each chosen response, which RPO alone reads", None, 1.0, "0"),
        Part("rewards.rejected", Number, ("pair",), "the same of each rejected response", None, 0.0, "0"),
        Part(OTHERS, Prompt, ("response",), "for KTO: what stands behind each prompt in place of its response, chosen and rejected "
             "in turn", None, noun="text", otherwise="the response of the next row"),
        *(weights.weight(f"reference.{letter}") for letter in WEIGHTS),
        Part(STEP, Number, (), "policy = reference + update_step · delta", 1.0),
        *(weights.weight(key)._replace(default=None, otherwise="0: the policy is the reference") for key in DELTAS),
    ),
    tables={
        **dict.fromkeys(RECORDS.titles, SETTINGS), "update": epochs.ABOUT, "text": "what was asked, chosen and rejected",
        "rewards": "what was meant", "mismatched": "each prompt with another response", **MODELS,
        "reference": "the frozen model from before: weights, and settings", "policy": "policy = reference + update_step · delta",
    },
    settings=DPO,
    of_settings="dpo",
    presets=dpo_presets,
    limits={"pair": (1, ROWS[1] // 2), "response": (2, ROWS[1]), **weights.LIMITS},
    make=_numbers,
    values=values,
)  # fmt: skip
