"""What few background rows tell about a mean prediction over all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Few:
    """The mean of predictions over few background rows, (n, k) each.

    Attributes
    ----------
    plain : mean over the drawn rows alone; a mixture of predictions, so as valid as they are
    mean : the same, corrected by what is known of the drawn rows' own predictions; it scatters less, and may leave the
        range of valid predictions
    variance : of ``mean`` over the draws of rows; unbiased where rows are drawn simply, at random
    """

    plain: np.ndarray
    mean: np.ndarray
    variance: np.ndarray

    @classmethod
    def exactly(cls, mean: np.ndarray) -> Few:
        """Means that are known."""
        return cls(mean, mean, np.zeros_like(mean))
