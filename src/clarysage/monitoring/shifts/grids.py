"""Steps that numbers keep to: whole numbers, tens, one decimal."""

from __future__ import annotations

import numpy as np

STEPS = tuple(10.0**power for power in range(6, -7, -1))


def step_of(values: np.ndarray) -> float:
    """The largest power of ten that all numbers are multiples of; 0 where there is none.

    Examples
    --------
    >>> step_of(np.array([10.0, 30.0])), step_of(np.array([0.5, 2.0])), step_of(np.array([1 / 3]))
    (10.0, 0.1, 0.0)
    """
    if not len(values) or not values.any():
        return 0.0
    return next((step for step in STEPS if is_on(values, step)), 0.0)


def is_on(values: np.ndarray, step: float) -> bool:
    """Whether all numbers are multiples of a step."""
    return bool(step and share_on(values, step) == 1)


def share_on(values: np.ndarray, step: float) -> float:
    """The share of numbers that are multiples of a step, but for the rounding of floats."""
    steps = values / step
    off = np.abs(steps - np.round(steps))
    return float((off <= np.maximum(1e-9, 1e-12 * np.abs(steps))).mean())


def in_steps(step: float) -> str:
    """Steps in words.

    Examples
    --------
    >>> in_steps(1.0), in_steps(100.0), in_steps(0.1)
    ('whole numbers', 'multiples of 100', 'numbers of 1 decimal')
    """
    if step >= 1:
        return "whole numbers" if step == 1 else f"multiples of {step:,.0f}"
    places = round(-np.log10(step))
    return f"numbers of {places} decimal{'s' if places > 1 else ''}"
