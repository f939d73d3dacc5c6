"""A simulated table of a bank's calls to its customers, and typical corruptions of such a table.

Columns and corruptions are those of the paper's monitoring experiment (Figure 3): a month that is shifted by one, a
duration in seconds or hours instead of minutes. All data are simulated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

TARGET = "subscribed"
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
CALLS = np.array([3, 6, 1, 6, 30, 12, 15, 14, 2, 2, 8, 1]) / 100  # the share of each month
MONTH_EFFECTS = np.array([-0.6, 0.5, 1.8, 0.9, -1.3, 0.8, -0.9, 0.5, 1.7, 1.6, -0.7, 1.9])  # on the log odds
EDUCATION = {"primary": 0.15, "secondary": 0.52, "tertiary": 0.33}
CONTACT = {"cellular": 0.65, "telephone": 0.06, "unknown": 0.29}


def bank(rows: int, rng: np.random.Generator) -> Any:
    """Draws rows as a pandas DataFrame: eight features, and whether the customer subscribed.

    Features are independent. Long calls raise the log odds, more so on a mobile telephone, which is an interaction;
    months have large effects; the other columns matter little, and education not at all.

    Examples
    --------
    >>> table = bank(1000, np.random.default_rng(0))
    >>> table.shape, list(table.columns[[2, 4, 8]])
    ((1000, 9), ['duration', 'month', 'subscribed'])
    """
    import pandas as pd

    month = rng.choice(12, rows, p=CALLS)
    call = rng.normal(size=rows)  # the logarithm of the duration, standardised
    contact = rng.choice(3, rows, p=list(CONTACT.values()))
    table = pd.DataFrame(
        {
            "age": rng.normal(41, 11, rows).clip(18, 95).round(),
            "balance": np.exp(rng.normal(6.5, 1.2, rows)).round(),
            "duration": np.exp(1.1 + 0.8 * call).round(2),  # in minutes
            "campaign": 1 + rng.poisson(1.5, rows),
            "month": pd.Categorical(np.array(MONTHS)[month], categories=list(MONTHS)),
            "housing": pd.Categorical(rng.choice(["no", "yes"], rows, p=[0.45, 0.55])),
            "contact": pd.Categorical(np.array(list(CONTACT))[contact], categories=list(CONTACT)),
            "education": pd.Categorical(rng.choice(list(EDUCATION), rows, p=list(EDUCATION.values()))),
        }
    )
    odds = -1.2 + MONTH_EFFECTS[month] + np.where(contact == 0, 1.5, 0.9) * call - 0.7 * (contact == 2)
    odds += 0.15 * (np.log1p(table["balance"]) - 6.5) - 0.4 * (table["housing"] == "yes")
    odds += 0.02 * np.abs(table["age"] - 41) - 0.05 * table["campaign"]
    return table.assign(**{TARGET: np.where(rng.random(rows) < 1 / (1 + np.exp(-odds)), "yes", "no")})


def bank_model(rng: np.random.Generator, rows: int = 8000) -> Any:
    """Fits gradient boosting to fresh rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    table = bank(rows, rng)
    model = HistGradientBoostingClassifier(
        max_iter=20, max_depth=3, learning_rate=0.3, categorical_features="from_dtype", random_state=0
    )
    return model.fit(table.drop(columns=TARGET), table[TARGET])


@dataclass(frozen=True)
class Corruption:
    """A corruption of one column.

    Examples
    --------
    >>> table = bank(3, np.random.default_rng(0))
    >>> list(table["month"]), list(CORRUPTIONS["month, the next"](table)["month"])
    (['jul', 'may', 'feb'], ['aug', 'jun', 'mar'])
    """

    column: str
    of: Callable[[Any], Any]

    def __call__(self, table: Any) -> Any:
        """Returns the table with the corrupted column."""
        return table.assign(**{self.column: self.of(table[self.column])})


def _next(month: Any) -> Any:
    """Returns the next month."""
    after = dict(zip(MONTHS, (*MONTHS[1:], MONTHS[0]), strict=True))
    return month.cat.rename_categories(after).cat.set_categories(list(MONTHS))


CORRUPTIONS = {
    "month, the next": Corruption("month", _next),
    "duration x 60": Corruption("duration", lambda minutes: 60 * minutes),
    "duration / 60": Corruption("duration", lambda minutes: minutes / 60),
}
