"""The letters of equations: the part of STIX Two Math that travels with a page has every sign that any workbook needs."""

from __future__ import annotations

import re
from html import unescape
from importlib.resources import files
from io import BytesIO

import pytest

from blueprint.inputs import load
from blueprint.language.spelling.mathml import mathml_equation, mathml_symbol
from blueprint.workbooks import blueprint_of
from tests.page.workshop import BUILT_IN, SLOPED

NUMBERS = "0123456789.,−-+e()"
TAG, WORDS = re.compile(r"<[^>]*>"), re.compile(r"<mtext[^>]*>.*?</mtext>")


@pytest.fixture(scope="module")
def letters() -> frozenset[int]:
    """Returns the signs that the font has."""
    pytest.importorskip("brotli", reason="fonts for the web are packed by brotli: install the extra [test]")
    from fontTools.ttLib import TTFont

    font = TTFont(BytesIO(files("blueprint.web").joinpath("assets", "math.woff2").read_bytes()))
    assert "MATH" in font  # where fractions, roots and subscripts lie
    return frozenset(font.getBestCmap())


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("name", BUILT_IN)
def test_every_sign_of_every_equation_is_in_the_font(letters: frozenset[int], name: str, gradients: bool) -> None:
    blocks = blueprint_of(load(name, ["gradients=on"] if gradients and name in SLOPED else [])).blocks()
    spelled = [mathml_symbol(block.symbol) for block in blocks]
    for block in blocks:
        spelled += [mathml_equation(block, definition) for definition in block.definitions]
    signs = set(unescape(TAG.sub("", WORDS.sub("", "".join(spelled))))) | set(NUMBERS)
    signs -= set("\u2061\u2062\u2063\u2064 \n")  # what is not drawn
    assert len(signs) > 20
    assert {sign for sign in signs if ord(sign) not in letters} == set()
