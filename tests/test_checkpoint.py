"""Checkpoints: a run that was broken off goes on with the very bits of one that was not; or a file is refused."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import struct
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarysage as cs
from clarysage._utils.atomic import _draft
from clarysage.errors import ClarysageWarning, InputError
from clarysage.estimators import (
    LEAVE_ONE_IN,
    LEAVE_ONE_OUT,
    ClosedFormValues,
    Exact,
    Kernel,
    PairedWalks,
    Permutation,
    Repeats,
    SurrogateWalks,
    estimate,
)
from clarysage.estimators.absolute import Absolute
from clarysage.estimators.additive_fit import Blocks
from clarysage.estimators.checkpoint import Checkpoint, state_classes_of
from clarysage.estimators.interactions import ExactInteractions, SampledInteractions
from clarysage.estimators.per_example import PerExample
from clarysage.execution.checkpoint_file import FIRST_LINE, Decoder, Encoder, read_checkpoint, write_checkpoint
from clarysage.games import PredictivePower, SingleDraws, pointwise
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.stopping import Budget, Converged
from clarysage.protocols import unlimited_time
from clarysage.removal import Marginal

N, P = 40, 4
RNG = np.random.default_rng(8)
X = RNG.normal(size=(N, P))
BACKGROUND = RNG.normal(size=(16, P))
PAIRS = np.array([[0, 1], [2, 3]])


def heat(Z: np.ndarray) -> np.ndarray:
    return np.asarray(Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 2]) + 0.3 * Z[:, 3])


def chance(Z: np.ndarray) -> np.ndarray:
    p = 1 / (1 + np.exp(-heat(Z)))
    return np.column_stack([1 - p, p])


Y = heat(X) + 0.2 * RNG.normal(size=N)
LABELS = (Y > 0).astype(int)


def squared() -> Any:
    return PredictivePower.of(Marginal(BACKGROUND).restrict(heat, X), ["squared error", "absolute error"], X, Y)


def crossed() -> Any:
    many = np.random.default_rng(4).normal(size=(64, P))  # of which walks look at few, and compare them with all
    return PredictivePower.of(Marginal(many).restrict(chance, X), "cross entropy", X, LABELS)


def single() -> Any:
    return SingleDraws.of(Marginal(BACKGROUND).restrict(heat, X), "squared error", X, Y)


def outputs() -> Any:
    return pointwise(Marginal(BACKGROUND).restrict(heat, X), X)


def linear() -> Any:
    from sklearn.linear_model import LinearRegression

    rows = np.random.default_rng(2).normal(size=(5 * N, P))
    f = LinearRegression().fit(X, Y)
    return PredictivePower.of(Marginal(BACKGROUND).restrict(f, rows), "squared error", rows, heat(rows))


def tree() -> Any:
    from sklearn.tree import DecisionTreeRegressor

    rows = np.random.default_rng(2).normal(size=(5 * N, P))
    f = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, Y)
    return PredictivePower.of(Marginal(BACKGROUND).restrict(f, rows), "squared error", rows, heat(rows))


def of_seven() -> Any:
    rows = np.random.default_rng(3).normal(size=(12, 7))
    return PredictivePower.of(Marginal(rows[:6]).restrict(heat, rows), "squared error", rows, rows[:, 0])


def after(draws: int) -> Callable[[Estimate], StopReason | None]:
    return lambda now: StopReason.RULE if now.draws >= draws else None


# every estimator: the game, the estimator, and the rules of a run of several rounds
CASES: dict[str, tuple[Callable[[], Any], Any, list[Any]]] = {
    "permutation": (squared, Permutation(), [after(150)]),
    "kernel": (squared, Kernel(), [after(150)]),
    "paired walks": (squared, PairedWalks(), [Converged(0.1)]),
    "paired walks with comparisons": (crossed, PairedWalks(), [after(120)]),
    "paired walks with looks": (squared, PairedWalks(), [cs.TopKnown(2, negligible=0.02), after(250)]),
    "paired walks until the top is known": (squared, PairedWalks(), [cs.TopKnown(3, negligible=0.02)]),
    "paired walks up to a budget": (squared, PairedWalks(), [Budget(9000)]),
    "paired walks planned for a small budget": (crossed, PairedWalks(), [Budget(6000)]),
    "surrogate walks": (squared, SurrogateWalks(), [after(60)]),
    "exact": (of_seven, Exact(), []),
    "solved": (linear, ClosedFormValues(), []),
    "solved with walks": (tree, ClosedFormValues(), []),
    "per example": (squared, PerExample(), [after(6 * N)]),
    "absolute per example": (outputs, Absolute(PerExample(with_influence=False)), [after(6 * N)]),
    "absolute exact": (outputs, Absolute(Exact()), []),
    "repeats": (single, Repeats(), [after(150 * N)]),
    "leave one out": (squared, LEAVE_ONE_OUT, []),
    "leave one in": (squared, LEAVE_ONE_IN, []),
    "exact interactions": (of_seven, ExactInteractions(PAIRS), []),
    "random coalitions": (squared, SampledInteractions(PAIRS), [after(200)]),
    "blocks": (squared, Blocks(np.full((2, P), 0.1)), [after(100)]),
}


OF_ONE_ROUND = ("paired walks planned for a small budget", "leave one out", "leave one in", "absolute exact")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of several chunks, in games this small."""
    monkeypatch.setattr("clarysage.estimators.limits.ROWS_PER_CHUNK", 700)
    monkeypatch.setattr("clarysage.estimators.closed_form.ROWS_AT_ONCE", 16)
    monkeypatch.setattr("clarysage.estimators.closed_form.FEWEST_PAIRS", 64)
    monkeypatch.setattr("clarysage.estimators.surrogate_walks._gradient_boosting", nearest)
    monkeypatch.setattr("clarysage.estimators.surrogate_walks.SURROGATE_PAIRS", 2)


