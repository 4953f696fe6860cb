"""What docs/cart-pole.md shows was computed by the lab, and says what is kept of it."""

from __future__ import annotations

import re
from math import log
from pathlib import Path

import pytest

from blueprint.labs.settings import settings
from blueprint.labs.study import SOLVED, figure_of, read
from tests.labs.figures import FIGURES, FIRST, KEPT, PAGE, PICTURES, STUDIES, draw_all, table, thinned, with_tables

DIGITS = 1e-4
"""How far an early iteration may be from what is kept of it, relatively: six digits are kept, and processors round otherwise."""


def test_the_tables_of_the_page_are_what_is_kept() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page) == page
    assert all(f"blueprint lab cart-pole {options} -o {name}/" in page for name, options in STUDIES.items())
    assert set(re.findall(r"\(pictures/([\w-]+)\.png\)", page)) == set(FIGURES)
    assert all((PICTURES / f"{name}.png").stat().st_size < 200_000 for name in FIGURES)


def test_a_chart_says_what_its_lines_are() -> None:
    figure = figure_of(read(KEPT / "methods"))
    assert figure.get_suptitle() == "pale lines are seeds, bold ones their median"
    assert "clip fraction: ratios outside 1 ± ε" in [panel.get_title(loc="left") for panel in figure.axes]


def test_ppo_solves_it_from_every_seed() -> None:
    results = read(KEPT / "methods").frame()
    ppo = results[results["label"] == "ppo"]
    assert ppo["seed"].tolist() == [0, 1, 2, 3, 4]
    assert (ppo["evaluation"] >= SOLVED).all()
    assert (ppo["steps"] <= 100_000).all()
    assert (read(KEPT / "more").frame()["evaluation"] >= SOLVED).all()
    theirs = results[results["label"] == "Stable-Baselines3"]
    assert theirs["steps"].tolist() == ppo["steps"].tolist()


def test_a_shared_trunk_does_not_and_two_networks_do() -> None:
    results = read(KEPT / "trunk").frame().set_index("label")["evaluation"]
    assert results["shared_trunk true"].max() < SOLVED <= results["shared_trunk false"].min()


def test_sentences_of_the_page_hold() -> None:
    """What stands in words beside the tables: where length would be 0, how the KL grows with ε, how far seeds lie apart."""
    trunk = read(KEPT / "trunk").frame("iterations")
    apart = trunk[trunk["label"] == "shared_trunk false"].groupby("seed")["ended"]
    assert apart.agg(lambda ended: (ended == 0).sum()).tolist() == [10, 8, 12]
    assert apart.count().tolist() == [50, 50, 50]
    clip = read(KEPT / "clip")
    kl = clip.frame("iterations").groupby("label")["kl"].median()
    assert 85 < kl["clip_range 0.5"] / kl["clip_range 0.02"] < 95
    lengths = clip.frame().groupby("label")["evaluation"]
    spread = lengths.max() - lengths.min()
    assert (spread[["clip_range 0.1", "clip_range 0.2"]] > 100).all()
    of_lambda = read(KEPT / "lambda")
    watched = of_lambda.frame("iterations").groupby("label")[["explained_variance", "grad_norm"]].median()
    assert watched["grad_norm"].is_monotonic_increasing
    foreseen = watched["explained_variance"][["gae_lambda 0.5", "gae_lambda 1"]]
    assert foreseen.tolist() == pytest.approx([0.99, 0.56], abs=0.005)
    by_seed = of_lambda.frame().pivot(index="label", columns="seed", values="evaluation")
    assert by_seed.rank().loc["gae_lambda 0.5"].tolist() == [1, 1, 2]
    ppo = read(KEPT / "methods").frame("iterations").query("label == 'ppo'")
    assert ppo[ppo["steps"] <= 5_000]["kl"].median() == pytest.approx(0.01, abs=0.005)
    assert (ppo["grad_norm"] > 0.5).mean() == pytest.approx(0.9, abs=0.05)
    shared = trunk[trunk["label"] == "shared_trunk true"]["value_loss"].median()
    assert 30 < shared < 60


def test_iterations_are_those_of_the_lab() -> None:
    """The first iterations of a run, computed again, are the ones that are kept."""
    pytest.importorskip("torch", reason="labs compute with torch: install the extra [torch]")
    pytest.importorskip("gymnasium", reason="cart-pole is an environment of gymnasium: install the extra [lab]")
    from blueprint.labs.cart_pole import WATCHED, Trainer

    kept = read(KEPT / "methods").frame("iterations")
    for method, seed in (("ppo", 0), ("ppo", 4), ("a2c", 1), ("reinforce", 2)):
        trainer = Trainer(settings(method, seed=seed))
        run = kept[(kept["label"] == method) & (kept["seed"] == seed)].head(FIRST)
        for _, row in run.iterrows():
            *_, seen = trainer.iterate()
            for name in WATCHED:
                assert seen[name] == pytest.approx(row[name], rel=DIGITS, abs=1e-6), (
                    method,
                    seed,
                    row["iteration"],
                    name,
                )


def test_what_was_watched_is_what_it_can_be() -> None:
    for name in STUDIES:
        found = read(KEPT / name).frame("iterations").dropna(subset=["kl"])
        assert (found["kl"] > -1e-12).all()
        assert found["entropy"].between(0, log(2) + 1e-9).all()
        assert found["clip_fraction"].between(0, 1).all()
        assert (found["explained_variance"].dropna() <= 1).all()
        assert found["a2c_gap"].max() < 1e-12


def test_the_pictures_are_drawn_of_what_is_kept(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="charts need matplotlib: install the extra [plot]")
    draw_all(tmp_path)
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(FIGURES)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.iterdir())


def test_thinning_keeps_the_first_and_the_last() -> None:
    import pandas as pd

    runs = pd.DataFrame({"label": "x", "seed": [0] * 500 + [1] * 3, "steps": [*range(500), *range(3)]})
    kept = thinned(runs)
    assert kept["steps"].tolist()[:FIRST] == [*range(FIRST)]
    assert kept[kept["seed"] == 0]["steps"].iloc[-1] == 499
    assert len(kept) < 70
    assert len(kept[kept["seed"] == 1]) == 3
    assert table("trunk").count("\n") == 3
