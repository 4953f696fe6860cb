"""The front door: a line each for what notebooks need. What lies behind a door is imported when it is used.

>>> import blueprint as bp
>>> book = bp.build("default", preset="verl", set={"ppo.gamma": 0.95})
>>> print(book["advantages"].loc[1, 5].round(4))
0.8341
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from reprlib import repr as short
from typing import TYPE_CHECKING, Any

from blueprint.asked import changes_of, is_path, path_of, refuse_unless, word_of
from blueprint.book import Book
from blueprint.workbooks.registry import blueprint_of, guided, kinds, level_of, outline_of

if TYPE_CHECKING:
    from pandas import DataFrame

    from blueprint.checking.checker import Outcome
    from blueprint.dump_comparison import Comparison
    from blueprint.labs.cart_pole import Run as Lab
    from blueprint.reopening import SavedBook
    from blueprint.training.run import Run
    from blueprint.verifying import StepVerdict, Verdict
    from blueprint.worksheets import Worksheet

AnyPath = str | PathLike[str]


def build(
    numbers: AnyPath | Mapping[str, Any] | Sequence[Mapping[str, Any]] | DataFrame = "default",
    *,
    kind: str | None = None,
    preset: str | None = None,
    set: Mapping[str, Any] | None = None,
    conventions: str | None = None,
    compare: str | None = None,
    gradients: bool = False,
) -> Book:
    """Computes RLHF PPO, or another workbook, from its numbers: a book that can be read, explained and saved.

    numbers: a built-in name (`bp.built_in()`), a path ending in .toml, the same tables as dicts, with lists or arrays in them; or
        rows of your own, a list of dicts or a DataFrame, as in `blueprint numbers FILE --kind`.
    kind: of which kind the rows are: dpo, grpo, reward_model or sft; said for rows alone.
    set: other values by dotted key. preset, conventions, compare, gradients: as in `blueprint build`.
    Raises NumbersError for numbers that are none, in a sentence, and NoNumber where a computation ends.

    >>> import blueprint as bp
    >>> book = bp.build("default", set={"ppo.gamma": 0.95})
    >>> book["advantages"].shape
    (2, 8)
    >>> bp.build({"level": "weights", "sizes": {"max_new_tokens": 3}, "ppo": {"gamma": 0.9}})["advantages"].columns.name
    'position'
    >>> sums = [{"prompt": "1+1", "response": text, "reward": text == "2"} for text in ("2", "3")]
    >>> bp.build(sums, kind="grpo")["advantages"].shape[0]
    2
    """
    from blueprint.inputs import NumbersError, load

    given = {"preset": preset, "conventions": conventions, "compare": compare, "gradients": "on" if gradients else None}
    chosen = {key: value for key, value in given.items() if value is not None}
    changes = changes_of(set, NumbersError, IN_NUMBERS)
    refuse_unless(isinstance(gradients, bool), NumbersError, "gradients", gradients, "True or False")
    known = is_path(numbers) or (isinstance(numbers, Iterable) and not isinstance(numbers, bytes))
    refuse_unless(known, NumbersError, "numbers", numbers, "a name, a path, tables, or rows of your own")
    source: Any = numbers
    if not is_path(numbers) and not isinstance(numbers, Mapping):
        source = _tables_of(numbers, kind)
    elif kind is not None:
        raise NumbersError(
            f"kind: found {short(kind)}, but {short(numbers)} says its own; leave it out: it is said for rows alone"
        )
    loaded = load(source, {**chosen, **changes})
    return Book(outline_of(loaded), finished=partial(guided, numbers=loaded))


def _tables_of(rows: Any, kind: str | None) -> Mapping[str, Any]:
    """Returns the tables of a numbers file that rows of one's own make."""
    import json
    from tempfile import TemporaryDirectory

    from blueprint.inputs import NumbersError

    able = {each.name: each for each in kinds() if each.rows is not None}
    if not isinstance(kind, str) or kind not in able:
        raise NumbersError(
            f"kind: found {kind}, but rows of your own are of a kind: write one of {', '.join(sorted(able))}"
        )
    twice = (
        [name for name, there in zip(rows.columns, rows.columns.duplicated(), strict=True) if there]
        if hasattr(rows, "columns")
        else []
    )
    if twice:
        raise NumbersError(f"rows: found two columns called {twice[0]}; give each column a name of its own.")
    records: list[Any] = rows.to_dict("records") if hasattr(rows, "columns") else list(rows)
    for each in records:
        refuse_unless(
            isinstance(each, Mapping),
            NumbersError,
            "rows",
            each,
            'a dict for each row, such as {"prompt": "2 + 2", …}.',
        )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text("".join(json.dumps(dict(row), default=_plain) + "\n" for row in records), encoding="utf-8")
        try:
            tables, _ = able[kind].part("rows")(path, (), None, None)
        except NumbersError as error:  # no file of that name is known to who asks
            raise NumbersError(str(error).replace(path.name, "rows")) from None
    return dict(tables)


