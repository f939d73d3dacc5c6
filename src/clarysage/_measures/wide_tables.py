"""The option ``max_players``: in a table with very many columns, a few are players, and all others are one group."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from clarysage._measures.examples import separate_targets
from clarysage._measures.player_order import column_names
from clarysage.catalogue import REMOVALS
from clarysage.errors import Argument, InputError, Note, Or, Set
from clarysage.models import Predictor, as_predictor
from clarysage.models.adapter import adapter_of
from clarysage.models.pipelines import unwrap
from clarysage.players import Players
from clarysage.protocols import ability
from clarysage.removal import is_conditional
from clarysage.structure.intrinsic_numbers import HasCoefficients, HasGains
from clarysage.structure.linear import Linear
from clarysage.tables import is_on_disk, labels_of, schema_of
from clarysage.tables.sparse import SparseTable, is_sparse

WIDE = 256  # columns of a sparse table up to which each is a player
PLAYERS = 50  # in wider ones, by default
MOST_FILLED_IN = 2_000  # columns of a sparse table of which a removal needs every cell, at most


def with_fewer_players(max_players: Any, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[Note]]:
    """Returns the arguments of a measure with at most ``max_players`` players, and a note if columns were grouped.

    The columns that remain players are those outside the user's groups that probably matter most: by their standard
    deviation times the model's coefficients, by the gains of its splits, or by the standard deviation alone. Without a
    number, only sparse tables with more than ``WIDE`` columns are concerned.
    """
    X, groups = arguments.get("X"), arguments.get("groups") or {}
    if max_players is not None:
        _check(max_players, X)
    elif not is_wide(X):
        return arguments, []
    most = PLAYERS if max_players is None else int(max_players)
    table = separate_targets(X, arguments.get("y"), arguments.get("sample_weight"))[0]
    f = _predictor(arguments.get("model"))
    others = (None if f is None else f.feature_names, labels_of(arguments.get("background")))
    names = column_names(table, arguments.get("feature_names"), *others)
    players = Players.of(names, arguments.get("groups"))
    if len(players) <= most:
        return arguments, []
    in_group = {str(name) for name in groups}
    alone = np.array([column for column, owner in enumerate(players.owner) if players.names[owner] not in in_group])
    sizes, rule = _sizes(f, table)
    order = alone[np.argsort(-sizes[alone], kind="stable")]
    largest, rest = np.split(order, [max(most - len(groups) - 1, 0)])
    name = f"the other {len(rest):,} columns"
    text = (
        f"Players: {len(largest):,} of the {len(names):,} columns, those with the largest {rule}, and {name!r} as one; "
    )
    changed = {**arguments, "groups": {**groups, name: [names[column] for column in np.sort(rest)]}}
    return changed, [Note([text, Set("max_players", 2 * most), " takes more of them."])]


def is_wide(X: Any) -> bool:
    """Tells whether X is a sparse matrix with so many columns that few of them can be players."""
    return (is_sparse(X) or isinstance(X, SparseTable)) and len(X.shape) == 2 and X.shape[1] > WIDE


def check_width(removal: Any, X: Any) -> None:
    """Raises an error for a sparse X with so many columns that a removal which needs every cell would fill memory."""
    if not is_wide(X) or X.shape[1] <= MOST_FILLED_IN:
        return
    row = None if isinstance(removal, str) else REMOVALS.row_of(removal)
    name = removal if row is None else row.name
    if not isinstance(name, str):
        return
    if is_conditional(name):
        how = "learns from all columns of "
    elif REMOVALS.get_row(name).mixes == "columns":
        how = "fills in all columns of "
    else:
        return
    raise InputError(
        "removal",
        got=[f"{name!r}, which {how}", Argument("X"), f", with {X.shape[1]:,}"],
        wanted=f"at most {MOST_FILLED_IN:,} columns for it",
        hint=[Set("removal", "marginal"), Or(), "fewer columns"],
    )


def _check(max_players: Any, X: Any) -> None:
    if isinstance(max_players, bool) or not isinstance(max_players, Integral) or max_players < 2:
        raise InputError("max_players", got=f"{max_players!r}", wanted="a whole number of players, two or more")
    if is_on_disk(X):
        raise InputError("max_players", got="a number, and X on disk", wanted="X in memory", hint=Set("groups"))


def _predictor(model: Any) -> Predictor | None:
    """Returns the model as a predictor; None for a learner that is not fitted."""
    try:
        return as_predictor(model)
    except InputError:
        return None


def _sizes(f: Predictor | None, table: Any) -> tuple[np.ndarray, str]:
    """Returns how much each column of a table probably matters, (d,), and the name of this number."""
    spread, scaled = _spread(table), "coefficient times standard deviation"
    for read, name in ((_coefficients, scaled), (_gains, "gain"), (_weights_of_structure, scaled)):
        try:
            values, owner = (None, None) if f is None else read(f)
            if values is not None:
                sums = np.bincount(np.arange(len(values)) if owner is None else owner, values, minlength=len(spread))
                return np.where(name == scaled, spread, 1.0) * sums, name
        except Exception:  # a model that cannot be read, or one of other columns, which is an error later on
            continue
    return spread, "standard deviation"


# a number for each column inside a model, and the column of X that each is made of, None where both are the same
Values = tuple[np.ndarray | None, np.ndarray | None]


def _coefficients(f: Predictor) -> Values:
    """Returns the sum of absolute coefficients of each column inside the model, and where the column comes from.

    None stands for a model without coefficients. The other array has the column of X that each is made of.
    """
    unwrapped = unwrap(f)
    linear = ability(adapter_of(unwrapped.last), HasCoefficients)
    coefficients = None if linear is None else linear.coefficients()
    return None if coefficients is None else np.abs(coefficients).sum(axis=1), unwrapped.inner_columns().owner


def _gains(f: Predictor) -> Values:
    """Returns the gain of each column inside the model, and where the column comes from.

    None stands for a model without gains. The other array has the column of X that each is made of.
    """
    unwrapped = unwrap(f)
    trees = ability(adapter_of(unwrapped.last), HasGains)
    gains = None if trees is None else trees.gains()
    return None if gains is None else gains.values, unwrapped.inner_columns().owner


def _weights_of_structure(f: Predictor) -> Values:
    """Returns the sum of absolute weights of each column inside the model, and where the column comes from.

    None stands for a model that is not linear. The other array has the column of X that each is made of. Of
    weights such as those of naive Bayes only differences between classes matter.
    """
    structure = None if f.structure is None else f.structure()
    if structure is None or not isinstance(structure.representation, Linear):
        return None, None
    weights = structure.representation.weights
    return np.abs(weights - weights.mean(axis=1, keepdims=True)).sum(axis=1), structure.owner


def _spread(table: Any) -> np.ndarray:
    """Returns the standard deviation of each column; that of the indicators of its categories for one of these."""
    if isinstance(table, SparseTable):
        rows = table.rows.astype(np.float64)
        mean = np.asarray(rows.mean(axis=0)).ravel()
        variance = np.asarray(rows.multiply(rows).mean(axis=0)).ravel() - mean**2
        return np.asarray(np.sqrt(np.nan_to_num(np.maximum(variance, 0.0))))
    schema = schema_of(table)
    codes = schema.encode(table, "X")
    spread = np.zeros(codes.shape[1])
    for j, is_number in enumerate(schema.is_number):
        present = codes[np.isfinite(codes[:, j]), j]
        if len(present):
            shares = np.unique(present, return_counts=True)[1] / len(present)
            spread[j] = present.std() if is_number else np.sqrt(1 - (shares**2).sum())
    return spread