def nearest() -> Any:
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(max_depth=5, random_state=0)


class Breaking:
    """An executor that breaks down after so many chunks."""

    def __init__(self, after: float, error: type[BaseException] = KeyboardInterrupt) -> None:
        self.left, self.error, self.rounds = after, error, list[int]()

    def map(
        self, function: Callable[[Any], Any], tasks: Sequence[Any], time_left: Callable[[], float] = unlimited_time
    ) -> Iterator[Any]:
        self.rounds.append(len(tasks))
        for task in tasks:
            if self.left <= 0:
                raise self.error("broken off")
            self.left -= 1
            yield function(task)


def run(case: str, file: Path | None = None, executor: Any = None, rules: list[Any] | None = None) -> Estimate:
    """A run as in a process of its own: nothing is left in memory of an earlier one."""
    game, estimator, stop = CASES[case]
    found = Checkpoint(file, {"of": case}, read_checkpoint(file) if file.exists() else None) if file else None
    return estimate(
        game(), estimator, stop=stop if rules is None else rules, seed=5, executor=executor, checkpoint=found
    )


def broken(case: str, file: Path, executor: Breaking) -> Estimate | None:
    """The result of a run if it came to its end, else None."""
    try:
        found = run(case, file, executor)
    except (KeyboardInterrupt, RuntimeError):
        return None
    return None if found.stopped is StopReason.INTERRUPTED else found


