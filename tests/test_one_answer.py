"""Verdicts, largest values, tables, plots and pages speak of the same target by default, and say which one it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import clarysage as cs
from clarysage.catalogue import ABOUT
from clarysage.results.verdicts import verdicts_about
from tests.made_up import made_up
from tests.parsed_page import Page

SLOPES = np.array([1.0, 0.12, 0.11, 0.0])


def of_sample(seed, n=80, slopes=SLOPES, **options):
    """Explains a linear model on n rows with noisy responses: exact values, and wide intervals about other rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(slopes)))
    y = X @ slopes + rng.normal(size=n)
    model = LinearRegression().fit(np.eye(len(slopes)), slopes)
    model.coef_, model.intercept_ = slopes, 0.0
    return cs.sage(model, X, y, background=X[:40], loss="squared error", check_manifold=False, rng=0, **options)


@pytest.fixture(scope="module")
def exact():
    explanation = of_sample(0, method="exact")
    assert explanation.draws == 0
    assert explanation.shown == "population"
    return explanation


def signs_of_plot(explanation, **options):
    """Reads the number of features of each sign from the legend of the plot."""
    texts = [text.get_text() for text in cs.plots.signs(explanation, **options).get_legend().get_texts()]
    return {word: int(count) for word, count in (text.split(": ") for text in texts)}


def counts(signs):
    return {word: list(signs.values()).count(word) for word in signs.values()}


def test_everything_speaks_of_the_population_by_default_and_says_so(exact):
    assert exact.signs.about == exact.top(2).about == exact.summary().about == "population"
    assert exact.signs == exact.signs_about("population")
    assert "about the population of rows and of background" in exact.table()
    note = " ".join(cs.plots.signs(exact).texts[-1].get_text().split())
    assert "about the population of rows and of background" in note
    assert Page(exact.report()).having("html", **{"data-view": "population"})


@pytest.mark.parametrize("about", ABOUT)
def test_signs_are_those_of_the_plot_and_of_the_page(exact, about):
    signs = exact.signs_about(about)
    assert signs.about == about
    drawn = signs_of_plot(exact, about=about)
    assert {word: count for word, count in drawn.items() if count} == counts(signs)
    surely = verdicts_about(exact, about, 0.95).labels
    assert tuple(label if "likely" not in label else "undecided" for label in surely) == tuple(signs.values())


def test_exact_values_are_certain_on_this_data_and_not_in_the_population(exact):
    assert "undecided" in exact.signs.values()
    assert "undecided" not in exact.signs_about("data").values()
    assert exact.top(2, about="data").is_certain
    assert not exact.top(2).is_certain
    assert exact.top(1).is_certain
    assert exact.top(2) == exact.top(2, about="data")


def test_a_target_without_estimates_is_refused(exact):
    alone = replace(exact, targets={})
    assert alone.signs.about == alone.top(1).about == "data"
    for ask in (alone.signs_about, lambda about: alone.top(1, about=about)):
        with pytest.raises(cs.InputError) as caught:
            ask("population")
        assert caught.value.argument == "about"


def test_exact_values_beside_wide_intervals_are_explained_in_plain_words(exact):
    text = str(exact)
    assert (
        "The values are exact for this data and this background: they have no sampling error. Intervals are about the "
        "population of rows and of background: other data would give other values." in text
    )
    assert "nothing was sampled" not in text
    assert "nothing was sampled" not in exact.report()
    assert exact.table(about="data").count("interval") == 0
    assert "The values have no sampling error." in cs.plots.bars(exact).texts[-1].get_text().replace("\n", " ")


def test_names_of_the_largest_are_certain_only_where_the_population_has_the_same_order():
    explanation = made_up(3, values=np.array([2.0, 1.0, 0.5]), total=3.5)
    rows = explanation.targets["rows"]
    swapped = {"rows": replace(rows, values=np.array([1.0, 2.0, 0.5])), "population": rows}
    explanation = replace(explanation, targets=swapped)
    assert not explanation.top(1, about="rows").is_certain
    assert explanation.top(2, about="rows").is_certain


@pytest.mark.statistical
def test_the_largest_in_the_population_are_rarely_named_wrongly(seed):
    """Two values are equal but for 1 %, in favour of the second: naming the first is wrong, the worst case."""
    runs, slopes = 150, np.array([0.5, 0.505])
    found = [of_sample([seed, run], n=60, slopes=slopes, method="exact") for run in range(runs)]
    for about in ("rows", "population"):
        wrong = np.mean([each.top(1, about=about) == ["x0"] and each.top(1, about=about).is_certain for each in found])
        assert wrong <= 0.05 + 4.5 * np.sqrt(0.05 * 0.95 / runs)
    on_data = np.mean([each.top(1, about="data") == ["x0"] for each in found])
    assert on_data > 0.2  # so that certainty about the data alone would be wrong often
