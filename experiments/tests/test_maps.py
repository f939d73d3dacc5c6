"""Figures 1 and 2 of the paper: what is measured on maps, on ranks and on curves, against hand-made cases."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import trapezoid

from experiments.figure1 import words as map_words
from experiments.figure1.facts import MapFacts
from experiments.figure1.genes import Genes, ranks
from experiments.figure1.maps import Measured, correlation, image, is_central, share, smoothness
from experiments.figure2 import words as curve_words
from experiments.figure2.curves import AccuracyCurve, areas
from experiments.figure2.selection import selected
from experiments.methods.importance import Importance


def test_the_centre_is_a_square_in_the_middle():
    inside = image(is_central(14))
    assert inside[7:21, 7:21].all()
    assert inside.sum() == 14**2


def test_share_agrees_with_counting_and_its_interval_holds_it():
    measured = share(np.arange(196) < 49)
    assert measured.value == 0.25
    assert measured.low < 0.25 < measured.high


def test_share_of_none_has_an_interval_that_begins_at_none():
    """Wilson's upper end is z^2 / (n + z^2)."""
    measured = share(np.zeros(196, dtype=bool))
    z = 1.959964
    assert measured.low == pytest.approx(0, abs=1e-12)
    assert measured.high == pytest.approx(z**2 / (196 + z**2), rel=1e-6)


def test_correlation_of_maps_agrees_with_numpy(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=784), rng.normal(size=784)
    measured = correlation(first + second, second, resamples=200)
    assert measured.value == pytest.approx(np.corrcoef(first + second, second)[0, 1])
    assert measured.low < measured.value < measured.high


def test_correlation_does_not_depend_on_scale_or_offset(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, 784))
    expected = correlation(first, second, resamples=50)
    measured = correlation(1e-6 * first + 3, second, resamples=50)
    assert (measured.value, measured.low, measured.high) == pytest.approx(
        (expected.value, expected.low, expected.high), rel=1e-6
    )


def test_smoothness_agrees_with_the_correlation_of_all_neighbouring_pairs(seed):
    pixels = np.random.default_rng(seed).normal(size=(28, 28))
    pairs = [(pixels[i, j], pixels[i, j + 1]) for i in range(28) for j in range(27)]
    pairs += [(pixels[i, j], pixels[i + 1, j]) for i in range(27) for j in range(28)]
    measured = smoothness(pixels.ravel(), resamples=10)
    assert measured.value == pytest.approx(np.corrcoef(np.array(pairs).T)[0, 1])


def test_smoothness_of_a_chessboard_and_of_a_slope():
    chessboard = np.indices((28, 28)).sum(axis=0) % 2
    assert smoothness(chessboard.ravel().astype(float), resamples=10).value == pytest.approx(-1)
    slope = np.indices((28, 28)).sum(axis=0)
    assert smoothness(slope.ravel().astype(float), resamples=10).low > 0.9


def test_smoothness_of_noise_has_an_interval_that_holds_none(seed):
    """With correct intervals, more than six of 20 miss with probability 3e-5."""
    rng = np.random.default_rng(seed)
    missed = [
        not measured.low <= 0 <= measured.high
        for measured in (smoothness(rng.normal(size=784), resamples=400) for _ in range(20))
    ]
    assert sum(missed) <= 6


def test_a_map_without_contrast_has_no_correlation():
    assert smoothness(np.ones(784), resamples=10).value == 0


def test_ranks_begin_with_the_largest():
    assert ranks(np.array([0.1, 0.5, 0.3, -1.0])).tolist() == [3, 1, 2, 4]


def _genes(errors: float) -> Genes:
    values = np.array([4.0, 3.0, 2.0, 1.0])
    return Genes.of(["a", "b", "c", "d"], values, np.full(4, errors), {"a", "b", "x"}, {"a", "b"})


def test_ranks_of_genes_without_errors_are_sure():
    genes = _genes(0.0)
    assert [genes.rank_interval(name) for name in "abcd"] == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert genes.mean_rank() == (1.5, 1.5, 1.5)


