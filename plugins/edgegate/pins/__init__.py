"""Which version of each component is used, why, and where it comes from: `pins.toml`, read and checked."""

from edgegate.pins.model import Chosen, DebPackage, DebRecipe, GoRecipe, Pin, Pins, PypiRecipe, Recipe, Selection
from edgegate.pins.reader import load

__all__ = [
    "Chosen",
    "DebPackage",
    "DebRecipe",
    "GoRecipe",
    "Pin",
    "Pins",
    "PypiRecipe",
    "Recipe",
    "Selection",
    "load",
]
