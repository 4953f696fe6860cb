"""Reads a dump of any kind, format and library: how kinds are told from each other, a minibatch made and checked; and what a file
holds, recognised, missing, unknown, and what can be recomputed from it, also where it cannot be replayed.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

import numpy as np

from blueprint.dumps.batch import Dump, Minibatch, forward_option, run_fields, share_of
from blueprint.dumps.checks import behind_the_end, check_numbers, without_critic
from blueprint.dumps.formats import MinibatchError, Raw, open_raw, require
from blueprint.dumps.metadata import Mentioned, mentioned, without_effect
from blueprint.dumps.recognise import (
    AID,
    ALGORITHM,
    LOGGED,
    METADATA,
    NAMES,
    SETTING,
    TENSOR,
    UNUSED,
    Names,
    Recognised,
    algorithm_said,
    nearest,
    recognise,
)
from blueprint.dumps.shaping import shape
from blueprint.inputs.catalogue import Catalogue
from blueprint.quoting import unquoted
from blueprint.workbooks.common.conventions import LIVE, rlhf
from blueprint.workbooks.registry import kind_named, kinds

Needs = Mapping[str, Sequence[tuple[str, ...]]]
"""By quantity, sets of names of tensors of which one is enough; a name that is itself a key may be recomputed first."""


@dataclass(frozen=True)
class DumpKind:
    """A kind of dump.

    called: how one is spoken of. catalogue: the presets by which it may be computed.
    is_one: tells by names and metadata whether a file is one; without it, a file is one that is none of the others.
    read: makes a dump of a file as it was read, and raises MinibatchError in a sentence that begins with the path.
    names: its table of names, by which a file that holds none of them is told to be no dump; None where there is no table.
    needs: what is computed of what, by quantity the sets of names of which one is enough; see `Needs`.
    algorithms: the words by which metadata say that a file is one, the usual one first.
    """

    called: str
    catalogue: Callable[[], Catalogue]
    read: Callable[[Raw, Path], Dump]
    is_one: Callable[[Raw], bool] | None = None
    names: Names | None = None
    needs: Needs = field(default_factory=dict)
    algorithms: Sequence[str] = ()


def dump_kinds() -> list[DumpKind]:
    """Returns the kinds of dumps; last the one that a file is which is none of the others."""
    found: list[DumpKind] = [kind.part("dumps") for kind in kinds() if kind.dumps]
    return sorted(found, key=lambda each: each.is_one is None)


def kind_of_file(raw: Raw) -> DumpKind:
    """Returns which kind of dump a file is. Raises MinibatchError where its metadata say an algorithm that no kind has."""
    kinds_known = dump_kinds()
    said, known = algorithm_said(raw.metadata), [word for each in kinds_known for word in each.algorithms]
    if said and said not in known:
        usual = dict.fromkeys(each.algorithms[0] for each in kinds_known if each.algorithms)
        meant = nearest(said, known)
        raise MinibatchError(
            f"metadata, {ALGORITHM}: found {unquoted(raw.metadata[ALGORITHM])}, by which nothing here is computed; "
            f"{f'did you mean {meant}? Otherwise write' if meant else 'write'} the one that computes as yours does, one of "
            f"{', '.join(usual)} …, or leave it out: then names of tensors tell what it is."
        )
    return next(each for each in kinds_known if each.is_one is None or each.is_one(raw))


ROWS = 2
"""Axes of what a step has, responses by tokens; a log has one number a line."""
OF_A_PAIR = "[P]"
"""The shape of what steps of pairs have, of which one line may hold numbers alone."""


def is_foreign(head: Raw) -> bool:
    """Whether a file is none of anybody's dumps, as a checkpoint or a log is: it holds nothing that any kind of dump has, nothing
    that is spelled nearly so, and its metadata say nothing that those of dumps say. head: as `head_of` reads it.
    """
    tables = [each.names for each in dump_kinds()]
    if not head.names or None in tables or set(METADATA) & head.metadata.keys():
        return False
    of_a_log = head.format == "jsonl" and all(each.ndim < ROWS for each in head.tensors.values())
    aliases = [alias for table in tables if table for alias in table.aliases(TENSOR, AID)]
    known = {alias.spelling for alias in aliases if not of_a_log or OF_A_PAIR in alias.row.shape}
    if known & set(head.names):
        return False
    return of_a_log or head.format == "pickle" or not any(nearest(each, known) for each in head.names[:MOST_LOOKED_AT])


def catalogue_of(dump: Dump) -> Catalogue:
    """Returns the presets by which a dump may be computed."""
    found: DumpKind = kind_named(dump.kind).part("dumps")
    return found.catalogue()


def read_dump(path: str | PathLike[str], above_zero: bool = False) -> Dump:
    """Reads a dump of whichever kind; its notes also list the names that were not understood.

    above_zero: accept log-probs above 0, as made-up numbers of an exercise are; a note says how many there are.

    Raises:
        MinibatchError: the file cannot be read, two readings are possible, something needed is missing, shapes disagree, or
            what stands inside the mask cannot be (NaN, log-probs above 0 …); in one sentence that begins with the path.
    """
    raw = open_raw(Path(path))
    raw.above_zero = above_zero
    with naming(Path(path)):
        kind = kind_of_file(raw)
    return kind.read(raw, Path(path))


def read_minibatch(path: str | PathLike[str]) -> Minibatch:
    """Reads a dump of a training step of RLHF. Raises MinibatchError as `read_dump`, and for a dump of another kind."""
    raw = open_raw(Path(path))
    with naming(Path(path)):
        kind = kind_of_file(raw)
    require(kind.is_one is None, f"{path}: {kind.called}, which is verified by itself: name this one file alone.")
    return minibatch_from(raw, Path(path))


def minibatch_from(raw: Raw, path: Path) -> Minibatch:
    """Makes a minibatch of a file as it was read. Raises MinibatchError as `read_dump`."""
    with naming(path):
        found = recognise(raw)
        named = mentioned(raw.metadata, found.preset or found.library)
        batch = minibatch_of(raw, found, named, str(path))
        return replace(
            batch, notes=(*batch.notes, *not_read(raw, found.unused), *not_understood(raw, found.unknown, named))
        )


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Makes sentences of what is refused begin with the path of the file."""
    try:
        yield
    except MinibatchError as error:
        raise MinibatchError(f"{path}: {error}") from error