def test_genes_that_differ_by_less_than_their_errors_may_change_places():
    """Steps of 1 lie within 1.96 * sqrt(2) * 0.5 = 1.39, steps of 2 do not."""
    assert [_genes(0.5).rank_interval(name) for name in "abcd"] == [(1, 2), (1, 3), (2, 4), (3, 4)]


def test_chance_of_ranks_agrees_with_counting():
    """Two of four genes have the two highest ranks in one case of six."""
    assert _genes(0.0).chance() == pytest.approx(1 / 6)


def test_best_and_worst_are_the_ends_of_the_sorted_values(seed):
    values = np.random.default_rng(seed).normal(size=784)
    best, worst = selected(values, "best", 50), selected(values, "worst", 50)
    assert set(values[best]) == set(np.sort(values)[-50:])
    assert set(values[worst]) == set(np.sort(values)[:50])


def test_sets_of_pixels_are_nested_even_where_values_are_equal():
    values = np.repeat([0.0, 1.0, 0.0], 4)
    for end in ("best", "worst"):
        sets = [selected(values, end, k) for k in range(1, 13)]
        assert [int(subset.sum()) for subset in sets] == list(range(1, 13))
        assert all((small <= large).all() for small, large in pairwise(sets))


def test_an_unknown_end_is_refused():
    with pytest.raises(ValueError, match="wanted one of best, worst"):
        selected(np.zeros(3), "middle", 1)


def test_area_agrees_with_numpy(seed):
    sizes, heights = [5, 10, 20, 50], np.random.default_rng(seed).random((3, 4))
    assert areas(sizes, heights) == pytest.approx(trapezoid(heights, sizes, axis=1) / 45)


def test_area_of_a_flat_curve_is_its_height():
    curve = AccuracyCurve("sage", "best", [5, 10, 50], np.full((3, 2), 0.8), 10_000)
    assert curve.area == pytest.approx(0.8)


def test_without_scatter_of_seeds_the_error_is_that_of_test_rows():
    """1.96 sqrt(0.8 * 0.2 / 10,000), at every point and, since test rows are the same, of the area."""
    curve = AccuracyCurve("sage", "best", [5, 10, 50], np.full((3, 2), 0.8), 10_000)
    assert curve.reach() == pytest.approx(1.959964 * 0.004)
    assert curve.area_reach() == pytest.approx(1.959964 * 0.004)


def test_interval_of_an_area_covers_the_truth_95_percent_of_the_time(seed):
    """Seeds scatter by 0.05, test rows hardly: of 400 intervals 5 % miss, give or take 3.5 standard errors."""
    rng, truth = np.random.default_rng(seed), np.linspace(0.3, 0.9, 10)
    sizes = list(range(5, 55, 5))
    made = 400
    missed = 0
    for _ in range(made):
        curve = AccuracyCurve("sage", "best", sizes, truth[:, None] + rng.normal(0, 0.05, size=(10, 3)), 10**12)
        missed += abs(curve.area - trapezoid(truth, sizes) / 45) > curve.area_reach()
    assert abs(missed - 0.05 * made) <= 3.5 * np.sqrt(made * 0.05 * 0.95)


def _facts(
    method: str, *, negative: float = 0.0, smooth: float = 0.9, like_sage: float = 0.9, blank: float = 0.0
) -> MapFacts:
    def about(value: float) -> Measured:
        return Measured(value, value - 0.05, value + 0.05)

    return MapFacts(method, about(0.9), about(negative), 0.0, about(smooth), about(like_sage), about(0.5), blank)


def _maps(**changed: dict[str, float]) -> dict[str, MapFacts]:
    names = ("feature ablation", "permutation test", "mean importance", "univariate predictors", "sage")
    return {name: _facts(name, **changed.get(name.replace(" ", "_"), {})) for name in names}


@pytest.mark.parametrize(
    ("permutation", "mean", "verdict"),
    [
        ({"negative": 0.3, "smooth": 0.5}, {"negative": 0.4, "smooth": 0.5}, "confirmed"),
        ({"negative": 0.3, "smooth": 0.5}, {"negative": 0.08, "smooth": 0.5}, "open"),
        ({"negative": 0.3, "smooth": 0.5}, {"negative": -0.2, "smooth": 0.5}, "refuted"),
    ],
)
def test_maps_are_noisy_where_both_are_surely_more_often_negative_than_plausible_ones(permutation, mean, verdict):
    finding = map_words.about_noise(_maps(permutation_test=permutation, mean_importance=mean), "claim")
    assert finding.verdict == verdict


