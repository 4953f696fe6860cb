"""Printing on consoles that know only some letters: a Greek one is spelled out there instead of ending the program."""

from __future__ import annotations

import codecs
import sys
from io import TextIOWrapper

import click

from blueprint.quoting import page

PLAIN = {
    "−": "-", "·": "*", "≤": "<=", "≥": ">=", "‖": "||", "∣": "|", "√": "sqrt", "²": "^2", "…": "...", "“": '"', "”": '"',
    "↓": "down", "→": "->", "Σ": "sum", "Â": "A^", "Δ": "Delta", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "eps",
    "θ": "theta", "λ": "lambda", "μ": "mu", "π": "pi", "ρ": "rho", "σ": "sigma",
}  # fmt: skip


def say(text: str, err: bool = False) -> None:
    """Prints a page in which everything can be seen, whatever it quotes of a file."""
    click.echo(page(text), err=err)


def speak_plainly() -> None:
    """Makes the standard streams spell out what their encoding has no letter for (Windows, redirected output)."""
    codecs.register_error("plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(PLAIN.get(letter, "?") for letter in error.object[error.start : error.end]), error.end
