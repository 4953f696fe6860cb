"""Reads a dump of any kind, format and library: how kinds are told from each other, and a minibatch checked inside its mask."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

from blueprint.dumps.batch import Dump, Minibatch
from blueprint.dumps.ends import behind_the_end
from blueprint.dumps.formats import MinibatchError, Raw, open_raw, require
from blueprint.dumps.given import check_numbers, without_critic
from blueprint.dumps.mentioned import Mentioned, mentioned
from blueprint.dumps.metadata import forward_option, run_fields, share_of
from blueprint.dumps.names import AID, LOGGED, NAMES, SETTING, TENSOR, Names, nearest
from blueprint.dumps.recognise import METADATA, Recognised, recognise
from blueprint.dumps.shaping import shape
from blueprint.inputs.catalogue import Catalogue
from blueprint.quoting import unquoted
from blueprint.workbooks.common.conventions.data import LIVE
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
    """

    called: str
    catalogue: Callable[[], Catalogue]
    read: Callable[[Raw, Path], Dump]
    is_one: Callable[[Raw], bool] | None = None
    names: Names | None = None
    needs: Needs = field(default_factory=dict)


def dump_kinds() -> list[DumpKind]:
    """Returns the kinds of dumps; last the one that a file is which is none of the others."""
    found: list[DumpKind] = [kind.part("dumps") for kind in kinds() if kind.dumps]
    return sorted(found, key=lambda each: each.is_one is None)


def kind_of_file(raw: Raw) -> DumpKind:
    """Returns which kind of dump a file is."""
    return next(each for each in dump_kinds() if each.is_one is None or each.is_one(raw))


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


def read_dump(path: str | PathLike[str]) -> Dump:
    """Reads a dump of whichever kind; its notes also list the names that were not understood.

    Raises:
        MinibatchError: the file cannot be read, two readings are possible, something needed is missing, shapes disagree, or
            what stands inside the mask cannot be (NaN, log-probs above 0 …); in one sentence that begins with the path.
    """
    raw = open_raw(Path(path))
    return kind_of_file(raw).read(raw, Path(path))


def read_minibatch(path: str | PathLike[str]) -> Minibatch:
    """Reads a dump of a training step of RLHF. Raises MinibatchError as `read_dump`, and for a dump of another kind."""
    raw = open_raw(Path(path))
    kind = kind_of_file(raw)
    require(kind.is_one is None, f"{path}: {kind.called}, which is verified by itself: name this one file alone.")
    return minibatch_from(raw, Path(path))


def minibatch_from(raw: Raw, path: Path) -> Minibatch:
    """Makes a minibatch of a file as it was read. Raises MinibatchError as `read_dump`."""
    with naming(path):
        found = recognise(raw)
        named = mentioned(raw.metadata, found.preset or found.library)
        batch = minibatch_of(raw, found, named, str(path))
        return replace(batch, notes=(*batch.notes, *not_understood(raw, found.unknown, named)))


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
    check_numbers(shaped, empty)
    return replace(
        shaped,
        path=path,
        library=found.library,
        preset=found.preset,
        notes=(
            *found.notes,
            *shaped.notes,
            *behind_the_end(shaped),
            *(without_critic(shaped.tensors) if critic else ()),
            *named.notes,
        ),
        old_from=forward_option(raw.metadata, "logprobs_old_from"),
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