@pytest.mark.parametrize(
    ("like_sage", "blank", "verdict"),
    [(0.0, 0.9, "confirmed"), (0.28, 0.9, "open"), (0.0, 0.1, "open"), (0.6, 0.9, "open"), (0.6, 0.1, "refuted")],
)
def test_ablation_means_nothing_where_it_is_unlike_sage_and_as_large_for_blank_pixels(like_sage, blank, verdict):
    maps = _maps(feature_ablation={"like_sage": like_sage, "blank": blank})
    assert map_words.about_ablation(maps, "claim", {"unlike": 0.3, "alike": 0.5}).verdict == verdict


def test_blank_pixels_are_those_that_never_vary():
    values, varies = np.ones(784), np.ones(784, dtype=bool)
    values[:10], varies[:10] = -0.25, False
    importance = Importance("feature ablation", list(values), None, "rows", 0.0, 0.0)
    facts = MapFacts.of(importance, importance, varies, {"centre": 14, "top": 50, "resamples": 10})
    assert facts.blank == 0.25


@pytest.mark.parametrize(("smooth", "verdict"), [(0.5, "confirmed"), (0.87, "open"), (1.1, "refuted")])
def test_the_most_plausible_maps_have_the_most_alike_neighbours(smooth, verdict):
    rough = {"smooth": 0.5}
    maps = _maps(feature_ablation=rough, permutation_test=rough, mean_importance={"smooth": smooth})
    assert map_words.about_plausible(maps, "claim").verdict == verdict


def _curves(best: dict[str, float], worst: dict[str, float]) -> dict[tuple[str, str], AccuracyCurve]:
    return {
        (method, end): AccuracyCurve(method, end, [5, 50], np.full((2, 1), height), 10_000)
        for end, heights in (("best", best), ("worst", worst))
        for method, height in heights.items()
    }


NAMES = ("sage", "feature ablation", "permutation test", "mean importance", "univariate predictors")


@pytest.mark.parametrize(("sage", "verdict"), [(0.9, "confirmed"), (0.801, "open"), (0.7, "refuted")])
def test_the_best_method_is_ahead_of_all_others_beyond_errors(sage, verdict):
    curves = _curves(dict(zip(NAMES, (sage, 0.5, 0.6, 0.7, 0.8), strict=True)), {})
    finding = curve_words.about_best(curves, "sage", "best", "claim")
    assert finding.verdict == verdict
    assert "Univariate" in finding.said


def test_lower_is_better_for_the_worst_pixels():
    curves = _curves({}, dict(zip(NAMES, (0.2, 0.5, 0.4, 0.3, 0.1), strict=True)))
    assert curve_words.about_best(curves, "univariate predictors", "worst", "claim").verdict == "confirmed"
    assert curve_words.about_best(curves, "sage", "worst", "claim").verdict == "refuted"


@pytest.mark.parametrize(("failing", "verdict"), [(4, "confirmed"), (3, "confirmed"), (2, "refuted"), (0, "refuted")])
def test_most_baselines_fail_where_more_than_half_have_worst_pixels_of_some_worth(failing, verdict):
    heights = [0.11, *[0.5] * failing, *[0.11] * (4 - failing)]
    curves = _curves({}, dict(zip(NAMES, heights, strict=True)))
    assert curve_words.about_baselines(curves, "claim", base=0.1135, margin=0.02).verdict == verdict


@pytest.mark.parametrize(
    ("sage", "verdict"), [((0.9, 0.1), "confirmed"), ((0.75, 0.1), "confirmed"), ((0.65, 0.1), "refuted")]
)
def test_doing_well_at_both_is_having_at_most_one_better_at_either(sage, verdict):
    curves = _curves(
        dict(zip(NAMES, (sage[0], 0.5, 0.6, 0.7, 0.8), strict=True)),
        dict(zip(NAMES, (sage[1], 0.5, 0.4, 0.3, 0.2), strict=True)),
    )
    assert curve_words.about_both(curves, "claim").verdict == verdict
