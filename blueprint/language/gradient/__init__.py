"""Backpropagation as a transform of the notation: for each block between a total and its weights, one with its adjoint."""

from blueprint.language.gradient.graph import Adjoint, Declared, OneHot
from blueprint.language.gradient.transform import Gradient, gradient

__all__ = ["Adjoint", "Declared", "Gradient", "OneHot", "gradient"]