def bits(value: Any) -> Any:
    """All there is to a value, to be compared by ==, with floats by their bits."""
    if isinstance(value, (np.ndarray, np.generic)):
        return (np.asarray(value).dtype.str, np.shape(value), np.ascontiguousarray(value).tobytes())
    if isinstance(value, float):
        return struct.pack("d", value)
    if dataclasses.is_dataclass(value):
        return {field.name: bits(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {name: bits(one) for name, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [bits(one) for one in value]
    return value


@pytest.mark.parametrize("case", CASES)
def test_a_run_broken_off_after_any_chunk_goes_on_with_the_bits_of_one_that_was_not(case: str, tmp_path: Path) -> None:
    count = Breaking(np.inf)
    whole = bits(run(case, executor=count))
    chunks = sum(count.rounds)
    assert len(count.rounds) > 1 or case in OF_ONE_ROUND, "a run of one round proves little"
    assert chunks > len(count.rounds), "and so do rounds of one chunk"
    for number, k in enumerate(np.unique(np.linspace(1, chunks - 1, 5).astype(int)).tolist()):
        file = tmp_path / f"{k}"
        error = (KeyboardInterrupt, RuntimeError)[number % 2]
        assert broken(case, file, Breaking(k, error)) is None
        rest = Breaking(np.inf)
        assert bits(run(case, file, rest)) == whole, f"after {k} of {chunks} chunks"
        assert sum(rest.rounds) == chunks - k, "every chunk is drawn once"


@pytest.mark.parametrize("case", CASES)
def test_a_run_broken_off_again_and_again_ends_with_the_same_bits(case: str, tmp_path: Path) -> None:
    file, found, times, count = tmp_path / "run", None, 0, Breaking(np.inf)
    whole = bits(run(case, executor=count))
    while found is None:
        found, times = broken(case, file, Breaking(1 + sum(count.rounds) // 5)), times + 1
    assert times > 1
    assert bits(found) == whole
    after = Breaking(0)
    assert bits(run(case, file, after)) == bits(found), "a run that has ended is read, not run again"
    assert sum(after.rounds) == 0


@pytest.mark.parametrize("case", ["paired walks", "surrogate walks", "exact"])
def test_what_is_broken_off_amid_a_merge_is_not_kept(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, estimator, _ = CASES[case]
    merged, calls = type(estimator).merge, iter(range(1000))

    def breaking(self: Any, one: Any, other: Any) -> Any:
        found = merged(self, one, other)
        if next(calls) == 7:
            raise KeyboardInterrupt  # when the state has been changed in place already
        return found

    with monkeypatch.context() as patched:
        patched.setattr(type(estimator), "merge", breaking)
        assert broken(case, tmp_path / "run", Breaking(np.inf)) is None
    assert bits(run(case, tmp_path / "run")) == bits(run(case))


def test_a_rule_that_breaks_down_loses_no_draws(tmp_path: Path) -> None:
    asked = iter(range(100))

    def rule(now: Estimate) -> None:
        if next(asked) == 1:
            raise KeyboardInterrupt

    count, rest = Breaking(np.inf), Breaking(np.inf)
    run("paired walks", tmp_path / "run", count, [rule])
    run("paired walks", tmp_path / "run", rest)
    whole = Breaking(np.inf)
    assert bits(run("paired walks", executor=whole)) == bits(run("paired walks", tmp_path / "run"))
    assert sum(count.rounds) + sum(rest.rounds) == sum(whole.rounds)


@pytest.mark.parametrize("case", ["paired walks", "permutation", "kernel"])
def test_a_finer_tolerance_goes_on_and_ends_as_if_asked_for_at_once(case: str, tmp_path: Path) -> None:
    coarse = run(case, tmp_path / "run", rules=[Converged(0.3)])
    assert coarse.stopped is StopReason.CONVERGED
    fine, at_once = (run(case, file, rules=[Converged(0.1)]) for file in (tmp_path / "run", None))
    assert fine.draws > coarse.draws
    assert bits(fine) == bits(at_once)
    assert run(case, tmp_path / "run", rules=[Converged(0.3)]).draws == fine.draws, "a coarser one has it at once"


def sage(file: Path | None = None, model: Any = heat, **options: Any) -> Any:
    given = {"background": BACKGROUND, "method": "paired walks", "tolerance": 0.1, "rng": 3, **options}
    return cs.sage(model, given.pop("X", X), given.pop("y", Y), checkpoint=file, **given)


def test_the_explanation_is_the_same_to_the_last_sign_of_its_json(tmp_path: Path) -> None:
    sage(tmp_path / "run", tolerance=0.3)
    assert json.dumps(sage(tmp_path / "run").to_dict()) == json.dumps(sage().to_dict())


def test_a_model_that_fails_leaves_its_work_in_the_file(tmp_path: Path) -> None:
    rows, limit = [0], [6000]

    def failing(Z: np.ndarray) -> np.ndarray:
        rows[0] += len(Z)
        if rows[0] > limit[0]:
            raise OSError("the model is gone")
        return heat(Z)

    with pytest.raises(cs.RunFailedError) as caught:
        sage(tmp_path / "run", failing, tolerance=0.06)
    so_far = caught.value.partial.model_rows
    rows[0], limit[0] = 0, 10**9
    found = sage(tmp_path / "run", failing, tolerance=0.06)
    asked = rows[0]
    assert bits(found) == bits(sage(model=failing, tolerance=0.06))
    rows[0] = 0
    sage(tmp_path / "run", failing, tolerance=0.06)  # asks for the ends and for preparations alone
    assert asked - rows[0] == found.model_rows - so_far, "nothing that was answered was asked again"


def test_a_deadline_ends_a_call_and_the_next_goes_on(tmp_path: Path) -> None:
    import time

    def slow(Z: np.ndarray) -> np.ndarray:
        time.sleep(0.004)
        return heat(Z)

    options = {"check_manifold": False}  # a deadline may leave the check out, and a note would say so
    found = sage(tmp_path / "run", slow, deadline=0.05, **options)
    assert found.stopped is StopReason.DEADLINE
    for _ in range(200):
        found = sage(tmp_path / "run", slow, deadline=0.3, **options)
        if found.converged:
            break
    assert bits(found) == bits(sage(model=slow, deadline=600, **options))


def test_who_watches_sees_the_run_from_where_it_went_on(tmp_path: Path) -> None:
    class Watching:
        def __init__(self) -> None:
            self.seen = list[tuple[float, float]]()

        def __call__(self, now: Estimate, elapsed: float) -> None:
            self.seen.append((now.draws, elapsed))

        def count(self, share: float, elapsed: float) -> None:
            self.seen.append((share, elapsed))

        def close(self) -> None:
            self.seen.append((0, 0))

    for case in ("paired walks", "exact"):
        file, count, seen = tmp_path / case, Breaking(np.inf), Watching()
        run(case, executor=count)
        game, estimator, stop = CASES[case]
        assert broken(case, file, Breaking(count.rounds[0] + 1)) is None
        kept = read_checkpoint(file).progress(state_classes_of(CASES[case][1]))
        found = Checkpoint(file, {"of": case}, read_checkpoint(file))
        estimate(game(), estimator, stop=stop, seed=5, observer=seen, checkpoint=found)
        assert seen.seen[0][0] == (kept.made / 2**7 if case == "exact" else kept.made)
        assert seen.seen[0][1] >= kept.seconds > 0, "what is left is told from the time of the whole run"


def test_two_workers_go_on_with_the_file_of_one(tmp_path: Path) -> None:
    import joblib

    sage(tmp_path / "run", tolerance=0.3)
    with joblib.parallel_config("threading", n_jobs=2):
        found = sage(tmp_path / "run")
    assert bits(found) == bits(sage())


def test_without_a_seed_that_of_the_file_is_taken_up(tmp_path: Path) -> None:
    options: dict[str, Any] = {"rng": None, "background": None}  # rows of X drawn from the seed
    many = np.tile(X, (20, 1)) + RNG.normal(size=(20 * N, P))
    one = sage(tmp_path / "run", X=many, y=heat(many), tolerance=0.3, **options)
    other = sage(tmp_path / "run", X=many, y=heat(many), tolerance=0.3, **options)
    assert bits(one) == bits(other)
    seed = one.provenance["seed"]
    assert bits(sage(tmp_path / "run", X=many, y=heat(many), tolerance=0.3, background=None, rng=seed)) == bits(one)


@pytest.mark.parametrize(
    "measure",
    [
        cs.shapley_effects,
        cs.mean_loss_shap,
        cs.mean_absolute_shap,
        cs.permutation_importance,
        cs.mean_importance,
        cs.conditional_permutation_importance,
    ],
)
def test_other_measures_go_on_with_the_same_bits(measure: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"rng": 4}
    if measure in (cs.mean_loss_shap, cs.mean_absolute_shap, cs.shapley_effects):
        options |= {"method": "paired walks", "tolerance": 0.3}
    rows, limit = [0], [10**9]

    def failing(Z: np.ndarray) -> np.ndarray:
        rows[0] += len(Z)
        if rows[0] > limit[0]:
            raise OSError("the model is gone")
        return heat(Z)

    whole = bits(measure(failing, X, Y, **options))
    rows[0], limit[0] = 0, rows[0] - 1
    with pytest.raises(cs.ModelError if measure is cs.mean_importance else cs.RunFailedError):
        measure(failing, X, Y, checkpoint=tmp_path / "run", **options)
    assert (tmp_path / "run").exists()
    limit[0] = 10**9
    assert bits(measure(failing, X, Y, checkpoint=tmp_path / "run", **options)) == whole


def reversed_rows(Z: np.ndarray) -> np.ndarray:
    return heat(Z) + 1e-6


def never(now: Any) -> None:
    return None


OTHER_RUNS: dict[str, tuple[dict[str, Any], str]] = {
    "seed": ({"rng": 4}, "seed: 3 in the file, 4 in this call"),
    "method": ({"method": "kernel"}, r"method: PairedWalks\(.*\) in the file, Kernel\(\) in this call"),
    "settings of a method": ({"method": SurrogateWalks(nearest())}, "DecisionTreeRegressor"),
    "removal": ({"removal": "product of marginals"}, "removal: marginal .* in the file, product of marginals"),
    "loss": ({"loss": "absolute error"}, "loss: squared error in the file, absolute error in this call"),
    "measure": ({"y": None}, "measure: sage in the file, shapley effects in this call"),
    "rows": ({"X": X + 1e-9}, "data of X: [0-9a-f]{8} in the file, [0-9a-f]{8} in this call"),
    "responses": ({"y": Y + 1e-9}, "data of y: "),
    "weights": ({"sample_weight": np.arange(1, N + 1)}, "data of weights: "),
    "background": ({"background": BACKGROUND[:-1]}, "data of background: "),
    "groups": ({"groups": {"both": ["x0", "x1"]}}, "groups: None in the file, .'both': "),
    "names": ({"feature_names": list("abcd")}, "features: x0, x1, x2, x3 in the file, a, b, c, d in this call"),
    "budget": ({"budget": 10**6}, "budget: none in the file, 1000000 in this call"),
    "rules": ({"stop": cs.TopKnown(2)}, r"stop: none in the file, TopKnown\(k=2, "),
    "rules of one's own": ({"stop": never}, "stop: none in the file, function never in this call"),
    "predictions": ({"model": reversed_rows}, "predictions of the model: differ by up to 1e-06"),
    "name of the model": ({"model": reversed_rows}, "model: heat in the file, reversed_rows in this call"),
}


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    sage(tmp_path / "run", loss="squared error", y=Y, tolerance=0.4)
    return tmp_path / "run"


@pytest.mark.parametrize("what", OTHER_RUNS)
def test_a_file_of_another_run_is_refused_with_what_differs(what: str, kept: Path) -> None:
    options, said = OTHER_RUNS[what]
    before = kept.read_bytes()
    given: dict[str, Any] = {"loss": "squared error", "y": Y, **options}
    with pytest.raises(InputError, match=said) as caught:
        sage(kept, given.pop("model", heat), **given)
    assert caught.value.argument == "checkpoint"
    assert "deleting the file" in str(caught.value)
    assert kept.read_bytes() == before


def test_all_that_differs_is_said_and_nothing_else(kept: Path) -> None:
    with pytest.raises(
        InputError, match="seed: 3 in the file, 5 in this call; budget: none in the file, 9 in this call; wanted"
    ) as caught:
        sage(kept, loss="squared error", rng=5, budget=9)
    assert str(caught.value).count(" in the file, ") == 2


def test_a_file_of_another_version_of_the_library_is_refused(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarysage._measures.checkpoint_identity.__version__", "99")
    with pytest.raises(InputError, match=r"clarysage: .* in the file, 99 in this call"):
        sage(kept, loss="squared error")


def test_what_results_do_not_depend_on_may_differ(kept: Path) -> None:
    whole = bits(sage(loss="squared error", tolerance=0.1))
    assert bits(sage(kept, loss="squared error", progress=False, tolerance=0.1)) == whole


def test_settings_are_told_by_their_values_not_by_their_types(tmp_path: Path) -> None:
    one = sage(tmp_path / "run", budget=20_000, stop=cs.TopKnown(2))
    assert bits(sage(tmp_path / "run", budget=np.float64(2e4), stop=cs.TopKnown(np.int64(2)))) == bits(one)


@pytest.mark.parametrize("path", ["", 3, "missing/run", "."])
def test_a_path_that_cannot_be_written_is_refused_before_any_work(
    path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def asked(Z: np.ndarray) -> np.ndarray:
        raise AssertionError("the model was asked")

    with pytest.raises(InputError, match=r"^checkpoint: "):
        sage(path, asked)


def test_a_folder_that_may_not_be_written_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Path, **options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", refused)  # root may write anywhere
    with pytest.raises(InputError, match=r"a folder where nothing can be written .Permission denied"):
        sage(tmp_path / "run", lambda Z: 1 / 0)


def test_a_disk_that_is_full_costs_the_file_and_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sage(tmp_path / "run", tolerance=0.3)
    before = (tmp_path / "run").read_bytes()

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("clarysage._utils.atomic.os.fsync", full)
    with pytest.warns(ClarysageWarning, match="No space left on device"):
        found = sage(tmp_path / "run")
    assert bits(found) == bits(sage())
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert (tmp_path / "run").read_bytes() == before


@pytest.mark.subprocess
def test_drafts_of_processes_that_were_killed_are_swept_up(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    draft = _draft(tmp_path / "run").name
    (tmp_path / draft.replace(f"~{os.getpid()}-", f"~{gone.pid}-")).write_bytes(b"half")
    elsewhere = [f".run.elsewhere~{gone.pid}-0123abcd.part", draft.replace(".run.", ".walk.")]
    for name in elsewhere:
        (tmp_path / name).write_bytes(b"of a process of another machine, or of another file")
    sage(tmp_path / "run", tolerance=0.3)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*elsewhere, "run"])


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A checkpoint of a few hundred bytes more than its header."""
    run("permutation", tmp_path / "run", Breaking(3))
    return tmp_path / "run"


def refused(file: Path, data: bytes | None = None) -> None:
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(InputError) as caught:
        run("permutation", file)
    assert caught.value.argument == "checkpoint"
    assert "deleting the file" in str(caught.value)


def test_a_file_cut_off_anywhere_is_refused(small: Path) -> None:
    data = small.read_bytes()
    refused(small.with_name("empty"), b"")
    for cut in (*(data[:length] for length in range(len(data))), data + b"\0"):
        small.write_bytes(cut)
        with pytest.raises(InputError, match=r"^checkpoint: .* Try another path, or deleting the file"):
            read_checkpoint(small)


def test_a_file_of_an_older_format_is_refused_as_such(small: Path) -> None:
    older = small.read_bytes().replace(FIRST_LINE, b"clarysage checkpoint 1\n", 1)
    small.write_bytes(older)
    with pytest.raises(InputError, match=r"^checkpoint: got .* of format '1'; wanted format 2\. Try another path"):
        read_checkpoint(small)
    refused(small, older)


def test_a_file_with_any_byte_changed_is_refused(small: Path) -> None:
    data = small.read_bytes()
    for place in range(len(data)):
        small.write_bytes(data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :])
        with pytest.raises(InputError, match=r"^checkpoint: .* Try another path, or deleting the file"):
            read_checkpoint(small)
    refused(small, small.read_bytes())


def test_a_changed_byte_under_a_new_checksum_ends_in_no_error_of_another_kind(small: Path) -> None:
    content, met = small.read_bytes()[len(FIRST_LINE) + 32 :], 0
    for place in range(len(content)):
        changed = content[:place] + bytes([content[place] ^ (1 << place % 7)]) + content[place + 1 :]
        small.write_bytes(FIRST_LINE + hashlib.sha256(changed).digest() + changed)
        try:
            read_checkpoint(small).progress(state_classes_of(Permutation()))
        except InputError:
            met += 1
    assert met > len(content) // 10  # others are numbers, which are read as they are


def forged(file: Path, header: bytes, blocks: bytes = b"", length: int | None = None) -> None:
    """A file with the right checksum, whatever is in it."""
    content = (len(header) if length is None else length).to_bytes(8, "little") + header + blocks
    file.write_bytes(FIRST_LINE + hashlib.sha256(content).digest() + content)


ARRAY = {"array": "<f8", "shape": [2], "axes": [0]}
HOSTILE: dict[str, Any] = {
    "no object": 3,
    "empty": {},
    "unknown kind": {"pickle": "gASVAAAA"},
    "a method of the decoder": {"taken": "<f8"},
    "unknown class": {"class": "Popen", "fields": {}},
    "class without fields": {"class": "Moments"},
    "other fields": {"class": "Moments", "fields": {"count": 1}},
    "wrong kind of run": {"class": "Chunk", "fields": {"number": 0, "first": 0, "draws": 1}},
    "huge array": {**ARRAY, "shape": [2**60]},
    "huge array of zeros": {**ARRAY, "shape": [8, 2**50], "axes": [0, 1], "kept": 0},
    "negative size": {**ARRAY, "shape": [-1]},
    "size no number": {**ARRAY, "shape": ["2"]},
    "objects": {**ARRAY, "array": "|O"},
    "other axes": {**ARRAY, "axes": [1]},
    "no axes": {"array": "<f8", "shape": [2]},
    "rows that are not there": {**ARRAY, "shape": [8, 8], "axes": [0, 1], "kept": 9},
    "a float that is none": {"float": "zz"},
    "a dict of no pairs": {"dict": [1, 2]},
    "a key that is none": {"dict": [[{"list": []}, 1]]},
    "not a number": float("nan"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_forged_file_is_refused(what: str, tmp_path: Path) -> None:
    for part in ("identity", "progress"):
        trees = {"identity": {"dict": [["of", "permutation"]]}, "progress": None, part: HOSTILE[what]}
        forged(tmp_path / "run", json.dumps(trees).encode(), b"\0" * 9)
        refused(tmp_path / "run")


@pytest.mark.parametrize(
    "header", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000, b'{"identity": ' * 20_000, b"9" * 10_000]
)
def test_a_forged_header_is_refused(header: bytes, tmp_path: Path) -> None:
    forged(tmp_path / "run", header)
    refused(tmp_path / "run")
    forged(tmp_path / "run", header, length=2**63)
    refused(tmp_path / "run")


def test_draws_of_another_game_are_refused_even_with_the_right_checksum(tmp_path: Path) -> None:
    file = tmp_path / "run"
    run("paired walks", file)
    states = state_classes_of(PairedWalks())
    progress = read_checkpoint(file).progress(states)
    visits = dataclasses.replace(progress.state.visits, mean=progress.state.visits.mean[:, :, :2])
    progress.state = dataclasses.replace(progress.state, visits=visits)
    write_checkpoint(file, {"of": "paired walks"}, progress, states)
    with pytest.raises(InputError, match="do not fit the game"):
        run("paired walks", file)


def test_a_method_of_ones_own_is_refused_rather_than_kept_wrongly(tmp_path: Path) -> None:
    @dataclasses.dataclass(frozen=True)
    class Mine(Permutation):
        def draw(self, *given: Any) -> Any:
            return Other(**vars(super().draw(*given)))

    @dataclasses.dataclass(frozen=True)
    class Other:
        moments: Any
        seen: Any
        clipped: int

        def merge(self, other: Any) -> Any:
            return Other(self.moments.merge(other.moments), self.seen | other.seen, 0)

    with pytest.raises(InputError, match=r"checkpoint: got a method whose state holds a .*Other"):
        sage(tmp_path / "run", method=Mine())


LARGE = np.zeros((3000, 7))
LARGE[17:40, 3] = -0.0
LARGE[90, 2] = np.nan
VALUES = [
    None,
    True,
    3,
    -(2**70),
    "ä\n",
    0.1,
    -0.0,
    float("nan"),
    float("-inf"),
    (1, (2.5,)),
    [1, None],
    {1: "a", "b": (2,)},
    np.float64(0.5),
    np.int64(-3),
    np.bool_(True),
    np.arange(6).reshape(2, 3),
    np.arange(24.0).reshape(2, 3, 4).T,
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.empty((0, 3)),
    np.array(2.5),
    np.array([True, False]),
    np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0),
    np.arange(10.0)[::-2],
    np.arange(5, dtype=np.uint8),
    LARGE,
    LARGE.T,
    LARGE.astype(np.float32),
    LARGE == 0,
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_values_come_back_bit_by_bit(value: Any) -> None:
    encoder = Encoder({})
    tree = json.loads(json.dumps(encoder.tree(value), allow_nan=False))
    decoder = Decoder(b"".join(bytes(block) for block in encoder.blocks), {})
    found = decoder.value(tree)
    assert decoder.is_at_the_end
    assert type(found) is type(value)
    assert bits(found) == bits(value)
    if isinstance(value, np.ndarray):
        assert found.flags.writeable
        order = [np.argsort(-np.abs(one.strides), kind="stable").tolist() for one in (found, value)]
        assert order[0] == order[1], "sums over axes are rounded as their order in memory is"


def test_rows_of_zeros_take_no_place_in_the_file() -> None:
    encoder = Encoder({})
    encoder.tree(LARGE)
    assert sum(len(bytes(block)) for block in encoder.blocks) == -(-len(LARGE) // 8) + 24 * 7 * 8


@pytest.mark.parametrize("value", [object(), {1, 2}, np.array(["a"]), np.array([None]), 1j, Estimate])
def test_what_cannot_be_kept_is_an_error(value: Any) -> None:
    with pytest.raises(TypeError):
        Encoder(state_classes_of(PairedWalks())).tree(value)


@pytest.mark.subprocess
@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_killed_runs_end_with_the_same_bits_and_lose_one_round_at_most(kills: int, seed: int, tmp_path: Path) -> None:
    script = Path(__file__).with_name("killed_runs.py")
    with warnings.catch_warnings():
        done = subprocess.run(
            [sys.executable, str(script), str(kills), str(seed), str(tmp_path)], capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["kills"] == kills
    assert told["is_same"] == [True] * len(told["is_same"])
    assert told["is_same"], "no run came to its end"
    assert len(told["lost"]) == kills
    assert max(told["lost"]) <= told["largest_round"]
