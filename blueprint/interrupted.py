"""Ctrl-C: what it does while the command is loaded, while it works, and in the processes that it begins.

The first thing that is imported, and it imports next to nothing: half a second goes by until a command begins, in which an
interruption would end in a page of Python's own. A program that imports this package keeps its own ways.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

CODE = 130
"""How a command ends that was interrupted: 128 and the number of SIGINT, as shells have it."""
_heard: list[int] = []


def while_loading() -> None:
    """Makes Ctrl-C end the process at once and without a word, where it was begun as our command: nothing is unfinished yet."""
    if _is_command(sys.orig_argv) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_at_once)


def _is_command(words: list[str]) -> bool:
    """Tells from the words that began the process whether it is `blueprint` or `python -m blueprint`."""
    program = next((word for word in words[1:] if not word.startswith("-")), "")
    return words[1:3] == ["-m", "blueprint"] or os.path.splitext(os.path.basename(program))[0] == "blueprint"


def _end_at_once(number: int, frame: FrameType | None) -> None:
    os._exit(CODE)


@contextmanager
def while_working() -> Iterator[None]:
    """Makes Ctrl-C raise KeyboardInterrupt, and notes it: a module that is just being loaded may make another error of it."""
    _heard.clear()
    with _answering(_raise):
        yield


def happened() -> bool:
    """Tells whether the command that works, or has ended last, was interrupted."""
    return bool(_heard)


def _raise(number: int, frame: FrameType | None) -> None:
    _heard.append(number)
    raise KeyboardInterrupt


@contextmanager
def unheard() -> Iterator[None]:
    """Lets processes begin that do not hear Ctrl-C, which ends them through this one alone."""
    with _answering(signal.SIG_IGN):
        yield


@contextmanager
def _answering(how: object) -> Iterator[None]:
    """Answers SIGINT in a way of its own; in no thread but the main one, which alone hears of it, nor where it is ignored."""
    before = signal.getsignal(signal.SIGINT)
    try:
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, how)  # type: ignore[arg-type]
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


while_loading()
