"""Map of the values of an image's pixels (paper, Figure 1, top)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage.errors import InputError, PythonOnly
from clarysage.plots.axes import axis_inches, check, convergence_note, is_count, literal, note, open_axis, value_label
from clarysage.results import Explanation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONG_SIDE, SHORT_SIDE = 4.2, 3.2  # inches of the longer side of the image, and at least of the other, for the texts


def pixels(
    explanation: Explanation, shape: tuple[int, int], *, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Map of the values of an image's pixels, or of patches of it: blue improves performance, red hurts it.

    Parameters
    ----------
    explanation : what to draw; its players are the pixels, row by row from the top left
    shape : (height, width) of the image in players
    ax : axis to draw on, which gives some space to the colour bar; default a new figure
    title : text above the axis

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    White is zero, and the colour scale is symmetric. A map cannot show intervals: the note below has the largest
    standard error, and values smaller than about twice that may be sampling error.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> ax = pixels(cs.sage(lambda X: X[:, 1], X, X[:, 1], rng=0), (2, 2))
    >>> int(ax.images[0].get_array().argmax())  # the second pixel of the first row
    1
    """
    check(explanation, ax)
    height, width = _checked(shape, len(explanation.values))
    inch = LONG_SIDE / max(height, width)
    ax = open_axis(ax, max(width * inch, SHORT_SIDE) + 1.3, max(height * inch, SHORT_SIDE) + 0.9)
    _draw(ax, explanation.values.reshape(height, width), value_label(explanation))
    note(ax, _sentences(explanation), 0.85 * axis_inches(ax)[0])
    if title is not None:
        ax.set_title(title)
    return ax


def _draw(ax: Any, values: np.ndarray, label: str) -> None:
    largest = float(np.abs(values).max()) or 1.0
    image = ax.imshow(values, cmap="RdBu", vmin=-largest, vmax=largest, interpolation="nearest")
    ax.set_xticks([])
    ax.set_yticks([])
    bar = ax.figure.colorbar(image, ax=ax)
    bar.set_label(f"{literal(label)}\nred hurts, blue improves")


def _sentences(explanation: Explanation) -> list[str]:
    if explanation.draws == 0:
        return [*convergence_note(explanation), "The values have no sampling error."]
    error = f"Largest standard error (sampling error of this run only): {explanation.std_error.max():.2g}."
    return [*convergence_note(explanation), error]


def _checked(shape: object, n_values: int) -> tuple[int, int]:
    is_pair = isinstance(shape, (tuple, list)) and len(shape) == 2 and all(map(is_count, shape))
    if not is_pair:
        raise InputError(
            "shape", got=f"{shape!r}", wanted="height and width, two whole numbers", hint=PythonOnly("shape=(28, 28)")
        )
    height, width = map(int, shape)  # type: ignore[call-overload]
    if height * width != n_values:
        raise InputError(
            "shape",
            got=f"{height} x {width} = {height * width} pixels",
            wanted=f"as many as the explanation has values: {n_values}",
        )
    return height, width
