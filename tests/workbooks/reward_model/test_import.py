"""What `blueprint import` makes of steps of a reward model: pairs with the scores that the library had, and its loss."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch")

from blueprint.book import Book
from blueprint.dumps import MinibatchError, read_dump
from blueprint.verifying import ViewOptions, verifier_of, verify_dumps
from blueprint.workbooks.registry import blueprint_of
from tests.hooks.trl_formulas import Written, read

REAL = Path(__file__).parents[2] / "data" / "real" / "trl_reward"


def made(path: Path, options: ViewOptions) -> tuple[Book, tuple[str, ...]]:
    """Returns the workbook of some pairs of a file, after it was found to agree with the replay, and what is remarked."""
    dump = read_dump(path)
    (part,) = verify_dumps([dump]).parts
    shown = verifier_of(dump).shown(part.verdict, part.chosen, options)
    book = Book(blueprint_of(shown.numbers("step")))
    agreement = shown.agreement({block.name: array for block, array in book.values.arrays.items()})
    assert len(agreement.distances) >= 5
    assert agreement.apart == []
    return book, shown.remarks


def test_pairs_of_a_real_step_of_trl_become_a_workbook() -> None:
    book, remarks = made(sorted((REAL / "margin").iterdir())[0], ViewOptions())
    found, here = {block.name: each for block, each in book.values.arrays.items()}, read(REAL / "margin")[0]
    assert remarks == ()
    np.testing.assert_allclose(found["chosen.score"], here.tensors["rewards_chosen"], rtol=1e-12)
    assert float(found["total_loss"]) == pytest.approx(here.logged["loss"], abs=1e-6)  # TRL's is float32
    assert float(found["accuracy"]) == here.logged["accuracy"]


def test_scores_alone_are_shown_as_texts_of_one_token(tmp_path: Path) -> None:
    here = read(REAL / "plain")[1]
    kept = {name: here.tensors[name] for name in ("rewards_chosen", "rewards_rejected")}
    path = tmp_path / "scores.safetensors"
    Written(kept, here.settings, here.logged, here.said).save(path)
    book, remarks = made(path, ViewOptions(worst=2))
    found = {block.name: each for block, each in book.values.arrays.items()}
    worst = np.sort(np.argsort(kept["rewards_chosen"] - kept["rewards_rejected"], kind="stable")[:2])
    np.testing.assert_allclose(found["rejected.score"], kept["rewards_rejected"][worst], rtol=1e-12)
    assert len(remarks) == 2


def test_a_row_that_is_not_there_is_refused_in_a_sentence() -> None:
    with pytest.raises(MinibatchError, match=r"has no row 7: it has pairs 0 … 3"):
        made(sorted((REAL / "plain").iterdir())[0], ViewOptions(rows=[7]))