def minibatch_of(
    raw: Raw, found: Recognised, named: Mentioned, path: str, critic: bool = True, empty: bool = False
) -> Minibatch:
    """Makes a minibatch of a file whose names are recognised; critic: whether one is expected in it; empty: whether it may be that
    no response has a token.

    Raises:
        MinibatchError: as `read_dump`, without the path.
    """
    shaped = shape(raw, found)
    accepted = check_numbers(shaped, empty, raw.above_zero)
    return replace(
        shaped,
        path=path,
        library=found.library,
        preset=found.preset,
        notes=(
            *raw.notes,
            *found.notes,
            *shaped.notes,
            *accepted,
            *behind_the_end(shaped),
            *(without_critic(shaped.tensors) if critic else ()),
            *named.notes,
        ),
        old_from=forward_option(raw.metadata, "logprobs_old_from"),
        rollout_from=forward_option(raw.metadata, "logprobs_rollout_from"),
        forward_dtype=forward_option(raw.metadata, "forward_dtype"),
        share=share_of(raw.metadata),
        hyperparameters=named.settings,
        logged=named.logged,
        **run_fields(raw.metadata),
    )


MOST_LISTED = 12

MOST_LOOKED_AT = 500
"""Names for which a known one is looked for: a whole training configuration, and not what a hostile file may hold."""


def not_understood(
    raw: Raw,
    unknown: Collection[str],
    named: Mentioned,
    metadata: Collection[str] = METADATA,
    names: Names = NAMES,
    settings: Collection[str] = LIVE,
) -> tuple[str, ...]:
    """Returns a sentence for each kind of names that were not understood and therefore change nothing.

    unknown: of tensors. metadata, settings: the keys that are understood.
    """
    kinds: dict[str, tuple[Sequence[str], Collection[str]]] = {
        "tensors": (list(unknown), names.spelled(TENSOR, AID)),
        "hyperparameters": (named.unknown_settings, names.spelled(SETTING) | set(settings)),
        "logged numbers": (named.unknown_logged, names.spelled(LOGGED)),
        "metadata": ([key for key in raw.metadata if key not in metadata], metadata),
    }
    return tuple(_sentence(kind, listed, known) for kind, (listed, known) in kinds.items() if listed)


