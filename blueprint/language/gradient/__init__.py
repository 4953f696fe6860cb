"""Backpropagation as a transform of the notation: for each block between a total and its weights, one with its adjoint."""

from blueprint.language.gradient.adjoints import Gradient, gradient
from blueprint.language.gradient.derivatives import Adjoint, Declared, OneHot

__all__ = ["Adjoint", "Declared", "Gradient", "OneHot", "gradient"]
