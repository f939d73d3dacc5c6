r"""Faults for mutation tests of the source: each is a plausible mistake that changes results.

``FAULTS`` is the table: a name, a kind, a file of ``src/clarysage``, a text that occurs exactly once in it, and the
text that replaces it. :func:`problems` lists the rows that no longer fit the source. ``python -m tests.lab.mutations``
plants the faults one at a time and reports which tests notice them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path("src") / "clarysage"


@dataclass(frozen=True)
class Fault:
    """A mistake in one place of the source.

    Attributes
    ----------
    name : of the fault, unique in the table
    kind : of mistake
    file : relative to ``src/clarysage``
    old, new : the text as it is, which occurs exactly once in the file, and the text that takes its place
    """

    name: str
    kind: str
    file: str
    old: str
    new: str

    @property
    def room(self) -> str:
        """The folder of ``src/clarysage`` that the fault is in; a single file is its own room."""
        return self.file.split("/")[0].removesuffix(".py")

    def path(self, root: Path) -> Path:
        """Returns the file of the fault in a tree.

        If the file was moved, it is the only file of the source that contains the text once.
        """
        named = root / SOURCE / self.file
        if named.is_file() and named.read_text(encoding="utf-8").count(self.old) == 1:
            return named
        holders = [
            path
            for path in sorted((root / SOURCE).rglob("*.py"))
            if path.read_text(encoding="utf-8").count(self.old) == 1
        ]
        if len(holders) == 1:
            return holders[0]
        where = (
            f"{self.file} does not hold the old text exactly once" if named.is_file() else f"there is no {self.file}"
        )
        raise LookupError(f"{self.name}: {where}, and {len(holders)} other files do")

    def lines(self, root: Path) -> tuple[Path, list[int]]:
        """Returns the file of the fault in a tree, and the line numbers, from 1, that the fault changes."""
        path = self.path(root)
        text = path.read_text(encoding="utf-8")
        before, after = self.old.split("\n"), self.new.split("\n")
        same = next(
            (number for number, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]),
            min(len(before), len(after)) - 1,
        )
        first = text[: text.index(self.old)].count("\n") + 1
        return path, list(range(first + same, first + len(before)))

    def plant(self, root: Path) -> Path:
        """Writes the fault into a tree, and returns the file that was changed."""
        path = self.path(root)
        path.write_text(path.read_text(encoding="utf-8").replace(self.old, self.new), encoding="utf-8")
        return path


def problems(root: Path, faults: tuple[Fault, ...] | None = None) -> list[str]:
    """Returns a sentence for each problem of the table in a tree; none if every fault can be planted."""
    faults = FAULTS if faults is None else faults
    sentences = [
        f"{name}: {count} faults have this name" for name, count in Counter(f.name for f in faults).items() if count > 1
    ]
    for fault in faults:
        if fault.old == fault.new:
            sentences.append(f"{fault.name}: the new text is the old one")
        try:
            path = fault.path(root)
            compile(path.read_text(encoding="utf-8").replace(fault.old, fault.new), str(path), "exec")
        except LookupError as error:
            sentences.append(str(error))
        except SyntaxError as error:
            sentences.append(f"{fault.name}: the source with the fault is not valid Python ({error})")
    return sentences


SIGN = "wrong sign"
WEIGHT = "wrong weight"
IGNORED = "weights ignored"
CORRECTION = "dropped correction"
COUNT = "off by one"
MERGE = "wrong merge"
CACHE = "stale cache"
FREEDOM = "wrong degrees of freedom"
VARIANCE = "wrong variance"
COVARIANCE = "dropped covariance"
QUANTILE = "wrong level or quantile"
ONE_SIDED = "one-sided p-value"
MANY = "wrong adjustment for many tests"
MESSAGE = "broken message"
ESCAPE = "unescaped name"
OPTION = "lost option"
SEED = "seed handling"
AXIS = "wrong axis"
TIE = "wrong tie rule"
CATEGORY = "category decoded wrongly"
MISSING = "missing cell mistaken"
LINK = "link omitted"
SPLIT = "tree split"
FIELD = "field lost in a file"
CHECKPOINT = "checkpoint of another run accepted"
EXIT = "wrong exit code"
FORWARD = "command-line option not forwarded"
DRAWN = "plot of the wrong numbers"
THRESHOLD = "wrong threshold"
CHECKSUM = "checksum not checked"
ATOMIC = "file not written whole"
EARLY = "stops too early"
BUDGET = "wrong budget or cost"
LEAK = "rows leak"
CHECK = "check that never fails"
ORDER = "wrong order"

FAULTS: tuple[Fault, ...] = (
    # intervals of agreement
    Fault(
        "acceleration-sign",
        SIGN,
        "inference/association.py",
        "off = left_out.mean(axis=0) - left_out",
        "off = left_out - left_out.mean(axis=0)",
    ),
    Fault("median-bias-sign", SIGN, "inference/association.py", "shifted = bias + ", "shifted = -bias + "),
    Fault(
        "left-in-twice", SIGN, "inference/association.py", "terms.sum(axis=0) - terms)", "terms.sum(axis=0) + terms)"
    ),
    # the command line
    Fault(
        "unknown-option-without-hint",
        MESSAGE,
        "cli/app.py",
        "{f' (did you mean {near}?)' if near else ''}",
        "",
    ),
    # inference
    Fault(
        "moments-by-n",
        VARIANCE,
        "inference/moments.py",
        "return self.scatter / (self.count - 1) / self.count",
        "return self.scatter / self.count / self.count",
    ),
    Fault(
        "moments-merge-weight",
        MERGE,
        "inference/moments.py",
        "self.mean + shift * (other.count / count),",
        "self.mean + shift * (self.count / count),",
    ),
    Fault(
        "moments-merge-scatter",
        MERGE,
        "inference/moments.py",
        "self.scatter + other.scatter + between * (self.count * other.count / count),",
        "self.scatter + other.scatter,",
    ),
    Fault(
        "visits-merge-squares",
        MERGE,
        "inference/stratified.py",
        "self.squares[at] += other.squares + shift**2 * pull",
        "self.squares[at] += other.squares",
    ),
    Fault(
        "visits-by-n",
        VARIANCE,
        "inference/stratified.py",
        "by_cell = squares * (N**2 / (n * (n - 1)))[:, None, None]",
        "by_cell = squares * (N**2 / (n * n))[:, None, None]",
    ),
    Fault(
        "interval-one-tail",
        QUANTILE,
        "inference/intervals.py",
        "critical_value(outside / 2, dof, side",
        "critical_value(outside, dof, side",
    ),
    Fault(
        "interval-joint-ignored",
        OPTION,
        "inference/intervals.py",
        "outside = (1 - level) / (len(values) if joint else 1)",
        "outside = 1 - level",
    ),
    Fault("interval-skew-side", SIGN, "inference/intervals.py", "for side in (-1, 1))", "for side in (1, -1))"),
    Fault(
        "degrees-without-one",
        FREEDOM,
        "inference/degrees_of_freedom.py",
        "np.asarray(variance**2 / (dof + 1))",
        "np.asarray(variance**2 / dof)",
    ),
    Fault(
        "sum-of-variances-weight",
        WEIGHT,
        "inference/degrees_of_freedom.py",
        "covariance = covariance + weight**2 * part.covariance",
        "covariance = covariance + weight * part.covariance",
    ),
    Fault(
        "two-sided-halved",
        ONE_SIDED,
        "inference/intervals.py",
        "2 * p_values(np.abs(values), std_error",
        "p_values(np.abs(values), std_error",
    ),
    Fault(
        "holm-by-one-less",
        MANY,
        "inference/intervals.py",
        "np.arange(len(p), 0, -1)",
        "np.arange(len(p) - 1, -1, -1)",
    ),
    Fault("hochberg-by-another", MANY, "inference/intervals.py", 'method="bh"', 'method="by"'),
    Fault(
        "holm-without-monotony",
        MANY,
        "inference/intervals.py",
        "np.maximum.accumulate(p[order] * ",
        "np.asarray(p[order] * ",
    ),
    Fault(
        "looks-not-spent",
        EARLY,
        "inference/sequential.py",
        "return 1 - (1 - confidence) / (look * (look + 1))",
        "return 1 - (1 - confidence) / 2",
    ),
    Fault(
        "lead-without-covariance",
        COVARIANCE,
        "inference/sequential.py",
        "else -covariance[np.ix_(top, others)]",
        "else 0.0 * of_top",
    ),
    Fault(
        "converged-unseen",
        EARLY,
        "inference/stopping.py",
        "        if must_see_more(estimate):\n            return None\n        if is_null:",
        "        if is_null:",
    ),
    Fault(
        "converged-twice-tolerance",
        EARLY,
        "inference/stopping.py",
        "if (error <= self.tolerance * spread).all():",
        "if (error <= 2 * self.tolerance * spread).all():",
    ),
    Fault(
        "population-without-covariance",
        COVARIANCE,
        "inference/population.py",
        "covariance = 2 * (_centred(",
        "covariance = 0 * (_centred(",
    ),
    Fault(
        "population-with-noise",
        CORRECTION,
        "inference/population.py",
        "((c**2).sum(axis=0) - background.noise) / (1 - one_mth)",
        "(c**2).sum(axis=0) / (1 - one_mth)",
    ),
    Fault(
        "population-without-gain",
        CORRECTION,
        "inference/population.py",
        "return Estimated(estimated.values + background.correction, variance",
        "return Estimated(estimated.values, variance",
    ),
    Fault(
        "rows-by-n",
        VARIANCE,
        "inference/population.py",
        "squares.sum(axis=0) * (n / np.maximum(1, n - 1)) + components.residual",
        "squares.sum(axis=0) + components.residual",
    ),
    Fault(
        "folded-uncorrected",
        CORRECTION,
        "estimators/absolute.py",
        "return size - bias, variance",
        "return size, variance",
    ),
    Fault(
        "paired-without-rest",
        VARIANCE,
        "inference/population.py",
        "weights, np.where((q != 0).any(axis=0), residual, 0.0))",
        "weights, 0.0)",
    ),
    Fault(
        "pooled-without-sampling",
        VARIANCE,
        "inference/pooling.py",
        "return self._target(runs, shared + self.least)",
        "return self._target(runs, shared)",
    ),
    Fault(
        "apart-weight-unsquared",
        WEIGHT,
        "inference/estimate.py",
        "moments.squares / pairs / w**2, n)",
        "moments.squares / pairs / w, n)",
    ),
    Fault("agreement-with-noise", CORRECTION, "inference/association.py", "vv - v * v - noise, uv", "vv - v * v, uv"),
    # estimators, and what all rooms stand on
    Fault(
        "cautious-error-normal",
        FREEDOM,
        "inference/estimate.py",
        "np.asarray(self.std_error * (student.ppf(0.975, self.dof) / normal.ppf(0.975)))",
        "np.asarray(self.std_error * (student.ppf(0.975, 1e9) / normal.ppf(0.975)))",
    ),
    Fault("hint-left-out", MESSAGE, "errors.py", '(f" Try {hint}." if hint else "")', '""'),
    Fault(
        "direction-of-text-shown",
        ESCAPE,
        "_utils/display.py",
        r"\ud800-\udfff\u202a-\u202e\u2066",
        r"\ud800-\udfff\u2066",
    ),
    Fault(
        "written-in-place",
        ATOMIC,
        "_utils/atomic.py",
        '        with open(draft, "xb") as stream:\n            for piece in pieces:\n'
        "                stream.write(piece)\n            stream.flush()\n            os.fsync(stream.fileno())\n"
        "        os.replace(draft, file)",
        '        with open(file, "wb") as stream:\n            for piece in pieces:\n'
        "                stream.write(piece)",
    ),
    Fault("kernel-without-c", WEIGHT, "estimators/kernel.py", "/ (0.5 - _pair_probability(p))", "/ 0.5"),
    Fault(
        "permutation-cost",
        BUDGET,
        "estimators/permutation.py",
        "return draws * (game.n_players - 1) * game.rows_per_payoff",
        "return draws * game.n_players * game.rows_per_payoff",
    ),
    Fault(
        "pairs-not-reversed",
        CORRECTION,
        "estimators/paired_walks/antithetic.py",
        "np.vstack([orders, orders[:, ::-1]])",
        "np.vstack([orders, orders])",
    ),
    Fault(
        "comparisons-sign",
        SIGN,
        "estimators/paired_walks/bias_correction.py",
        "(payoffs.exact - payoffs.subsampled)[:, :, None]",
        "(payoffs.subsampled - payoffs.exact)[:, :, None]",
    ),
    Fault(
        "comparisons-unweighted",
        IGNORED,
        "estimators/paired_walks/bias_correction.py",
        "(game.weights[examples] / self.chances[examples])[:, None, None]",
        "np.ones((count, 1, 1))",
    ),
    Fault(
        "bias-of-few-rows-stays",
        CORRECTION,
        "estimators/paired_walks/estimator.py",
        "return weighted_sum([subsampled, self._correction(state.corrections, visits)], [1.0, 1.0])",
        "return subsampled",
    ),
    Fault(
        "one-stream-for-all-chunks",
        SEED,
        "estimators/loop.py",
        "stream(self.entropy, DRAWS, chunk.number)",
        "stream(self.entropy, DRAWS, 0)",
    ),
    Fault(
        "twice-the-budget",
        BUDGET,
        "estimators/limits.py",
        "if spent + estimator.rows(game, draws, made) > self.rows:",
        "if spent + estimator.rows(game, draws, made) > 2 * self.rows:",
    ),
    Fault(
        "last-look-uncounted",
        COUNT,
        "estimators/rules.py",
        "count = max(1, self.count + (estimate.draws != self.draws))",
        "count = max(1, self.count)",
    ),
    Fault(
        "resumed-by-another-stream",
        SEED,
        "estimators/checkpoint.py",
        "prepare(estimator, game, seed, number, rows, state)",
        "prepare(estimator, game, seed, number + 1, rows, state)",
    ),
    Fault(
        "sizes-without-doubt",
        VARIANCE,
        "estimators/absolute.py",
        "variance = sampling + sizes.mean_bias**2",
        "variance = sampling",
    ),
    Fault(
        "repeats-own-row-uncorrected",
        CORRECTION,
        "estimators/permutation_importance.py",
        'np.einsum("n,nlp->lp", share / (1 - share), parts)',
        'np.einsum("n,nlp->lp", 0 * share, parts)',
    ),
    Fault(
        "repeats-too-few",
        EARLY,
        "estimators/permutation_importance.py",
        "estimate.draws >= self.repeats * self.examples",
        "estimate.draws >= self.examples",
    ),
    Fault(
        "interactions-same-player-twice",
        WEIGHT,
        "estimators/interactions.py",
        "(single[:, at_i] + single[:, at_j])",
        "(single[:, at_i] + single[:, at_i])",
    ),
    Fault(
        "exact-unweighted",
        IGNORED,
        "estimators/exact.py",
        "table.payoffs[index] += weights @ evaluated.payoffs",
        "table.payoffs[index] += weights.sum() * evaluated.payoffs.mean(axis=0)",
    ),
    # games
    Fault(
        "cost-without-empty-end",
        BUDGET,
        "games/predictive_power.py",
        "ends = len(self.X) + self.restricted.rows_per_prediction",
        "ends = len(self.X)",
    ),
    Fault("control-variate-sign", SIGN, "games/subsampled.py", "adjusted = z - control\n", "adjusted = z + control\n"),
    Fault(
        "own-row-not-counted",
        CORRECTION,
        "games/self_match.py",
        "mean + share * (of_match - mean)",
        "mean + 0 * share * (of_match - mean)",
    ),
    Fault(
        "single-draws-walk-ahead",
        COUNT,
        "games/single_draws.py",
        "np.argsort(orders, axis=1)[:, None, :] < np.arange(p + 1)",
        "np.argsort(orders, axis=1)[:, None, :] <= np.arange(p + 1)",
    ),
    Fault(
        "fitted-on-held-rows",
        LEAK,
        "games/cross_fitting.py",
        "Split(np.flatnonzero(fold != k), np.flatnonzero(fold == k))",
        "Split(np.arange(rows), np.flatnonzero(fold == k))",
    ),
    Fault(
        "regression-estimator-sign",
        SIGN,
        "games/coalition_value.py",
        "* (mean - sampled[this])",
        "* (sampled[this] - mean)",
    ),
    Fault(
        "worth-variance-weight",
        VARIANCE,
        "games/coalition_value.py",
        "weights**2 @ (first - second) ** 2 / 4",
        "weights**2 @ (first - second) ** 2 / 2",
    ),
    Fault(
        "refits-in-order-of-folds",
        ORDER,
        "games/universal_power.py",
        'np.concatenate(outputs)[np.argsort(held, kind="stable")]',
        "np.concatenate(outputs)",
    ),
    Fault(
        "refits-constant-unweighted",
        IGNORED,
        "games/universal_power.py",
        "loss.best_constant(target[split.train], weights, outputs)",
        "loss.best_constant(target[split.train], np.ones_like(weights), outputs)",
    ),
    Fault(
        "classes-by-place",
        CATEGORY,
        "games/refits.py",
        "probabilities[:, _indices(fitted, classes)] = outputs",
        "probabilities[:, : outputs.shape[1]] = outputs",
    ),
    # coalitions and players
    Fault(
        "kernel-sizes-lopsided",
        WEIGHT,
        "coalitions.py",
        "weights = (p - 1) / (sizes * (p - sizes))",
        "weights = (p - 1) / sizes",
    ),
    Fault(
        "never-all-players",
        COUNT,
        "coalitions.py",
        "sizes = rng.integers(p + 1, size=n)",
        "sizes = rng.integers(p, size=n)",
    ),
    Fault(
        "interaction-weights",
        WEIGHT,
        "coalitions.py",
        "1.0 / ((p - 1) * comb(p - 2, s)) for s in range(p - 1)",
        "1.0 / ((p - 1) * comb(p - 1, s)) for s in range(p - 1)",
    ),
    Fault(
        "arrivals-from-zero",
        COUNT,
        "players.py",
        "np.arange(1, orders.shape[1] + 1)[None, :]",
        "np.arange(orders.shape[1])[None, :]",
    ),
    Fault(
        "groups-message-of-X",
        MESSAGE,
        "players.py",
        '"groups", got=f"{member!r} in {group!r}, which is not a column"',
        '"X", got=f"{member!r} in {group!r}, which is not a column"',
    ),
    # losses
    Fault(
        "square-not-debiased",
        CORRECTION,
        "losses/debiasing.py",
        "loss(estimate.adjusted, target) - gap",
        "loss(estimate.adjusted, target)",
    ),
    Fault(
        "logarithm-bias-doubled",
        SIGN,
        "losses/debiasing.py",
        "loss.expected(-np.log(A) - 0.5 * r / (1 + r), target)",
        "loss.expected(-np.log(A) + 0.5 * r / (1 + r), target)",
    ),
    Fault(
        "mean-unweighted",
        IGNORED,
        "losses/regression.py",
        "np.average(target, axis=0, weights=weights)",
        "np.average(target, axis=0)",
    ),
    Fault(
        "median-upper",
        TIE,
        "losses/regression.py",
        "return float(ranked[np.minimum(ends, len(ranked) - 1)].mean())",
        "return float(ranked[np.minimum(ends, len(ranked) - 1)].max())",
    ),
    Fault(
        "tie-to-the-last-class",
        TIE,
        "losses/classification.py",
        "np.asarray(is_largest.argmax(axis=-1) != target, dtype=np.float64)",
        "np.asarray(is_largest.shape[-1] - 1 - is_largest[..., ::-1].argmax(axis=-1) != target, dtype=np.float64)",
    ),
    Fault(
        "custom-loss-arguments-swapped",
        ORDER,
        "losses/custom.py",
        "self._called(target.copy(), y_pred.copy())",
        "self._called(y_pred.copy(), target.copy())",
    ),
    Fault(
        "labels-message-without-hint",
        MESSAGE,
        "losses/regression.py",
        """            hint=[Set("loss", "cross entropy"), Or(" or "), Set("loss", "brier"), " for a classifier"],\n""",
        "",
    ),
    # removal
    Fault(
        "columns-shuffled-together",
        SEED,
        "removal/product.py",
        "rows[shuffled(weights, rng), j]",
        "rows[shuffled(weights, np.random.default_rng(0)), j]",
    ),
    Fault(
        "marginal-unweighted",
        IGNORED,
        "removal/marginal.py",
        "hybrid_model(bound.predictor, rows[has_weight], weights[has_weight], bound.examples)",
        "hybrid_model(bound.predictor, rows[has_weight], has_weight[has_weight] / has_weight.sum(), bound.examples)",
    ),
    Fault(
        "correlations-not-shrunk",
        CORRECTION,
        "removal/gaussian.py",
        "(scores * weights[:, None]).T @ scores * (1 - shrinkage(scores, weights)))",
        "(scores * weights[:, None]).T @ scores)",
    ),
    Fault(
        "cholesky-not-turned",
        AXIS,
        "removal/gaussian.py",
        "noise @ np.linalg.cholesky(R).T)",
        "noise @ np.linalg.cholesky(R))",
    ),
    Fault(
        "own-row-a-neighbour",
        LEAK,
        "removal/neighbours.py",
        "distance[has_match, self_match[part][has_match]] = np.inf",
        "distance[has_match, self_match[part][has_match]] += 0.0",
    ),
    Fault(
        "missing-like-any-cell",
        MISSING,
        "removal/neighbours.py",
        "np.where(both, 0.0, MISMATCH), distance)",
        "0.0, distance)",
    ),
    Fault(
        "median-unweighted",
        IGNORED,
        "removal/baseline.py",
        "running = np.cumsum(weights[order]) / weights.sum()",
        "running = np.arange(1, len(order) + 1) / len(order)",
    ),
    Fault(
        "one-forest-for-all",
        CACHE,
        "removal/tree_conditional.py",
        "key = np.packbits(is_kept).tobytes()",
        "key = np.packbits(is_kept[:1]).tobytes()",
    ),
    Fault(
        "surrogate-has-seen-the-row",
        LEAK,
        "removal/restricted/learned.py",
        "fold, all_learners = np.where(self_match >= 0, self.fold[self_match], -1), self.learners()",
        "fold, all_learners = np.full(len(self_match), -1), self.learners()",
    ),
    Fault(
        "memo-grows",
        CACHE,
        "_utils/lru_cache.py",
        "while self.size > self.limit and len(self._values) > 1:",
        "while self.size > 2 * self.limit and len(self._values) > 1:",
    ),
    Fault(
        "scores-beyond-the-gap",
        COUNT,
        "removal/copula.py",
        "scipy.special.ndtri((up_to + 1) / n)",
        "scipy.special.ndtri(up_to / n)",
    ),
    # structure
    Fault(
        "split-less-or-equal",
        SPLIT,
        "structure/kernels/trees.py",
        "is_left = value < threshold[node]\n                if is_plain:",
        "is_left = value <= threshold[node]\n                if is_plain:",
    ),
    Fault(
        "missing-always-left",
        MISSING,
        "structure/kernels/trees.py",
        "is_left |= (value != value) & missing_left[node]",
        "is_left |= value != value",
    ),
    Fault(
        "walk-forgets-the-leaf-before",
        CORRECTION,
        "structure/kernels/trees.py",
        "value -= values[leaf_before, v]",
        "value -= 0.0",
    ),
    Fault(
        "leaf-tables-unweighted",
        IGNORED,
        "structure/kernels/leaf_tables.py",
        "(all_features & ~failed)] += row_weights[row]",
        "(all_features & ~failed)] += 1.0 / b.shape[0]",
    ),
    Fault("lattice-signs", SIGN, "structure/kernels/trees.py", "sign = -sign", "sign = sign"),
    Fault(
        "odd-sets-added",
        SIGN,
        "structure/kernels/leaf_terms.py",
        "sign = 1 - 2 * ((0x6996 >> (sign & 15)) & 1)",
        "sign = 1 + 0 * ((0x6996 >> (sign & 15)) & 1)",
    ),
    Fault(
        "background-rows-of-equal-weight",
        IGNORED,
        "structure/kernels/leaf_terms.py",
        "shares[share_start[~node] + failed] += row_weights[row]",
        "shares[share_start[~node] + failed] += 1.0 / b.shape[0]",
    ),
    Fault(
        "centre-for-all-q",
        WEIGHT,
        "structure/kernels/leaf_terms.py",
        "slope, weight = 1 - 2 * q, point_weights[point]",
        "slope, weight = 0.0 * q, point_weights[point]",
    ),
    Fault(
        "paths-of-other-order",
        AXIS,
        "structure/kernels/leaf_terms.py",
        "ids[table + position[members]] = of_set[members]",
        "ids[table + members] = of_set[members]",
    ),
    Fault(
        "point-too-few",
        COUNT,
        "games/closed_form.py",
        "-(-terms.players // 2)))",
        "-(-terms.players // 2)) - 1)",
    ),
    Fault(
        "oblivious-leaf-before",
        CORRECTION,
        "structure/kernels/oblivious.py",
        "value[x_before | (leaf & unknown_before)]",
        "value[x_before | (leaf & unknown)]",
    ),
    Fault(
        "exponential-omitted",
        LINK,
        "structure/base.py",
        "return np.asarray(np.exp(margins))",
        "return np.asarray(margins)",
    ),
    Fault(
        "softmax-over-rows",
        AXIS,
        "structure/base.py",
        "scipy.special.softmax(margins, axis=-2) @ row_weights",
        "scipy.special.softmax(margins, axis=-1) @ row_weights",
    ),
    Fault(
        "linear-mean-unweighted",
        IGNORED,
        "structure/linear.py",
        'b[:1] + np.einsum("m,mdk->dk", row_weights, b - b[:1]), np.ones(1)',
        "b.mean(axis=0, keepdims=True), np.ones(1)",
    ),
    Fault(
        "xgboost-base-score",
        LINK,
        "structure/readers/xgboost.py",
        "return np.asarray(np.log(score) - np.log1p(-score))",
        "return np.asarray(score)",
    ),
    Fault(
        "lightgbm-strictly-less",
        SPLIT,
        "structure/readers/lightgbm.py",
        "bound = np.nextafter(threshold, np.inf)\n",
        "bound = np.asarray(threshold)\n",
    ),
    Fault(
        "lightgbm-missing-rule",
        MISSING,
        "structure/readers/lightgbm.py",
        "np.array([MISSING_IS_ZERO, ZERO_IS_MISSING,",
        "np.array([MISSING, ZERO_IS_MISSING,",
    ),
    Fault(
        "unknown-category-first",
        MISSING,
        "structure/columnwise.py",
        "codes[codes < 0] = np.nan",
        "codes[codes < 0] = 0.0",
    ),
    Fault(
        "categories-of-the-frame",
        CATEGORY,
        "structure/columnwise.py",
        "column = column.cat.set_categories(list(self.trained[j]))",
        "column = column.cat.remove_unused_categories()",
    ),
    # models
    Fault(
        "first-class-last",
        CATEGORY,
        "models/statsmodels.py",
        "np.column_stack([np.zeros(len(weights)), weights])",
        "np.column_stack([weights, np.zeros(len(weights))])",
    ),
    Fault(
        "best-round-left-out",
        COUNT,
        "models/xgboost.py",
        "_Boosted(self.model, 0 if best is None else int(best) + 1)",
        "_Boosted(self.model, 0 if best is None else int(best))",
    ),
    Fault(
        "columns-not-arranged",
        ORDER,
        "models/predictor.py",
        "return select_columns(X, [labels[j] for j in order])",
        "return X",
    ),
    Fault(
        "least-squares-weights-squared",
        WEIGHT,
        "models/least_squares.py",
        "root = np.sqrt(sample_weight)",
        "root = np.asarray(sample_weight)",
    ),
    Fault(
        "module-left-in-eval-mode",
        CACHE,
        "models/torch.py",
        "part.training = mode",
        "part.training = part.training and mode",
    ),
    Fault(
        "batch-size-ignored",
        OPTION,
        "models/predictor.py",
        "most = self.predictor.batch_size or ROWS_PER_CALL",
        "most = ROWS_PER_CALL",
    ),
    # tables
    Fault(
        "missing-as-first-category",
        MISSING,
        "tables/columns.py",
        "np.where(np.isnan(codes), -1, codes)",
        "np.where(np.isnan(codes), 0, codes)",
    ),
    Fault(
        "index-not-compared",
        CHECK,
        "tables/target.py",
        "len(ours) != len(theirs) or ours.equals(theirs):",
        "len(ours) != len(theirs) or ours is not None:",
    ),
    Fault(
        "background-by-position",
        ORDER,
        "tables/schema.py",
        "return [position[name] for name in target]",
        "return list(position.values())",
    ),
    Fault(
        "missing-response-passes",
        MISSING,
        "tables/target.py",
        "return int((~np.isfinite(target)).sum())",
        "return int(np.isinf(target).sum())",
    ),
    Fault(
        "categories-of-pandas-shifted",
        CATEGORY,
        "tables/cells/pandas.py",
        "index = np.append(_positions(distinct, cells.dtype.categories.to_series()), -1)[cells.cat.codes]",
        "index = np.append(np.arange(len(cells.dtype.categories)), -1)[cells.cat.codes]",
    ),
    # measures
    Fault(
        "fingerprint-by-order",
        ORDER,
        "_measures/provenance.py",
        "fingerprints = sorted((name, _of_column(numbers, column)) for name, column, numbers in columns)",
        "fingerprints = [(name, _of_column(numbers, column)) for name, column, numbers in columns]",
    ),
    Fault(
        "checkpoint-of-another-model",
        CHECKPOINT,
        "_measures/checkpoint_identity.py",
        '"predictions of the model": np.vstack([v.outputs[chosen], v.outputs.mean(axis=0)]),\n'
        '        "losses without features": v.weights @ v.ends[0],',
        "",
    ),
    Fault(
        "checkpoint-of-another-budget",
        CHECKPOINT,
        "_measures/checkpoint_identity.py",
        '"budget": f"{float(budget):.17g}" if budget < np.inf else "none",',
        '"budget": "none",',
    ),
    Fault(
        "correlation-ratio-unweighted",
        IGNORED,
        "_measures/squared_correlation.py",
        "np.bincount(category, weights * response) / np.bincount(category, weights)",
        "np.bincount(category, response) / np.bincount(category)",
    ),
    Fault(
        "repeats-ignored",
        OPTION,
        "_measures/perturbation.py",
        '"permutation importance", model, X, y, data, run, loss, repeats, rows_to_draw',
        '"permutation importance", model, X, y, data, run, loss, None, rows_to_draw',
    ),
    Fault(
        "scaled-ignored",
        OPTION,
        "_measures/intrinsic.py",
        "(weights, inside, scaled=scaled)",
        "(weights, inside, scaled=False)",
    ),
    Fault(
        "means-of-X",
        OPTION,
        "_measures/perturbation.py",
        '{**data, "removal": "baseline"}',
        '{**data, "removal": "baseline", "background": None}',
    ),
    Fault(
        "batch-size-not-handed-on",
        OPTION,
        "_measures/problem.py",
        "as_predictor(model, batch_size=run.batch_size)",
        "as_predictor(model, batch_size=None)",
    ),
    # explanation
    Fault("rows-not-saved", FIELD, "codec.py", "if is_optional and not on_request:", "if is_optional and on_request:"),
    Fault(
        "groups-not-saved",
        FIELD,
        "codec.py",
        "plain[name] = codec.encode(getattr(value, name), on_request)",
        'plain[name] = None if name == "groups" else codec.encode(getattr(value, name), on_request)',
    ),
    Fault("missing-field-accepted", FIELD, "codec.py", "elif not is_optional:", "elif not is_optional and False:"),
    Fault(
        "half-a-covariance",
        FIELD,
        "codec.py",
        "np.tril(numbers) + np.tril(numbers, -1).T",
        "np.tril(numbers)",
    ),
    Fault(
        "p-values-unadjusted",
        MANY,
        "results/explanation.py",
        "alternative, skew=target.skew), adjust)",
        "alternative, skew=target.skew), None)",
    ),
    Fault(
        "merged-covariance-weight",
        WEIGHT,
        "results/merge.py",
        "sum(weight**2 * covariance for weight, covariance in zip(weights, covariances, strict=True))",
        "sum(weight * covariance for weight, covariance in zip(weights, covariances, strict=True))",
    ),
    Fault(
        "merged-looks",
        COUNT,
        "results/merge.py",
        "looks=1 + sum(run.looks - 1 for run in runs),",
        "looks=max(run.looks for run in runs),",
    ),
    Fault(
        "paired-difference-sign",
        SIGN,
        "results/compare.py",
        "else after.parts - before.parts)",
        "else before.parts - after.parts)",
    ),
    Fault(
        "notebook-name-unescaped",
        ESCAPE,
        "render/pages.py",
        '"visible": visible,',
        '"visible": lambda name: __import__("markupsafe").Markup(visible(name)),',
    ),
    Fault(
        "shift-threshold-turned",
        THRESHOLD,
        "results/monitoring.py",
        "(chance < share * (1 - comparison.level) for share",
        "(chance < share * comparison.level for share",
    ),
    Fault(
        "flags-of-single-tests",
        MANY,
        "results/comparison.py",
        "np.asarray(self.p_values() < 1 - self.level)",
        "np.asarray(self.p_values(None) < 1 - self.level)",
    ),
    Fault(
        "share-of-loss-sign",
        SIGN,
        "results/monitoring.py",
        "np.asarray(-(after.values - before.values)",
        "np.asarray((after.values - before.values)",
    ),
    # report
    Fault("script-ends-early", ESCAPE, "render/pages.py", 'for letter in "<>&"}', 'for letter in "&"}'),
    Fault("page-unescaped", ESCAPE, "render/pages.py", "autoescape=True", "autoescape=False"),
    Fault(
        "signs-one-by-one",
        QUANTILE,
        "inference/sequential.py",
        "dof, level, joint=True, skew=skew)",
        "dof, level, joint=False, skew=skew)",
    ),
    Fault(
        "smallest-named-first",
        ORDER,
        "results/verdicts.py",
        "np.argsort(-np.abs(explanation.values[indices])",
        "np.argsort(np.abs(explanation.values[indices])",
    ),
    Fault("loss-with-features-sign", SIGN, "results/facts_and_notes.py", "show(base - total)", "show(base + total)"),
    Fault(
        "pixel-map-turned",
        AXIS,
        "render/figures.py",
        "M{index % side} {index // side}h1",
        "M{index // side} {index % side}h1",
    ),
    Fault(
        "arrow-at-the-wrong-end",
        DRAWN,
        "render/chart.py",
        "at(a), at(b), a < at.low, b > at.high)",
        "at(a), at(b), b > at.high, a < at.low)",
    ),
    # plots
    Fault(
        "whiskers-half-as-wide",
        DRAWN,
        "plots/bars.py",
        "half = (selection.high - selection.low)[has_interval] / 2 ",
        "half = (selection.high - selection.low)[has_interval] / 4 ",
    ),
    Fault(
        "bars-of-the-reference",
        DRAWN,
        "plots/comparison.py",
        "explanation.values[features],\n            0.92",
        "comparison.reference.values[features],\n            0.92",
    ),
    Fault(
        "harm-marked-on-help",
        SIGN,
        "plots/importances.py",
        "HARM_MARK if values[row, column] < 0",
        "HARM_MARK if values[row, column] > 0",
    ),
    Fault(
        "numbers-a-cell-too-low",
        COUNT,
        "plots/interactions.py",
        "ax.text(column, row - 1, cell",
        "ax.text(column, row, cell",
    ),
    Fault(
        "pixels-turned",
        AXIS,
        "plots/pixels.py",
        "explanation.values.reshape(height, width)",
        'explanation.values.reshape(height, width, order="F")',
    ),
    Fault(
        "others-without-covariance",
        COVARIANCE,
        "plots/selection.py",
        "explanation.covariance[np.ix_(others, others)].sum()",
        "explanation.covariance[others, others].sum()",
    ),
    # monitoring
    Fault("tests-not-combined", MANY, "drift/two_sample_tests.py", "len(p_values) * min(p_values)", "min(p_values)"),
    Fault(
        "chi-square-degrees",
        FREEDOM,
        "drift/two_sample_tests.py",
        "chi2_contingency(table, correction=False).pvalue",
        "chi2_contingency(np.pad(table, ((0, 0), (0, 1)), constant_values=1e-9), correction=False).pvalue",
    ),
    Fault(
        "kolmogorov-of-all-rows",
        QUANTILE,
        "drift/two_sample_tests.py",
        "kolmogorov(np.sqrt(effective_rows) * distance)",
        "kolmogorov(np.sqrt(n + m) * distance)",
    ),
    Fault(
        "share-one-sided",
        ONE_SIDED,
        "drift/two_sample_tests.py",
        "min(1.0, 2 * min(tails) / law.sum())",
        "min(1.0, min(tails) / law.sum())",
    ),
    Fault(
        "missing-cells-not-tested",
        MISSING,
        "drift/numeric.py",
        "*_repeated_values_p(ecdf), *missing_p(reference, current)])",
        "*_repeated_values_p(ecdf)])",
    ),
    Fault(
        "background-seed-ignored",
        SEED,
        "_measures/problem.py",
        "np.sort(stream(seed, BACKGROUND, 0)",
        "np.sort(stream(0, BACKGROUND, 0)",
    ),
    Fault(
        "monitor-level-ignored",
        OPTION,
        "monitoring/monitor.py",
        "names=names, paired=paired, adjust=adjust, level=level)",
        "names=names, paired=paired, adjust=adjust)",
    ),
    Fault(
        "slices-of-just-enough",
        COUNT,
        "monitoring/slices.py",
        "if len(rows) >= FEWEST_ROWS]",
        "if len(rows) > FEWEST_ROWS]",
    ),
    Fault(
        "weights-of-pairs-lost",
        IGNORED,
        "monitoring/data.py",
        "RowSet(as_table(X, argument), y, weights[0] if weights else None, by)",
        "RowSet(as_table(X, argument), y, None, by)",
    ),
    # cli
    Fault(
        "usage-as-failure",
        EXIT,
        "cli/console.py",
        "typer.Exit(USAGE if isinstance(error, OptionError) else FAILED)",
        "typer.Exit(FAILED)",
    ),
    Fault(
        "flagged-as-not-converged",
        EXIT,
        "cli/output.py",
        "typer.Exit(FLAGGED if summary.flagged else NOT_CONVERGED)",
        "typer.Exit(NOT_CONVERGED)",
    ),
    Fault(
        "cli-seed",
        FORWARD,
        "cli/commands/explain.py",
        "seed=run.seed,",
        "seed=0,",
    ),
    Fault(
        "cli-tests",
        FORWARD,
        "cli/commands/explain.py",
        "explanation.summary(about=about, tests=written.tests)",
        "explanation.summary(about=about)",
    ),
    Fault(
        "cli-monitor-level",
        FORWARD,
        "cli/options.py",
        '"level": self.level}',
        '"level": 0.95}',
    ),
    Fault(
        "cli-merge-tolerance",
        FORWARD,
        "cli/commands/merge.py",
        "for path in given], tolerance=tolerance)",
        "for path in given])",
    ),
    Fault(
        "cli-classes",
        FORWARD,
        "cli/inputs.py",
        "cs.as_predictor(model, output=request.of_model.output, classes=request.of_model.labels)",
        "cs.as_predictor(model, output=request.of_model.output)",
    ),
    # execution
    Fault("streams-of-all-purposes", SEED, "execution/seeds.py", "spawn_key=(purpose, number)", "spawn_key=(number,)"),
    Fault(
        "checkpoint-unchecked",
        CHECKSUM,
        "execution/checkpoint_file.py",
        "if hashlib.sha256(content[DIGEST:]).digest() != digest:",
        "if not digest:",
    ),
    Fault(
        "axes-turned-twice",
        AXIS,
        "execution/checkpoint_file.py",
        "array.transpose(np.argsort(axes))",
        "array.transpose(axes)",
    ),
    Fault(
        "work-sent-once", CACHE, "execution/joblib.py", "if self._sent[0] is not function:", "if self._sent[0] is None:"
    ),
    Fault(
        "losses-in-all",
        COUNT,
        "execution/scheduler.py",
        "remaining, losses = remaining[1:], 0",
        "remaining, losses = remaining[1:], losses",
    ),
    # datasets
    Fault("diabetes-scaled", OPTION, "datasets.py", "as_frame=True, scaled=False", "as_frame=True"),
    # integrations
    Fault("slices-at-one-step", AXIS, "integrations/mlflow.py", "value, now, step + offset)", "value, now, step)"),
    Fault(
        "names-apart-by-case",
        TIE,
        "integrations/mlflow.py",
        "if _folded(candidate) not in taken",
        "if candidate not in taken",
    ),
    Fault(
        "numbers-that-are-none",
        MISSING,
        "integrations/mlflow.py",
        "if value is not None and math.isfinite(value):",
        "if value is not None:",
    ),
    # testing
    Fault(
        "sum-never-checked",
        CHECK,
        "testing/contract.py",
        "same = abs(together - result.total) <= SIGMAS * error + ROUNDING * trial.scale",
        "same = abs(together - result.total) < np.inf",
    ),
    Fault(
        "single-failure-forgiven",
        CHECK,
        "testing/checks.py",
        "    if failures:\n",
        "    if len(failures) > 1:\n",
    ),
    Fault(
        "jobs-never-compared",
        CHECK,
        "testing/contract.py",
        "numbers_as_bytes(trial.run(n_jobs=2)) == numbers_as_bytes(trial.result)",
        "numbers_as_bytes(trial.run(n_jobs=1)) == numbers_as_bytes(trial.result)",
    ),
)