def not_read(raw: Raw, unused: Collection[str]) -> tuple[str, ...]:
    """Returns a sentence on tensors of numbers that are known, and of which nothing is computed, nor compared with them.

    Whole numbers are token ids and places: nobody takes them for results.
    """
    names = [name for name in unused if name in raw.tensors and raw.tensors[name].dtype.kind == "f"]
    more = f" … and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    listed = ", ".join(map(unquoted, names[:MOST_LISTED]))
    return (f"tensors that nothing here reads, and that are not compared: {listed}{more}",) if names else ()


def _sentence(kind: str, names: Sequence[str], known: Collection[str]) -> str:
    """Lists the names, those that are nearly known ones first: they are the likelier mistakes."""
    # a name may be known but for what stands before its last part
    near = {
        name: nearest(name, known) or nearest(name.replace("/", ".").rpartition(".")[2], known)
        for name in names[:MOST_LOOKED_AT]
    }
    meant = {name: f" (did you mean {known}?)" for name, known in near.items() if known and known != name}
    nearest_first = sorted(names, key=lambda name: near.get(name) is None)[:MOST_LISTED]
    listed = ", ".join(f"{unquoted(name)}{meant.get(name, '')}" for name in nearest_first)
    more = f" … and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return f"{kind} that are not understood and change nothing: {listed}{more}"


NEEDS: Needs = {
    "rewards": [("logprobs_old", "logprobs_ref", "scores")],
    "advantages": [("rewards", "values_old")],
    "returns": [("rewards", "values_old")],
    "ratio, approximate KL": [("logprobs_old", "logprobs_new")],
    "policy loss, clip fraction": [("logprobs_old", "logprobs_new", "advantages")],
    "value loss": [("values_old", "values_new", "returns")],
    "explained variance": [("values_old", "returns")],
    "KL to the reference": [("logprobs_old", "logprobs_ref")],
    "mean entropy": [("entropy",)],
    "gap to the generating engine": [("logprobs_old", "logprobs_rollout")],
}
"""What a step of RLHF is computed from."""


@dataclass(frozen=True)
class Tensor:
    """A tensor of the file: what the file calls it, its neutral name, shape and dtype there, and what it is."""

    name: str
    neutral: str
    shape: tuple[int, ...]
    dtype: str
    meaning: str


@dataclass(frozen=True)
class Inspection:
    """What `inspect` found.

    refusal: why the file cannot be replayed, in a sentence; "" if it can.
    dropped: settings that the file says, and that nothing here is computed by, with their values.
    recomputable: by quantity, the names that are missing for it; empty where it can be recomputed.
    """

    path: str
    format: str
    tensors: tuple[Tensor, ...]
    unused: tuple[str, ...]
    unknown: Mapping[str, str | None]
    missing: tuple[str, ...]
    recomputable: Mapping[str, tuple[str, ...]]
    library: str | None
    version: str | None
    preset: str | None
    mentioned: Mentioned
    unknown_metadata: tuple[str, ...]
    batch: Dump | None
    refusal: str
    dropped: tuple[str, ...] = ()

    @property
    def words(self) -> int:
        """How many tokens stand inside the mask."""
        return int(np.count_nonzero(self.batch.mask)) if isinstance(self.batch, Minibatch) else 0


