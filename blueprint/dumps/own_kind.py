"""A file of a kind with a table of names of its own, such as a step of DPO: what of it is understood, and the dump made of that."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from blueprint.dumps.batch import Dump, run_fields
from blueprint.dumps.formats import Array, Raw
from blueprint.dumps.metadata import Mentioned, mentioned
from blueprint.dumps.read import not_read, not_understood
from blueprint.dumps.recognise import ALGORITHM, METADATA, Names, Recognised, column_of, known_preset, recognise
from blueprint.inputs.catalogue import Catalogue, Setting

COUNTED = "num_tokens"
"""What TRL logs of all steps so far together, of which one file says nothing."""

D = TypeVar("D", bound=Dump)


@dataclass(frozen=True)
class Understood:
    """A file with its names understood. raw: as it was read; found: of its tensors; named: of its metadata.

    unknown: sentences on names that were not understood, or are not needed, and change nothing.
    """

    raw: Raw
    found: Recognised
    named: Mentioned
    unknown: tuple[str, ...]

    @property
    def library(self) -> str | None:
        """The library, in small letters."""
        return self.found.library and self.found.library.lower()

    @property
    def arrays(self) -> dict[str, Array]:
        """The tensors of the file, by neutral name."""
        return {name: self.raw.tensors[own] for name, own in self.found.called.items()}

    @property
    def lengths(self) -> dict[str, Array]:
        """Of the tensors that were lists of different lengths how long each is, by neutral name."""
        return {name: self.raw.lengths[own] for name, own in self.found.called.items() if own in self.raw.lengths}

    def made(
        self,
        of: type[D],
        path: Path,
        tensors: Mapping[str, Array],
        called: Mapping[str, str],
        notes: Collection[str] = (),
        **more: Any,
    ) -> D:
        """Makes a dump: all fields that every dump has, and `more`, those of its class.

        called: by neutral name of a tensor, what the file calls it. Raises MinibatchError as `run_fields`.
        """
        dtypes = self.raw.dtypes
        known: dict[str, Any] = {
            "library": self.found.library,
            "hyperparameters": self.named.settings,
            "logged": self.named.logged,
            "notes": (*self.found.notes, *self.named.notes, *self.unknown, *notes),
            **run_fields(self.raw.metadata),
        }
        return of(
            str(path),
            tensors,
            {name: dtypes[own] for name, own in called.items() if name in tensors and own in dtypes},
            {**called, **self.named.called},
            **known | more,
        )


def understood(
    raw: Raw,
    names: Names,
    presets: Callable[[], Catalogue],
    settings: Mapping[str, Setting],
    hyperparameters: Any = None,
    metadata: Collection[str] = (),
    aside: Collection[str] = (),
) -> Understood:
    """Reads a file by the table of names and the settings of a kind.

    hyperparameters: stand for those of the file, where a kind reads some of them otherwise. metadata: further keys that the kind
    understands; aside: tensors that it reads by itself. Raises MinibatchError as `read_dump`.
    """
    logged = raw.metadata.get("logged") or {}
    kept = {name: each for name, each in logged.items() if name != COUNTED} if isinstance(logged, dict) else logged
    said = {key: each for key, each in raw.metadata.items() if key != "preset"} | {"logged": kept}
    said |= {} if hyperparameters is None else {"hyperparameters": hyperparameters}
    read = replace(raw, metadata=said)
    found = recognise(read, names, presets)
    named = mentioned(said, found.library and found.library.lower(), names, settings, presets().table)
    strange = [name for name in found.unknown if name not in aside]
    unused = [name for name in found.unused if name not in aside]
    unknown = not_understood(read, strange, named, (*METADATA, ALGORITHM, *metadata), names, settings)
    unknown = (*not_read(raw, unused), *unknown)
    return Understood(raw, found, named, unknown)


def preset_said(metadata: Mapping[str, Any], presets: Callable[[], Catalogue], own: str | None) -> str | None:
    """Returns the preset that metadata name, else the library's own, where there is one of that name.

    Raises MinibatchError for one that is named and that there is not.
    """
    return known_preset(metadata.get("preset"), presets) or (own if own in presets().presets else None)


def preset_of_library(names: Names, library: str | None, algorithm: str) -> str:
    """Returns the preset that the table has for an algorithm of a library, else the library's name as presets have it."""
    plain = column_of(library or "")
    meant = names.meant("preset", algorithm, plain) if plain in names.libraries else []
    return meant[0] if meant else plain
