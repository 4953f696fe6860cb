"""Backpropagation as a transform of the notation: for each block between a total and its weights, one with its adjoint."""

from blueprint.language.gradient.declared import Adjoint, Declared, OneHot
from blueprint.language.gradient.made import Gradient
from blueprint.language.gradient.transform import gradient

__all__ = ["Adjoint", "Declared", "Gradient", "OneHot", "gradient"]
