"""A model and data at the door: checked, put in order, given a background; and explanations made of an estimate."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage import __version__
from clarysage.errors import InputError
from clarysage.estimate import Estimate
from clarysage.estimators.draws import total
from clarysage.execution.seeds import BACKGROUND, REMOVAL, entropy_of, stream
from clarysage.explanation import Explanation
from clarysage.games import PredictivePower
from clarysage.models import Predictor, as_predictor
from clarysage.players import Players
from clarysage.protocols import Loss, Removal
from clarysage.removal import as_removal
from clarysage.tables import schema_of

DEFAULT_BACKGROUND = 512
LARGE_BACKGROUND = 4096


@dataclass(frozen=True)
class Setting:
    """What every measure starts from.

    X is in the order of the model's own columns, so that the order in which the user has them changes no bit; ``order``
    leads from the players so numbered to the players in the user's order.
    """

    f: Predictor
    X: Any
    removal: Removal
    players: Players
    columns: tuple[str, ...]
    order: tuple[int, ...]
    entropy: int
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        *,
        background: Any,
        removal: Any,
        groups: Mapping[str, Sequence[Any]] | None,
        feature_names: Sequence[str] | None,
        rng: Any,
    ) -> Setting:
        f, entropy = as_predictor(model), entropy_of(rng)
        names = _names(f, X, feature_names)
        arranged = f.arrange(X)
        columns = names if arranged is X else _names(f, arranged, None)
        players = Players.of(columns, groups)
        order = tuple(players.names.index(name) for name in Players.of(names, groups).names)
        rows, notes = _background(background, removal, arranged, stream(entropy, BACKGROUND, 0))
        q = as_removal(removal, rows, None, stream(entropy, REMOVAL, 0))
        return cls(f, arranged, q, players, columns, order, entropy, notes)

    def explanations(
        self, v: PredictivePower, result: Estimate, *, measure: str, method: str, notes: Sequence[str] = ()
    ) -> list[Explanation]:
        """One explanation for each loss of the game."""
        assert result.stopped is not None
        order = list(self.order)
        whole = total(v)
        full = result.covariance.ndim == 3
        return [
            Explanation(
                values=result.values[place][order],
                std_error=result.std_error[place][order],
                covariance=result.covariance[place][np.ix_(order, order)] if full else None,
                feature_names=tuple(self.players.names[i] for i in order),
                total=float(whole[place]),
                base=-float(v.weights @ v.ends[0][:, place]),
                model_rows=result.model_rows,
                draws=result.draws,
                stopped=result.stopped,
                measure=measure,
                loss=loss.name,
                removal=str(getattr(self.removal, "name", type(self.removal).__name__)),
                method=method,
                groups=self.players.members(self.columns) if self.players.is_grouped else None,
                notes=(*self.notes, *notes, *_remarks(result, v, loss, float(whole[place]))),
                provenance=_provenance(self, v),
            )
            for place, loss in enumerate(v.losses)
        ]


def _names(f: Predictor, X: Any, feature_names: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the columns of X: those given, its own, the model's, or x0, x1, ..."""
    schema = schema_of(X, feature_names=feature_names)
    if feature_names is not None:
        return tuple(map(str, feature_names))
    if schema.labels is None and f.feature_names is not None and len(f.feature_names) == schema.width:
        return f.feature_names
    return schema.names


def _background(given: Any, removal: Any, X: Any, rng: np.random.Generator) -> tuple[Any, tuple[str, ...]]:
    if not isinstance(removal, str):
        if given is not None:
            raise InputError("background", got="a background beside a removal object", wanted="one of the two",
                             hint="removal=Marginal(background)")  # fmt: skip
        return None, ()
    if given is not None:
        return given, _about_size(given)
    n = len(X) if not hasattr(X, "num_rows") else X.num_rows
    if removal == "baseline" or n <= DEFAULT_BACKGROUND:
        return X, (f"Background: the {n} rows of X, since none was given.",)
    chosen = np.sort(rng.choice(n, DEFAULT_BACKGROUND, replace=False))
    note = f"Background: {DEFAULT_BACKGROUND} of the {n:,} rows of X, drawn at random, since none was given."
    return _rows(X, chosen), (note,)


def _about_size(background: Any) -> tuple[str, ...]:
    size = background.num_rows if hasattr(background, "num_rows") else len(background)
    if size <= LARGE_BACKGROUND:
        return ()
    return (
        f"Background: {size:,} rows; each prediction with features withheld averages over all of them. "
        f"About {DEFAULT_BACKGROUND} rows commonly do as well.",
    )


def _rows(table: Any, places: np.ndarray) -> Any:
    if hasattr(table, "iloc"):
        return table.iloc[places]
    if hasattr(table, "take") and hasattr(table, "column_names"):
        return table.take(places)
    return table[places] if hasattr(table, "shape") else [table[i] for i in places]


def _remarks(result: Estimate, v: PredictivePower, loss: Loss, whole: float) -> list[str]:
    remarks = [result.remark] if result.remark else []
    if result.clipped and np.isfinite(loss.ceiling):
        remarks.append(
            f"{result.clipped:,} losses were bounded at {loss.ceiling:.4g}: the true class had a probability of zero."
        )
    if whole < 0:
        remarks.append("The model predicts worse with its features than without them on these examples.")
    return remarks


def _provenance(setting: Setting, v: PredictivePower) -> dict[str, Any]:
    return {
        "clarysage": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "seed": setting.entropy,
        "model": setting.f.name,
        "examples": len(v.X),
        "columns": int(v.X.shape[1]),
        "background_rows": v.rows_per_payoff,
        "fingerprints": {
            "X": _fingerprint(v.X),
            "y": _fingerprint(*v.targets),
            "weights": _fingerprint(v.weights),
            "background": _fingerprint(getattr(v.restricted, "background", np.empty(0))),
        },
    }


def _fingerprint(*arrays: np.ndarray) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        kind = array.astype(str) if array.dtype.kind in "OUS" else np.ascontiguousarray(array)
        digest.update(f"{kind.dtype}{kind.shape}".encode() + np.ascontiguousarray(kind).tobytes())
    return digest.hexdigest()[:32]
