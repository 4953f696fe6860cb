"""Errors of every command: whatever goes wrong in one ends in one sentence, and nothing unfinished stays."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

import click
from click.exceptions import NoArgsIsHelpError

from blueprint import interrupted
from blueprint.quoting import sentence, unquoted

DIFFERENCE, UNREADABLE, NOT_COMPARED = 1, 3, 4
"""How commands end that found a difference, files that cannot be read, and nothing that could be compared."""
TRACEBACK = "BLUEPRINT_TRACEBACK"
"""The environment variable with which a developer sees where something went wrong."""
LONGEST = 120
"""Letters of somebody else's message that are shown."""
WORDS = "blueprint.words"
"""Where a context keeps the words of its command line."""
ENDING = ("SIGTERM", "SIGHUP")
FILE = click.Path(path_type=Path)
"""A file or a folder, as options and arguments of commands take one."""
_PASSED_ON = (
    click.ClickException, click.exceptions.Exit, click.Abort, SystemExit, GeneratorExit, BrokenPipeError,
)  # fmt: skip


class Sentence(click.ClickException):
    """A message of one line, in which everything can be seen that it quotes: the name of a file may hold anything."""

    def __init__(self, message: str):
        super().__init__(sentence(message))


class Refused(Sentence):
    """Something the user can mend: one sentence, exit code 2."""

    exit_code = 2


class Unreadable(Sentence):
    """A file that cannot be read, or not computed with: one sentence, exit code 3."""

    exit_code = UNREADABLE


class Ended(Sentence):
    """A computation that comes to no number, as an overflow: one sentence, exit code 1, and nothing was written."""


FORESEEN = {
    "ClassError": Refused, "KindError": Refused, "LabError": Refused, "LedgerError": Refused, "NotationError": Refused,
    "NumbersError": Refused, "PageError": Refused, "PlotError": Refused, "RayError": Refused, "RunError": Refused,
    "SaveError": Refused, "ServeError": Refused, "WitnessError": Refused, "WorksheetError": Refused,
    "MinibatchError": Unreadable, "ReadError": Unreadable,
}  # fmt: skip
"""How a command ends that comes upon such an error; by name, so that nothing is loaded before it is needed."""


def require(holds: object, otherwise: str) -> None:
    """Refuses, in a sentence, where something does not hold."""
    if not holds:
        raise Refused(otherwise)


@contextmanager
def ending_in(end: type[Sentence], *errors: type[Exception], before: str = "") -> Iterator[None]:
    """Ends a command at such errors in a way of its own; before: what its sentence begins with."""
    try:
        yield
    except errors as error:
        raise end(f"{before}{error}") from error


def need_torch(command: str) -> None:
    """Refuses in a sentence where torch is not installed."""
    if find_spec("torch") is None:
        raise Refused(f'{command} needs torch, which is not installed: python -m pip install ".[torch]"')


class Door(click.Group):
    """A group of commands of which none ends in a traceback: what nobody foresaw is one sentence, and exit code 3."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **more: Any
    ) -> click.Context:
        """Reads the command line; --help and --version print at once."""
        words = [*args]  # click takes them out of the list
        have_streams()
        with answering(lambda: "blueprint"), quoting_shortly(words):
            context = super().make_context(info_name, args, parent, **more)
        context.meta[WORDS] = words
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Runs a command."""
        _need_folder()
        answers = answering(lambda: ctx.invoked_subcommand or "blueprint")
        with interrupted.while_working(), answers, ended_by_signals(), quoting_shortly(ctx.meta.get(WORDS, [])):
            return super().invoke(ctx)


def have_streams() -> None:
    """Lets what is printed to a stream that was closed (`>&-`, a service) end in nothing, before another file takes its number."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


@contextmanager
def quoting_shortly(words: list[str]) -> Iterator[None]:
    """Cuts what click quotes of a command line, whose words may have any length and hold anything."""
    try:
        yield
    except NoArgsIsHelpError:
        raise  # a command without words is answered by its help, which quotes nothing
    except click.UsageError as error:
        message = error.format_message()
        parts = {part for word in words for part in (word, word.partition("=")[0]) if part}
        for part in sorted(parts, key=len, reverse=True):
            for spelled in (part, repr(part)[1:-1]):
                message = message.replace(spelled, unquoted(part, LONGEST))
        raise click.UsageError(sentence(message), error.ctx) from error


@contextmanager
def answering(command: Callable[[], str]) -> Iterator[None]:
    """Turns errors into one sentence of a command; of those that nobody foresaw a developer may ask for the traceback."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # here, so that a full disk behind a redirection is reported
    except BaseException as fault:  # a panic in ironcalc's Rust is no Exception
        if isinstance(fault, KeyboardInterrupt) or (interrupted.happened() and not isinstance(fault, SystemExit)):
            _let_go_of_stdout()
            raise SystemExit(interrupted.CODE) from None
        if isinstance(fault, _PASSED_ON):
            raise
        if foreseen := [FORESEEN[each.__name__] for each in type(fault).__mro__ if each.__name__ in FORESEEN]:
            raise foreseen[0](str(fault)) from fault
        if os.environ.get(TRACEBACK):
            raise
        _let_go_of_stdout()
        raise Unreadable(explained(fault, command())) from fault


def _need_folder() -> None:
    """Refuses to begin in a folder that was deleted: torch, for one, ends the program there without a word of ours."""
    try:
        os.getcwd()
    except OSError as error:
        raise Refused("the folder that you are in is no longer there: change to another one, with cd") from error


def explained(fault: BaseException, command: str) -> str:
    """Returns one sentence on what went wrong behind a command's back."""
    if isinstance(fault, MemoryError):
        return f"{command} needs more memory than there is: give it a smaller file, or more room"
    if isinstance(fault, OSError) and fault.strerror:
        name = f" ({unquoted(os.fsdecode(fault.filename), LONGEST)})" if isinstance(fault.filename, str | bytes) else ""
        return f"{command} was stopped by the system: {fault.strerror.lower()}{name}"
    what = ": ".join(filter(None, (type(fault).__name__, unquoted(fault, LONGEST))))
    return (
        f"{command} came upon something that it has no answer to ({what}): please report it, with what you typed and "
        f"the file; {TRACEBACK}=1 in the environment shows where it was"
    )


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Ends a command on SIGTERM, as on Ctrl-C, from within, so that what it has not finished is taken away."""
    before: dict[int, Any] = {}
    with suppress(ValueError):  # only the main thread may ask for signals
        for number in (getattr(signal, name) for name in ENDING if hasattr(signal, name)):
            if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores a signal on purpose
                before[number] = signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # once is enough: the second would interrupt the tidying up
    raise SystemExit(128 + number)


def _let_go_of_stdout() -> None:
    """Forgets what could not be printed; else Python tries again at its end, and complains in lines of its own."""
    with suppress(OSError, ValueError):
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def require_folder_of(path: Path | None) -> None:
    """Refuses, before anything is computed, a file whose folder is not there."""
    if path is not None:
        require(path.absolute().parent.is_dir(), f"{path} cannot be written: there is no folder {path.parent}")
