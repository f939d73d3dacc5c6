"""Factors and offsets between units that people use."""

from __future__ import annotations

TIMES = (60.0, 3600.0, 24.0, 1440.0, 86_400.0, 7.0, 12.0, 365.25)
PREFIXES = (10.0, 100.0, 1e3, 1e6, 1e9, 1024.0)
MEASURES = (2.20462, 1.609344, 3.28084, 2.54, 3.6)  # pounds, miles, feet, inches, metres a second
FACTORS = (*TIMES, *PREFIXES, *MEASURES)
CONVERSIONS = {
    "Celsius to Fahrenheit": (1.8, 32.0),
    "Fahrenheit to Celsius": (1 / 1.8, -32 / 1.8),
    "Celsius to Kelvin": (1.0, 273.15),
    "Kelvin to Celsius": (1.0, -273.15),
    "Fahrenheit to Kelvin": (1 / 1.8, 273.15 - 32 / 1.8),
    "Kelvin to Fahrenheit": (1.8, 32 - 1.8 * 273.15),
}
NEAR = 1.12  # how many times a factor may be one that is known, to be tried as that


def near_units(factor: float) -> list[float]:
    """Known factors about as large, the nearest first.

    Examples
    --------
    >>> near_units(57.0), near_units(0.15)
    ([60.0], [0.14285714285714285])
    """
    known = [unit for size in FACTORS for unit in (size, 1 / size)]
    off = {unit: max(factor / unit, unit / factor) for unit in known}
    return sorted((unit for unit in known if off[unit] < NEAR), key=lambda unit: off[unit])
