"""Load a numbers file, with overrides, as fully explicit and checked numbers."""

from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from typing import Any

from blueprint.inputs.explain import checked
from blueprint.inputs.read import Source, overridden, read
from blueprint.workbooks.classic_ppo.schema import ClassicFile, ClassicNumbers, classic_numbers
from blueprint.workbooks.common.conventions.table import TABLES, gathered
from blueprint.workbooks.kl_controller.schema import ControllerFile, ControllerNumbers, controller_numbers
from blueprint.workbooks.rlhf_ppo.inputs import complete
from blueprint.workbooks.rlhf_ppo.inputs.files import LogitFile, TokenFile, WeightFile
from blueprint.workbooks.rlhf_ppo.inputs.fit import fitting
from blueprint.workbooks.rlhf_ppo.inputs.logits import LogitNumbers, logit_numbers
from blueprint.workbooks.rlhf_ppo.inputs.result import TokenNumbers, WeightNumbers
from blueprint.workbooks.rlhf_ppo.inputs.sizes import resolved
from blueprint.workbooks.rlhf_ppo.inputs.tokens import token_numbers

Numbers = WeightNumbers | LogitNumbers | TokenNumbers | ClassicNumbers | ControllerNumbers
_NOT_PARTS = {"level", "title", "about", "seed", "preset", "conventions", "compare", "ppo", *TABLES}


def load(
    source: str | PathLike[str] | Source = "default", overrides: Mapping[str, Any] | Sequence[str] = ()
) -> Numbers:
    """Load a built-in set of numbers, or a path ending in .toml, and lay overrides such as `sizes.hidden=6` over it.

    Numbers with more than 15 significant digits are rounded to 15: a spreadsheet stores no more. If an override makes
    parts of a *built-in* set no longer fit, these are drawn from the seed instead; in a user's file nothing is dropped.

    Raises:
        NumbersError: one sentence on the first thing that is wrong with the file or an override.
    """
    found = source if isinstance(source, Source) else read(source)
    changed = overridden(found.raw, overrides)
    match checked(found.raw):
        case WeightFile() as file:
            return _weight_numbers(found.name, file, spare_of(found, file, changed))
        case LogitFile() as file:
            return logit_numbers(found.name, file)
        case TokenFile() as file:
            return token_numbers(found.name, file)
        case ClassicFile() as file:
            return classic_numbers(found.name, file)
        case ControllerFile() as file:
            return controller_numbers(found.name, file)


def parts_of(file: WeightFile) -> dict[str, Any]:
    """List the given parts by dotted key."""
    tables: dict[str, dict[str, Any]] = file.model_dump(exclude_unset=True, exclude=_NOT_PARTS)
    return {f"{table}.{key}": value for table, parts in tables.items() for key, value in parts.items()}


def spare_of(found: Source, file: WeightFile, changed: Collection[str]) -> list[str]:
    """List the parts of a built-in file that no override has named, neither by key nor by table."""
    named = (key for key in parts_of(file) if key not in changed and key.partition(".")[0] not in changed)
    return list(named) if found.built_in else []


def _weight_numbers(name: str, file: WeightFile, spare: Collection[str]) -> WeightNumbers:
    given = parts_of(file)
    ppo, conventions = gathered(file)
    sizes = resolved(given, spare)
    parts = fitting(given, sizes, spare)
    vocabulary, prompts = complete.text(file.seed, parts, sizes)
    return WeightNumbers(
        name=name,
        title=file.title or name,
        about=file.about,
        seed=file.seed,
        vocabulary=tuple(vocabulary),
        prompts=tuple(map(tuple, prompts)),
        max_new_tokens=sizes.max_new_tokens,
        draws=complete.draws(file.seed, parts.get("rollout.draws"), prompts, sizes),
        ppo=ppo,
        conventions=conventions,
        weights=complete.weights(file.seed, parts, sizes),
        drawn_anew=tuple(key for key in given if key not in parts),
        responses=tuple(map(tuple, parts.get("rollout.responses", ()))),
    )