def _plain(value: Any) -> Any:
    """Returns an array, or one of its numbers, as JSON has it; what pandas calls missing is none."""
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return value.tolist() if hasattr(value, "tolist") else str(value)


def run(
    numbers: AnyPath | Mapping[str, Any] = "reward-up",
    *,
    folder: AnyPath | None = None,
    set: Mapping[str, Any] | None = None,
    beta: float | Sequence[float] | None = None,
    seeds: int | None = None,
    device: str = "cpu",
    ray: str | None = None,
) -> Run:
    """Trains a small policy by RLHF, from demonstrations to the last iteration of PPO, for several KL coefficients at once.

    numbers: the built-in "reward-up", a file.toml, tables, or the folder of a run, which is read as far as it has come.
    folder: where the run is kept; one that was killed goes on there. set: other values by dotted key. beta, seeds: how many runs.
    ray: the address of a Ray cluster that shares them out, "auto", or "local" to begin one here.
    Raises NumbersError, RunError and RayError in a sentence. Needs torch.

    >>> import blueprint as bp
    >>> small = {"update.iterations": 2, "sft.steps": 5, "reward_model.steps": 5, "comparisons.pairs": 20}
    >>> bp.run(set=small, beta=0.1).frame().shape[0]
    2
    """
    from blueprint.inputs import NumbersError
    from blueprint.training.folder import is_run
    from blueprint.training.run import opened, trained
    from blueprint.training.run_toml import run_numbers

    changes = {
        **changes_of(set, NumbersError, '{"update.iterations": 80}'),
        **({} if beta is None else {"ppo.kl_coef": beta}),
        **({} if seeds is None else {"seeds": seeds}),
    }
    named = isinstance(numbers, Mapping) or is_path(numbers)
    refuse_unless(
        named, NumbersError, "numbers", numbers, 'a name, a path, tables, or the folder of a run: bp.run("reward-up")'
    )
    refuse_unless(folder is None or is_path(folder), NumbersError, "folder", folder, 'a path: folder="my-run"')
    word_of(ray, NumbersError, "ray", "auto")
    some = isinstance(beta, int | float | None) or (not isinstance(beta, str) and len(beta) > 0)
    refuse_unless(some, NumbersError, "beta", beta, "a number, or a list of them: beta=[0, 0.1, 1]")
    if not isinstance(numbers, Mapping) and is_run(Path(numbers)):
        given = [name for name, each in {**changes, "folder": folder, "ray": ray}.items() if each is not None]
        refuse_unless(
            not given, NumbersError, "numbers", numbers, f"another run, or nothing of {', '.join(given)}: it is kept"
        )
        return opened(Path(numbers), device)
    source = numbers if isinstance(numbers, Mapping) else str(numbers)
    return trained(run_numbers(source, changed=changes), Path(folder) if folder else None, device, ray=ray)


def lab(
    name: str = "cart-pole",
    *,
    method: str = "ppo",
    recipe: str | None = None,
    seed: int = 0,
    steps: int = 100_000,
    set: Mapping[str, Any] | None = None,
) -> Lab:
    """Trains a small agent by the loss of classic PPO: `.frame()`, `.episodes()`, `.evaluate()`, `.minibatch(iteration, number)`.

    name: cart-pole. method: ppo, a2c or reinforce. recipe: tutorial or by-hand. steps: of all environments together. set: other
        values by key. Raises LabError in a sentence. Needs torch and gymnasium.

    >>> import blueprint as bp
    >>> bp.lab("cart-pole", method="sarsa")
    Traceback (most recent call last):
    blueprint.labs.settings.LabError: there is no method sarsa: write one of ppo, a2c, reinforce
    """
    from blueprint.labs.cart_pole import trained
    from blueprint.labs.settings import LabError, settings

    if name != "cart-pole":
        raise LabError(f"there is no lab {name!r}: write cart-pole")
    return trained(settings(method, recipe=recipe, seed=seed, steps=steps, changed=set or {}))


