"""The kernel knows nothing of what its workbooks are about: no name, text or comment of it has a word of RL."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import blueprint

SOURCE = Path(blueprint.__file__).parent
KERNEL = (
    *sorted((SOURCE / "language").rglob("*.py")),
    *sorted((SOURCE / "page").rglob("*.py")),
    *(SOURCE / f"{name}.py" for name in ("book", "files", "quoting", "title_card")),
)
LISTED = """
action actions actor advantage advantages agent batch batches critic critics decision decisions discount dpo draw draws dump dumps
entropy environment environments eos episode episodes epoch epochs gae grpo kl learner logit logits logprob
logprobs loss losses lr minibatch minibatches openrlhf optimiser optimizer policies policy ppo preset presets prompt prompts rl rlhf
reinforcement response responses reward rewards rollout rollouts sft softmax token tokens torchrl trajectory trl verl vocabulary
whiten whitened whitening
"""
WORDS = frozenset(LISTED.split())
FOREIGN = {
    "blueprint_token": "the defined name of the cell that says whose copy of a worksheet a file is",
    "Token": "openpyxl's class of a piece of a formula",
    "dumps": "json's function that spells a value",
    "SOURCE_DATE_EPOCH": "a variable that programs agree on: when a file says it was made",
}
"""Names in the kernel that mean something else, with what they mean."""
ALLOWED = {
    "files.py": {"RLHF": "the program's name, of which a message says that it cannot write a file"},
    "title_card.py": {"preset": "the fact of a workbook that says whose settings it has"},
    "book.py": {"loss": "what people ask a book for: the number that everything leads to, whatever its name"},
}
"""Words of RL that a file of the kernel has, each with its reason."""
NOT_OURS = re.compile(rf"\b({'|'.join(FOREIGN)})\b")
PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def found_in(source: str) -> Iterator[tuple[int, str]]:
    """Yields line and word of every word of RL among a file's names, texts and comments; keywords are no names."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        for piece in PIECES.findall(NOT_OURS.sub("", token.string)):
            if piece.lower() in WORDS:
                yield token.start[0], piece


@pytest.mark.parametrize("path", KERNEL, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_the_kernel_has_no_word_of_rl(path: Path) -> None:
    found = [each for each in found_in(path.read_text(encoding="utf-8")) if each[1] not in ALLOWED.get(path.name, {})]
    assert found == []


def test_an_exception_that_nobody_needs_goes() -> None:
    for name, words in ALLOWED.items():
        assert words.keys() <= {word for _, word in found_in((SOURCE / name).read_text(encoding="utf-8"))}


@pytest.mark.parametrize(
    "line",
    [
        "old_policy = 1",
        "class TokenPlacer: ...",
        "def f(mean_reward): ...",
        "x.advantages",
        'told = "the next decision"',
        'told = f"columns from one episode to {x}"',
        '"""Share of loss."""',
        "x = 1  # as in PPO",
        "KL_COEF = 0.2",
    ],
)
def test_a_planted_word_is_seen(line: str) -> None:
    assert len(list(found_in(f"from __future__ import annotations\n{line}\n"))) == 1


def test_what_means_something_else_stands_somewhere() -> None:
    read = " ".join(path.read_text(encoding="utf-8") for path in KERNEL)
    assert [word for word in FOREIGN if not re.search(rf"\b{word}\b", read)] == []
