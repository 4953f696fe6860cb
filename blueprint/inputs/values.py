"""List what numbers of any level hold, by the keys of a numbers file: `sizes.hidden`, `ppo.gamma`, `old.E`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from blueprint.inputs.catalogue import Preset
from blueprint.inputs.kinds import DRAW_HIGH, DRAW_LOW
from blueprint.inputs.load import Numbers
from blueprint.inputs.result import Settings
from blueprint.workbooks.classic_ppo.presets import classic_presets
from blueprint.workbooks.classic_ppo.schema import ClassicNumbers
from blueprint.workbooks.common.conventions.data import PRESET_DEFAULT, Conventions, rlhf
from blueprint.workbooks.kl_controller.schema import CONTROLLER, ControllerNumbers
from blueprint.workbooks.rlhf_ppo.inputs import complete
from blueprint.workbooks.rlhf_ppo.inputs.logits import CRITICS, POLICIES, LogitNumbers
from blueprint.workbooks.rlhf_ppo.inputs.result import TokenNumbers, WeightNumbers
from blueprint.workbooks.rlhf_ppo.inputs.sizes import Sizes

Values = dict[str, Any]


def level_of(numbers: Numbers) -> str:
    """Return the word for the level at which numbers begin."""
    match numbers:
        case WeightNumbers():
            return "weights"
        case LogitNumbers():
            return "logits"
        case TokenNumbers():
            return "per-token"
        case ClassicNumbers():
            return "classic"
        case ControllerNumbers():
            return "controller"


def given(numbers: Numbers) -> Values:
    """Return everything that is given in the numbers, as lists, words and numbers of a file."""
    head = {"level": level_of(numbers), "title": numbers.title, "about": numbers.about}
    match numbers:
        case WeightNumbers():
            return head | _of_weights(numbers)
        case LogitNumbers():
            return head | _of_logits(numbers)
        case TokenNumbers():
            return head | _of_tokens(numbers)
        case ClassicNumbers():
            return head | _of_classic(numbers)
        case ControllerNumbers():
            tables = {"responses.kl_sums": numbers.kl_sums, "responses.lengths": numbers.lengths}
            return head | _dotted(numbers.ppo, "controller") | tables


def assumed(numbers: Numbers) -> Settings:
    """Return what holds for the settings that are not given: what the preset in use does."""
    match numbers:
        case ControllerNumbers():
            return _without({name: each.value for name, each in CONTROLLER.items()}, numbers.ppo, "controller")
        case ClassicNumbers() | LogitNumbers() | WeightNumbers() if (preset := preset_of(numbers)) is not None:
            return _without(preset.values, numbers.ppo)
        case _:
            return _without({name: each.value for name, each in PRESET_DEFAULT.items()}, numbers.ppo)


def preset_of(numbers: Numbers) -> Preset | None:
    """Return the preset that a user chose, where there is a choice."""
    match numbers:
        case ClassicNumbers():
            return classic_presets().preset(numbers.preset)
        case (
            WeightNumbers(conventions=Conventions(live=True, preset=name))
            | LogitNumbers(conventions=Conventions(preset=name))
        ):
            return rlhf().preset(name)
        case _:
            return None


def _of_weights(numbers: WeightNumbers) -> Values:
    (words, embedding), hidden = numbers.weights["old.E"].shape, numbers.weights["old.W"].shape[1]
    prompt = max(map(len, numbers.prompts))
    sizes = Sizes(words, embedding, hidden, len(numbers.prompts), prompt, numbers.max_new_tokens)
    return {
        "seed": numbers.seed,
        **_conventions(numbers.conventions),
        **{f"sizes.{name}": value for name, value in vars(sizes).items()},
        "text.vocabulary": numbers.vocabulary,
        "text.prompts": [" ".join(prompt) for prompt in numbers.prompts],
        "rollout.draws": _draws(numbers, sizes),
        **({"rollout.responses": [_joined(each) for each in numbers.responses]} if numbers.responses else {}),
        **_dotted(numbers.ppo),
        **{name: weights.tolist() for name, weights in numbers.weights.items()},
    }


def _joined(response: Sequence[str]) -> str | list[str]:
    """Return a response as a string, or, where the draw decides on a word before others, as a list with "" for that word."""
    return " ".join(response) if all(response) else list(response)


def _draws(numbers: WeightNumbers, sizes: Sizes) -> list[list[float]]:
    """Return the draws of the response words; those of every column, where the seed does not give the others back.

    Somebody may have emptied cells that draw nothing: draws that no file may hold are left to the seed.
    """
    starts = [len(prompt) - 1 for prompt in numbers.prompts]
    drawn = numbers.draws.tolist()
    own = [row[first : first + sizes.max_new_tokens] for row, first in zip(drawn, starts, strict=True)]
    again = complete.draws(numbers.seed, own, [list(prompt) for prompt in numbers.prompts], sizes)
    may_stand = bool(((numbers.draws >= DRAW_LOW) & (numbers.draws <= DRAW_HIGH)).all())
    return drawn if may_stand and not np.array_equal(again, numbers.draws) else own


def _of_logits(numbers: LogitNumbers) -> Values:
    return {
        **_conventions(numbers.conventions),
        "text.vocabulary": numbers.vocabulary,
        "text.end_word": numbers.end_word,
        "text.responses": numbers.words,
        "text.mask": numbers.mask.tolist(),
        **_dotted(numbers.ppo),
        **{f"{name}.logits": numbers.logits[name].tolist() for name in POLICIES},
        **{f"{name}.values": numbers.values[name].tolist() for name in CRITICS},
        "reward_model.scores": numbers.scores.tolist(),
    }


def _of_tokens(numbers: TokenNumbers) -> Values:
    per_token = ("words", "logprobs_old", "logprobs_ref", "values", "scores")
    cases = {"cases.advantages": numbers.case_advantages, "cases.ratios": numbers.case_ratios}
    return {
        **_dotted(numbers.ppo),
        **{f"per_token.{name}": getattr(numbers, name) for name in per_token},
        **(cases if numbers.case_ratios else {}),
    }


def _of_classic(numbers: ClassicNumbers) -> Values:
    tables = (
        "actions",
        "rewards",
        "done",
        "terminated",
        "values_old",
        "values_new",
        "next_values",
        "logits_old",
        "logits_new",
    )
    return {
        "preset": numbers.preset,
        **_dotted(numbers.ppo),
        **{f"rollout.{name}": getattr(numbers, name) for name in tables},
    }


def _conventions(said: Conventions) -> Values:
    """Return what a file says where conventions are live; nothing where they are not."""
    if not said.live:
        return {}
    return {"preset": said.preset, "conventions": "live", **({"compare": said.compare} if said.compare else {})}


def _dotted(settings: Mapping[str, float | str], table: str = "ppo") -> Settings:
    return {name if "." in name else f"{table}.{name}": value for name, value in settings.items()}


def _without(all_of_them: Mapping[str, float | str], given: Settings, table: str = "ppo") -> Settings:
    return _dotted({name: value for name, value in all_of_them.items() if name not in given}, table)