def built_in() -> DataFrame:
    """Lists what `build` knows by name: a row for each, with what it is."""
    import pandas as pd

    from blueprint.inputs import names

    return pd.DataFrame(names(), columns=["numbers", "about"]).set_index("numbers")


IN_NUMBERS = '{"ppo.gamma": 0.95}'
"""Other values, as `set` takes them."""


def _loaded(numbers: Any, changes: Mapping[str, Any]) -> Any:
    """Returns numbers by a name, a path or tables. Raises NumbersError for anything else."""
    from blueprint.inputs import NumbersError, load

    named = is_path(numbers) or isinstance(numbers, Mapping)
    refuse_unless(named, NumbersError, "numbers", numbers, 'a name, a path or tables, such as "ten-libraries"')
    return load(numbers, changes)


def presets(numbers: str = "default") -> DataFrame:
    """Lists the libraries and papers whose conventions a workbook can have: a row for each, and a column for each setting.

    numbers: a built-in name or a path, whose kind of workbook is meant.
    Raises NumbersError where it offers none.
    """
    import pandas as pd

    from blueprint.inputs import NumbersError

    level = level_of(_loaded(numbers, {}))
    if level.presets is None:
        raise NumbersError(f"{numbers}: this kind of workbook has no presets")
    found = level.presets().presets.values()
    rows = {
        each.name: {"title": each.title, "version": each.version, "source": each.source, **each.values}
        for each in found
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("preset")


def which(numbers: AnyPath = "default", *presets: str, set: Mapping[str, Any] | None = None) -> DataFrame:
    """Computes one batch by the conventions of several libraries: a row for each, with its numbers and what moves its loss most.

    presets: whose, all of them if none is named; the default stands first. set: other values by dotted key.
    Raises NumbersError for numbers whose kind has no presets to compare.
    """
    import pandas as pd

    from blueprint.comparison import answers, told_of
    from blueprint.inputs import NumbersError

    changes = changes_of(set, NumbersError, IN_NUMBERS)
    for each in presets:
        refuse_unless(
            isinstance(each, str),
            NumbersError,
            "presets",
            each,
            'names, each by itself: bp.which(numbers, "verl", "openrlhf")',
        )
    level = level_of(_loaded(numbers, {}))
    if "compare" not in level.keys:
        raise NumbersError(f"{numbers}: libraries can be compared only from weights or logits on, as in ten-libraries")
    _, of = told_of(level.word)
    loaded = _loaded(numbers, {**changes, **dict(each.split("=", 1) for each in of.asked)})
    book = Book(blueprint_of(loaded), beyond=True)
    rows = {
        each.preset.name: {**each.numbers, "moved most by": each.effects[0].key if each.effects else ""}
        for each in answers(book, presets)
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("preset")


def worksheet(book: Book, blanks: int | None = None, *, level: int = 1, topic: str = "", seed: str = "") -> Worksheet:
    """Makes a worksheet of a book: `.book` is what a student fills in, `.filled_in` the same with the answers, `.blanks` which.

    blanks: how many, 12 if nothing is said. level: 1 single cells, 2 whole rows, 3 whole sections. topic: such as "gae", of which
        alone blanks are chosen. seed: another seed chooses other blanks.
    Raises WorksheetError where it cannot be made.
    """
    from blueprint.worksheets import WorksheetError
    from blueprint.worksheets import worksheet as made

    if not isinstance(book, Book):
        raise WorksheetError(f"book: found {short(book)}, expected a book, as in bp.worksheet(bp.build('default'))")
    whole = {"blanks": 12 if blanks is None else blanks, "level": level}
    for name, number in whole.items():
        refuse_unless(type(number) is int, WorksheetError, name, number, "a whole number")
    for name, word, example in (("topic", topic, "gae"), ("seed", seed, "7")):
        refuse_unless(isinstance(word, str), WorksheetError, name, word, f"a text: {name}={example!r}")
    return made(book.blueprint, blanks, level, seed=seed, topic=topic)


def open(path: AnyPath) -> SavedBook:
    """Opens a saved workbook, edited or not: a book of what is typed in it. Raises ReadError for a file that is none of ours."""
    from blueprint.reopening import ReadError, book_of

    return book_of(path_of(path, ReadError, "path", 'bp.open("verl.xlsx")'))


def check(*paths: AnyPath, device: str = "auto", dtype: str = "float64") -> Outcome:
    """Holds saved workbooks against torch, cell by cell: `.frame` has a row for each quantity of each file.

    Raises ReadError for a file that cannot be read, WitnessError for a device, and ImportError without torch.
    """
    from blueprint.checking import Checked
    from blueprint.checking.checker import check as held_against_torch
    from blueprint.reopening import ReadError

    example = 'bp.check("verl.xlsx")'
    refuse_unless(paths, ReadError, "paths", paths, f"one or more, as in {example}")
    files = [Checked(path_of(path, ReadError, "paths", example)) for path in paths]
    return held_against_torch(files, device, dtype)


def verify(
    *paths: AnyPath,
    preset: str | None = None,
    set: Mapping[str, Any] | None = None,
    tolerance: float = 1.0,
    device: str = "cpu",
) -> Verdict | StepVerdict:
    """Computes a minibatch of a real run again: `.first` is what went wrong first, `.causes` why, `.agrees` whether nothing did.

    paths: one file, or the files of one step, which are joined. A rollout of classic PPO is computed by its own conventions.
    preset: whose conventions, if the file does not say it. set: other values by key. tolerance: multiplies every tolerance.
    Raises MinibatchError for a file that cannot be read or not be computed with, and ImportError without torch.
    """
    from blueprint.dumps import MinibatchError, read_dump
    from blueprint.verifying import SMALLEST_TOLERANCE, VerifyOptions, known_device, verify_dumps, verify_one

    example = 'bp.verify("run.safetensors")'
    refuse_unless(paths, MinibatchError, "paths", paths, f"one or more, as in {example}")
    files = [path_of(path, MinibatchError, "paths", example) for path in paths]
    word_of(preset, MinibatchError, "preset", "verl")
    changes = tuple(f"{key}={value}" for key, value in changes_of(set, MinibatchError, IN_NUMBERS).items())
    held = isinstance(tolerance, int | float) and SMALLEST_TOLERANCE <= tolerance < float("inf")
    refuse_unless(held, MinibatchError, "tolerance", tolerance, f"a factor, {SMALLEST_TOLERANCE:g} or more")
    known_device(device)
    options, dumps = VerifyOptions(preset, changes, tolerance, device), [read_dump(path) for path in files]
    return verify_one(dumps[0], options).verdict if len(dumps) == 1 else verify_dumps(dumps, options)


def compare(
    a: AnyPath | Sequence[AnyPath],
    b: AnyPath | Sequence[AnyPath],
    *,
    preset: str | Sequence[str] | None = None,
) -> Comparison:
    """Says where two frameworks' dumps of one step first differ, `.first`, and which settings explain it, `.conventions.needed`.

    a, b: a file each, several files of one step, or a folder with them. preset: whose conventions, if the files do not say it; one
        for both, or a's and b's. `print` prints what `blueprint compare` does.
    Raises MinibatchError for files that cannot be read, or are of different batches or kinds, and ImportError without torch.

    >>> import blueprint as bp
    >>> bp.compare("run.safetensors", "elsewhere.safetensors")
    Traceback (most recent call last):
    blueprint.dumps.formats.raw.MinibatchError: run.safetensors: there is no such file.
    """
    from blueprint.dump_comparison import compare_sides, read_side
    from blueprint.dumps import MinibatchError, require

    for name, side in (("a", a), ("b", b)):
        some = is_path(side) or (isinstance(side, list | tuple) and all(map(is_path, side)))
        refuse_unless(some, MinibatchError, name, side, 'a path, or a list of paths, as in bp.compare("a.pt", "b.npz")')
    named = preset is None or isinstance(preset, str | list | tuple)
    refuse_unless(named, MinibatchError, "preset", preset, 'a name, or two: preset=("verl", "openrlhf")')
    presets = (preset, preset) if preset is None or isinstance(preset, str) else tuple(preset)
    for each in presets:
        word_of(each, MinibatchError, "preset", "verl")
    require(len(presets) == 2, f"preset: found {len(presets)} names, expected one for both, or two, a's and b's.")
    return compare_sides(read_side(a), read_side(b), (presets[0], presets[1]))
