"""Chromium, and pages of books opened in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from blueprint.book import Book
from tests.page.workshop import made

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
Opened = Callable[..., Any]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Starts the browser once; skips where there is none, and fails if BLUEPRINT_NEEDS_CHROMIUM is set, as in CI."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None  # type: ignore[assignment]
    if CHROMIUM is None or sync_playwright is None:
        missing = "Chromium or playwright is not installed: apt-get install chromium, pip install playwright"
        (pytest.fail if os.environ.get("BLUEPRINT_NEEDS_CHROMIUM") else pytest.skip)(missing)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@cache
def page_text(numbers: str, preset: str | None = None, gradients: bool = False) -> str:
    """Makes the page of built-in numbers, each once."""
    return book_of(numbers, preset, gradients).page().text


def book_of(numbers: str, preset: str | None = None, gradients: bool = False) -> Book:
    """Makes the book of built-in numbers, which tests share."""
    chosen = (f"preset={preset}" if preset else "", "gradients=on" if gradients else "")
    return made(*filter(None, chosen), numbers=numbers)


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Iterator[Opened]:
    """Opens a page from a file, with a record of requests and errors on it: `page.requests`, `page.errors`."""
    contexts = []

    def open_page(text: str, where: str = "", **options: Any) -> Any:
        context = chromium.new_context(**{"viewport": {"width": 1366, "height": 768}, **options})
        contexts.append(context)
        page = context.new_page()
        page.requests, page.errors = [], []
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("console", lambda line: page.errors.append(line.text) if line.type in ("error", "warning") else None)
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        page.goto(f"{path.as_uri()}{where}")
        return page

    yield open_page
    for context in contexts:
        context.close()
