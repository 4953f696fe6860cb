"""Every check can fail: a cell spoiled on purpose turns its verdict, the master check and Start to LOOK."""

from pathlib import Path
from typing import Any

import ironcalc
import pytest

from blueprint.page.read import Found
from tests.page.workshop import located, save_made

# By check: what is spoiled (block, index with edge cells counted) and what is typed there.
SPOILED: dict[str, list[tuple[str, tuple[int, ...], str]]] = {
    "check.sum_old_policy": [("old.p", (0, 4, 2), "0.9")],
    "check.sum_reference": [("reference.p", (1, 3, 0), "0.9")],
    "check.sum_new_policy": [("policy.p", (0, 5, 7), "0")],
    "check.log_old_policy": [("old.logprobs", (0, 4), "0.5")],
    "check.log_reference": [("reference.logprobs", (1, 4), "0.01")],
    "check.log_new_policy": [("policy.logprobs", (0, 6), "1")],
    "check.exact_kl": [("kl.exact", (0, 4), "-0.001")],
    "check.k3": [("kl.k3", (1, 3), "-0.2")],
    "check.returns": [("returns", (0, 4), "3")],
    "check.ratio": [("update_step.yours", (), "0"), ("ratio", (0, 4), "1.0001")],
    "check.total": [("share", (0, 4), "1")],
    "check.parts": [("adds.value_loss", (), "7")],
    "check.settings": [("gamma.yours", (), "1.5")],
    "check.draws": [("rollout.draw", (0, 0), "1")],
    "check.length": [("max_new_tokens", (), "9")],
    "check.lambda_0": [("identity.lambda_0", (0, 4), "2")],
    "check.lambda_1": [("identity.to_go", (0, 5), "2")],
    "check.gamma_0": [("identity.gamma_0", (1, 4), "-3")],
    "check.prompt": [("given", (0, 2), "")],
    "check.empty": [("given", (1, 0), "")],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves the default workbook."""
    return save_made(tmp_path_factory.mktemp("checks") / "a.xlsx")


@pytest.fixture(scope="module")
def places(path: Path) -> dict[str, Found]:
    """Returns where its blocks stand."""
    return located(path)


def test_every_check_is_spoiled_here(places: dict[str, Found]) -> None:
    assert {name.removesuffix(".verdict") for name in places if name.endswith(".verdict")} == set(SPOILED)


@pytest.fixture(scope="module")
def model(path: Path) -> Any:
    """Opens it in the engine; whoever types into it leaves it as it was."""
    return ironcalc.load_from_xlsx(str(path))


@pytest.mark.parametrize("check", SPOILED)
def test_a_spoiled_cell_is_seen(model: Any, places: dict[str, Found], check: str) -> None:
    sheets = {sheet["name"]: number for number, sheet in enumerate(model.get_worksheets_properties())}
    spoiled = [((sheets[places[name].sheet], *places[name].address(at)), typed) for name, at, typed in SPOILED[check]]

    def says(name: str) -> object:
        found = places[name]
        return model.get_cell_value(sheets[found.sheet], found.top, found.left)

    model.evaluate()
    assert (says(f"{check}.verdict"), says("check.master")) == ("OK", "OK")
    before = [(cell, model.get_cell_content(*cell)) for cell, _ in spoiled]
    for cell, typed in spoiled:
        model.set_user_input(*cell, typed)
    model.evaluate()
    assert (says(f"{check}.verdict"), says("check.master")) == ("LOOK", "LOOK")
    (row,) = (row for row in range(1, 40) if model.get_cell_value(sheets["Start"], row, 3) == "all checks")
    assert model.get_cell_value(sheets["Start"], row, 4) == "LOOK"
    for cell, content in before:
        model.set_user_input(*cell, content)
