"""The door of every command: whatever goes wrong behind it ends in one sentence, and nothing unfinished stays."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import click

from blueprint.commands.refusals import Refused, Unreadable
from blueprint.quoting import unquoted
from blueprint.workbooks.kind import KindError

TRACEBACK = "BLUEPRINT_TRACEBACK"
"""The environment variable with which a developer sees where something went wrong."""
LONGEST = 120
"""Letters of somebody else's message that are shown."""
ENDING = ("SIGTERM", "SIGHUP")
_PASSED_ON = (
    click.ClickException, click.exceptions.Exit, click.Abort, SystemExit, KeyboardInterrupt, GeneratorExit, BrokenPipeError,
)  # fmt: skip


class Door(click.Group):
    """A group of commands of which none ends in a traceback: what nobody foresaw is one sentence, and exit code 3."""

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        """Reads the command line; --help and --version print at once."""
        with answering(lambda: "blueprint"):
            return super().make_context(*given, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs a command."""
        _need_folder()
        with answering(lambda: ctx.invoked_subcommand or "blueprint"), ended_by_signals():
            return super().invoke(ctx)


@contextmanager
def answering(command: Callable[[], str]) -> Iterator[None]:
    """Turns what nobody foresaw into one sentence of a command, unless a developer asks for the traceback."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # here, so that a full disk behind a redirection is told and not lost
    except _PASSED_ON:
        raise
    except KindError as error:
        raise Refused(str(error)) from error
    except BaseException as fault:  # a panic in ironcalc's Rust is no Exception
        if os.environ.get(TRACEBACK):
            raise
        _let_go_of_stdout()
        raise Unreadable(told(fault, command())) from fault


def _need_folder() -> None:
    """Refuses to begin in a folder that was deleted: torch, for one, ends the program there without a word of ours."""
    try:
        os.getcwd()
    except OSError as error:
        raise Refused("the folder that you are in is no longer there: change to another one, with cd") from error


def told(fault: BaseException, command: str) -> str:
    """Returns one sentence on what went wrong behind a command's back."""
    if isinstance(fault, MemoryError):
        return f"{command} needs more memory than there is: give it a smaller file, or more room"
    if isinstance(fault, OSError) and fault.strerror:
        name = f" ({unquoted(os.fsdecode(fault.filename), LONGEST)})" if isinstance(fault.filename, str | bytes) else ""
        return f"{command} was stopped by the system: {fault.strerror.lower()}{name}"
    said = ": ".join(filter(None, (type(fault).__name__, unquoted(fault, LONGEST))))
    return (
        f"{command} came upon something that it has no answer to ({said}): please report it, with what you typed and "
        f"the file; {TRACEBACK}=1 in the environment shows where it was"
    )


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Ends a command on SIGTERM as on Ctrl-C: from within, so that what it has not finished is taken away."""
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