def inspect(path: str | PathLike[str], above_zero: bool = False) -> Inspection:
    """Says what a dump holds; above_zero: as `read_dump`.

    Raises:
        MinibatchError: the file cannot be read at all, or its names or metadata contradict themselves.
    """
    raw = open_raw(Path(path))
    raw.above_zero = above_zero
    with naming(Path(path)):
        kind = kind_of_file(raw)
    if kind.is_one is not None:
        return _of_kind(raw, kind, Path(path))
    with naming(Path(path)):
        found = recognise(raw)
        named = mentioned(raw.metadata, found.preset or found.library)
    batch, refusal, version = None, "", raw.metadata.get("version")
    try:
        batch = minibatch_of(raw, found, named, str(path))
    except MinibatchError as error:
        refusal = str(error)
    has, needs = {*found.called, *(batch.tensors if batch else ())}, _needs(found.preset, named)
    return Inspection(
        str(path),
        raw.format,
        tuple(
            Tensor(name, neutral, raw.tensors[name].shape, raw.dtypes[name], NAMES.meanings[neutral])
            for neutral, name in found.called.items()
        ),
        found.unused,
        found.unknown,
        tuple(row.name for row in NAMES.rows if row.kind == TENSOR and row.name not in has),
        {what: _lacking(what, needs, has) for what in needs},
        found.library,
        str(version) if found.library and version is not None else None,
        found.preset,
        named,
        tuple(key for key in raw.metadata if key not in METADATA),
        batch,
        refusal,
        without_effect(raw.metadata, named.settings, found.preset or found.library, NAMES, named.unknown_settings),
    )


def _of_kind(raw: Raw, kind: DumpKind, path: Path) -> Inspection:
    """Says what a dump of another kind than a step of RLHF holds; what of its metadata is not understood stands in its notes."""
    dump, refusal = None, ""
    try:
        dump = kind.read(raw, path)
    except MinibatchError as error:
        refusal = str(error).removeprefix(f"{path}: ")
    names, library = kind.names or NAMES, dump.library if dump else raw.metadata.get("library")
    neutral = {name: _neutral(name, raw, names, library) for name in raw.tensors}
    called = {each: name for name, each in neutral.items() if each not in (None, UNUSED)}
    has, logged = {*called, *(dump.tensors if dump else ())}, dump.logged if dump else {}
    known, version = names.spelled(TENSOR, AID), raw.metadata.get("version")
    meanings = {row.name: row.meaning for row in names.rows if row.kind in (TENSOR, AID)}
    said = dump.hyperparameters if dump else {}
    settings = {key: each for key, each in said.items() if key.removeprefix("ppo.") == key or key[4:] not in said}
    return Inspection(
        str(path),
        raw.format,
        tuple(
            Tensor(name, each, raw.tensors[name].shape, raw.dtypes[name], meanings.get(each, ""))
            for each, name in called.items()
        ),
        tuple(name for name, each in neutral.items() if each == UNUSED),
        {name: nearest(name, known) for name, each in neutral.items() if each is None},
        tuple(row.name for row in names.rows if row.kind == TENSOR and row.name not in has),
        {what: _lacking(what, kind.needs, has) for what in kind.needs},
        None if library is None else str(library),
        str(version) if library and version is not None else None,
        dump.preset if dump else None,
        Mentioned(settings, logged, (), (), {}),
        (),
        dump,
        refusal,
        without_effect(raw.metadata, said, library and str(library).lower(), names, dump.notes) if dump else (),
    )


def _neutral(name: str, raw: Raw, names: Names, library: str | None) -> str | None:
    """Returns the neutral name of a tensor, or that it is not needed; None where nobody knows it."""
    told = raw.metadata.get("names")
    if isinstance(told, dict) and name in told:
        return str(told[name])
    meant = names.meant(TENSOR, name, library) or names.meant(AID, name, library)
    return meant[0] if meant else UNUSED if name in names.spelled(UNUSED) else None


def _lacking(what: str, needs: Needs, has: set[str]) -> tuple[str, ...]:
    """Returns what is lacking for a quantity, of the set of names that lacks the fewest; what can be recomputed is not lacking."""
    lacking = []
    for some in needs[what]:
        missing: list[str] = []
        for each in some:
            if each not in has:
                missing += _lacking(each, needs, has) if each in needs else [each]
        lacking.append(tuple(dict.fromkeys(missing)))
    return min(lacking, key=len)


def _needs(preset: str | None, named: Mentioned) -> Needs:
    """Returns what is computed from what; rewards need no reference where the KL is not paid in them."""
    of_preset = rlhf().presets.get(preset or "")
    paid_in = named.settings.get("reward.kl_in", of_preset.values["reward.kl_in"] if of_preset else "reward")
    return NEEDS if paid_in in ("reward", "both") else {**NEEDS, "rewards": [("scores",)]}
