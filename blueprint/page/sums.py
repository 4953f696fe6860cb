"""Tiles: how many decimals the result and its parts show, so that the displayed parts come to the displayed result."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from blueprint.page import digits

TILE_DECIMALS = (4, 5, 6)
"""How many decimals a tile may show, the best first."""
TOLERANCE = 1e-9
TIMES = "×"


@dataclass(frozen=True)
class Sum:
    """A result, the numbers on its tiles, and the sign before each: what comes first, then + − or ×."""

    result: float | str
    parts: tuple[float | str, ...]
    signs: tuple[str, ...]

    def decimals(self) -> tuple[int, int]:
        """Returns the fewest decimals of the tiles, and of the result, with which the tiles come to the result."""
        ways = ((many, shown) for many in TILE_DECIMALS for shown in TILE_DECIMALS if shown <= many)
        return next((way for way in ways if self.agrees(*way)), (TILE_DECIMALS[0],) * 2)

    def agrees(self, decimals: int, shown: int) -> bool:
        """Tells whether the tiles come to the result as they are displayed."""
        if not self.parts or not self._are_numbers():
            return False
        displayed = self._total([float(digits.half_up(float(part), decimals)) for part in self.parts])
        return digits.half_up(displayed, shown) == digits.half_up(float(self.result), shown)

    def sign(self, decimals: int, shown: int) -> str:
        """Returns = where the displayed tiles come to the result, ≈ where only all their digits do, … where they do not."""
        if not self._are_numbers():
            return "="
        if self.agrees(decimals, shown):
            return "="
        off = abs(self._total([*map(float, self.parts)]) - float(self.result))
        return "≈" if off <= TOLERANCE * (1 + abs(float(self.result))) else "…"

    def sign_formula(self, cells: Sequence[str], decimals: str, shown: str, tolerance: str) -> str:
        """Spells the sign. cells: those of the result and of each tile. decimals, shown, tolerance: the cells of these numbers."""
        result, *parts = cells
        displayed = self._spelled([f"ROUND({part},{decimals})" for part in parts])
        agrees = f"ABS(ROUND({displayed},{shown})-ROUND({result},{shown}))<{tolerance}"
        near = f"ABS({self._spelled(parts)}-{result})<={tolerance}*(1+ABS({result}))"
        return f'IFERROR(CHOOSE((1-({agrees}))*(2-({near}))+1,"=","≈","…"),"=")'  # without numbers nothing is claimed

    def _are_numbers(self) -> bool:
        return not any(isinstance(each, str) or not isfinite(each) for each in (self.result, *self.parts))

    def _total(self, parts: Sequence[float]) -> float:
        total, *others = parts
        for sign, part in zip(self.signs[1:], others, strict=True):
            total = total * part if sign == TIMES else total - part if sign == "−" else total + part
        return total

    def _spelled(self, parts: Sequence[str]) -> str:
        spelled, *others = parts
        for sign, part in zip(self.signs[1:], others, strict=True):
            spelled = f"({spelled}{'*' if sign == TIMES else '-' if sign == '−' else '+'}{part})"
        return spelled
