"""Texts: X after the step of a pipeline that turns texts into columns, and refusals that name this step."""

from __future__ import annotations

from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import clarysage as cs
from clarysage._measures.table import expected_fits
from tests.cli_harness import error_of, printed_json, run

WORDS = ["good", "bad", "price", "food", "staff"]
RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice(WORDS, 4)) for _ in range(60)]
Y = np.array(["good" in text for text in TEXTS]).astype(int)
PIPELINE = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS, Y)

FORMS = {
    "a list": TEXTS,
    "a tuple": tuple(TEXTS),
    "a series": pd.Series(TEXTS),
    "an array": np.array(TEXTS),
    "an array of objects": np.array(TEXTS, dtype=object),
    "a frame": pd.DataFrame({"review": TEXTS}),
    "rows of one text": [[text] for text in TEXTS],
    "an array of one column": np.array(TEXTS)[:, None],
}


def by_hand(pipeline, step: int, **options):
    """Returns the explanation of the rest of a pipeline on rows that its first steps have transformed."""
    rows = pipeline[:step].transform(TEXTS)
    return cs.sage(pipeline[step:], rows, Y, rng=0, **options)


@pytest.mark.parametrize("form", FORMS)
def test_features_are_the_words_of_texts_in_any_form(form):
    found = cs.sage(PIPELINE, FORMS[form], Y, after="tfidfvectorizer", rng=0)
    expected = by_hand(PIPELINE, 1, feature_names=sorted(WORDS))
    assert found.feature_names == tuple(sorted(WORDS))
    assert np.array_equal(found.values, expected.values)
    assert found.top(1) == ["good"]
    assert any("after the step 'tfidfvectorizer'" in note for note in found.notes)


@pytest.mark.needs("pyarrow")
def test_features_are_the_words_of_texts_in_an_arrow_table():
    import pyarrow as pa

    found = cs.sage(PIPELINE, pa.table({"review": TEXTS}), Y, after="tfidfvectorizer", rng=0)
    assert np.array_equal(found.values, by_hand(PIPELINE, 1).values)


@pytest.mark.needs("polars")
def test_features_are_the_words_of_texts_in_a_polars_frame():
    import polars as pl

    found = cs.sage(PIPELINE, pl.DataFrame({"review": TEXTS}), Y, after="tfidfvectorizer", rng=0)
    assert np.array_equal(found.values, by_hand(PIPELINE, 1).values)


@pytest.mark.parametrize("form", FORMS)
def test_texts_without_a_step_are_refused_with_the_step_to_take(form):
    with pytest.raises(cs.InputError, match=r'^X: got texts.*Try after="tfidfvectorizer"'):
        cs.sage(PIPELINE, FORMS[form], Y)


PIPELINES = {
    "counts": (make_pipeline(CountVectorizer(), LogisticRegression()), 1),
    "two steps": (make_pipeline(CountVectorizer(), TfidfTransformer(), LogisticRegression()), 2),
    "the first of two steps": (make_pipeline(CountVectorizer(), TfidfTransformer(), LogisticRegression()), 1),
    "a union": (
        make_pipeline(
            FeatureUnion([("w", CountVectorizer()), ("c", CountVectorizer(analyzer="char"))]),
            MaxAbsScaler(),
            LogisticRegression(),
        ),
        1,
    ),
    "trees of components": (
        make_pipeline(TfidfVectorizer(), TruncatedSVD(2), HistGradientBoostingClassifier(max_iter=3)),
        1,
    ),
    "hashes": (make_pipeline(HashingVectorizer(n_features=8), LogisticRegression()), 1),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_after_a_step_is_the_same_as_transforming_by_hand(name):
    pipeline, count = PIPELINES[name]
    pipeline.fit(TEXTS, Y)
    step = pipeline.steps[count - 1][0]
    background = TEXTS[:20]
    found = cs.sage(pipeline, TEXTS, Y, after=step, background=background, budget=20_000, rng=0)
    expected = by_hand(pipeline, count, background=pipeline[:count].transform(background), budget=20_000)
    assert np.array_equal(found.values, expected.values)
    assert np.array_equal(found.std_error, expected.std_error)
    if name == "hashes":
        assert found.feature_names == tuple(f"x{i}" for i in range(8))
    else:
        assert found.feature_names == tuple(pipeline[:count].get_feature_names_out())


def test_a_search_for_a_pipeline_has_its_steps():
    search = GridSearchCV(make_pipeline(CountVectorizer(), LogisticRegression()), {"logisticregression__C": [1.0]})
    search.fit(TEXTS, Y)
    found = cs.sage(search, TEXTS, Y, after="countvectorizer", rng=0)
    assert np.array_equal(found.values, by_hand(search.best_estimator_, 1).values)
    with pytest.raises(cs.InputError, match='Try after="countvectorizer"'):
        cs.sage(search, TEXTS, Y)


def _tables():
    frame = pd.DataFrame({"text": TEXTS, "stars": RNG.normal(size=len(TEXTS)), "y": Y})
    columns = ColumnTransformer([("t", TfidfVectorizer(), "text"), ("n", StandardScaler(), ["stars"])])
    return frame, make_pipeline(columns, LogisticRegression()).fit(frame[["text", "stars"]], Y)


def test_a_column_of_texts_among_others_is_one_feature_or_one_for_each_word():
    frame, pipeline = _tables()
    assert cs.sage(pipeline, frame, "y", rng=0).feature_names == ("text", "stars")
    found = cs.sage(pipeline, frame, "y", after="columntransformer", background=frame[:30], rng=0)
    names = pipeline[0].get_feature_names_out()
    rows = pipeline[:1].transform(frame)
    expected = cs.sage(pipeline[-1], rows, Y, background=rows[:30], feature_names=names, rng=0)
    assert found.feature_names == tuple(names)
    assert np.array_equal(found.values, expected.values)


@pytest.mark.parametrize(
    "measure", ["permutation importance", "coefficient size", "squared correlation", "mean importance"]
)
def test_all_measures_take_a_step(measure):
    rows, names = PIPELINE[0].transform(TEXTS), PIPELINE[0].get_feature_names_out()
    found = cs.importance(measure, PIPELINE, TEXTS, Y, after="tfidfvectorizer", rng=0)
    expected = cs.importance(measure, PIPELINE[-1], rows, Y, feature_names=names, rng=0)
    assert np.array_equal(found.values, expected.values)
    assert found.feature_names == expected.feature_names
    assert not any("was not used" in note for note in found.notes)


def test_refits_take_a_step_whose_transformers_stay_as_they_are():
    rows, names = PIPELINE[0].transform(TEXTS), PIPELINE[0].get_feature_names_out()
    found = cs.drop_column_importance(
        PIPELINE, TEXTS[30:], Y[30:], train=(TEXTS[:30], Y[:30]), after="tfidfvectorizer", rng=0
    )
    expected = cs.drop_column_importance(
        PIPELINE[-1], rows[30:], Y[30:], train=(rows[:30], Y[:30]), feature_names=names, rng=0
    )
    assert np.array_equal(found.values, expected.values)


def test_importances_side_by_side_take_a_step():
    names = PIPELINE[0].get_feature_names_out()
    found = cs.importances(PIPELINE, TEXTS, Y, measures=["sage", "coefficient size"], after="tfidfvectorizer", rng=0)
    assert found["sage"].feature_names == found["coefficient size"].feature_names == tuple(names)


WRONG = {
    "a step that is none": (
        lambda: cs.sage(PIPELINE, TEXTS, Y, after="tfidf"),
        "after: got 'tfidf', which is no step of Pipeline; wanted one of 'tfidfvectorizer'",
    ),
    "the last step": (
        lambda: cs.sage(PIPELINE, TEXTS, Y, after="logisticregression"),
        "after: got 'logisticregression', the last step of Pipeline",
    ),
    "a number": (lambda: cs.sage(PIPELINE, TEXTS, Y, after=0), "after: got 0"),
    "no pipeline": (
        lambda: cs.sage(PIPELINE[-1], TEXTS, Y, after="tfidfvectorizer"),
        "after: got 'tfidfvectorizer' with a LogisticRegression; wanted a fitted pipeline that has this step. "
        r"Try make_pipeline\(step, model\) of both, fitted, as the model; or the rows that the step makes as X",
    ),
    "an unfitted pipeline": (
        lambda: cs.sage(make_pipeline(TfidfVectorizer(), LogisticRegression()), TEXTS, Y, after="tfidfvectorizer"),
        "model: got TfidfVectorizer, which is not fitted",
    ),
    "rows that the step does not take": (
        lambda: cs.sage(PIPELINE, [1, 2], [0, 1], after="tfidfvectorizer"),
        "X: got AttributeError from the step 'tfidfvectorizer'",
    ),
    "a frame of two columns for a vectorizer": (
        lambda: cs.sage(PIPELINE, pd.DataFrame({"a": TEXTS, "b": TEXTS}), Y, after="tfidfvectorizer"),
        "X: got 2 columns, 'a', 'b'; wanted texts, or one column of them. Try one of them alone.",
    ),
    "a frame of texts and numbers for a vectorizer": (
        lambda: cs.sage(PIPELINE, pd.DataFrame({"stars": 5, "review": TEXTS}), Y, after="tfidfvectorizer"),
        "X: got 2 columns, 'stars', 'review'; wanted texts, or one column of them. Try the column 'review' alone.",
    ),
    "a table on disk": (
        lambda: cs.sage(PIPELINE, Path("texts.parquet"), Y, after="tfidfvectorizer"),
        "X: got a table on disk",
    ),
    "texts for a model of columns": (
        lambda: cs.sage(lambda X: X, TEXTS, Y),
        r"X: got 60 texts; wanted rows and columns. Try make_pipeline\(vectorizer, model\) of both, fitted, as the "
        r"model, with after= the name of this step; or vectorizer.transform\(texts\) as X",
    ),
    "a series of texts for a model of columns": (
        lambda: cs.sage(lambda X: X, pd.Series(TEXTS), Y),
        "X: got 60 texts; wanted rows and columns",
    ),
    "a background of texts for a model of columns": (
        lambda: cs.sage(lambda X: X[:, 0], np.eye(3), [1, 2, 3], background=TEXTS),
        r"background: got 60 texts; .* or vectorizer.transform\(texts\) as background",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_makes_no_sense_is_named(case):
    call, words = WRONG[case]
    with pytest.raises(cs.InputError, match=f"^{words}"):
        call()


def test_monitoring_has_no_use_for_a_step():
    frame, pipeline = _tables()
    with pytest.raises(cs.InputError, match=r"^after: got 'columntransformer'; wanted None,"):
        cs.monitor(pipeline, frame, frame, target="y", after="columntransformer")


def test_monitoring_of_texts_is_refused_with_advice_that_holds():
    table = pd.DataFrame({"review": TEXTS, "liked": Y})
    with pytest.raises(
        cs.InputError, match=r"^model: got a Pipeline of texts; .*Try model\[1:\], and both tables with"
    ):
        cs.monitor(PIPELINE, table, table, target="liked")
    words = pd.DataFrame(PIPELINE[:1].transform(TEXTS).toarray(), columns=PIPELINE[:1].get_feature_names_out())
    words = words.assign(liked=Y)
    assert cs.monitor(PIPELINE[1:], words, words, target="liked", paired=True, rng=0).flagged == []


def test_the_advice_about_texts_for_a_model_that_is_no_pipeline_holds():
    """A pipeline of a fitted vectorizer and a fitted model explains the words, and so does the matrix."""
    vectorizer = TfidfVectorizer().fit(TEXTS)
    model = LogisticRegression().fit(vectorizer.transform(TEXTS), Y)
    by_step = cs.sage(make_pipeline(vectorizer, model), TEXTS, Y, after="tfidfvectorizer", rng=0)
    by_matrix = cs.sage(model, vectorizer.transform(TEXTS), Y, rng=0)
    assert np.array_equal(by_step.values, by_matrix.values)
    assert by_step.feature_names == tuple(sorted(WORDS))


# predictors of pipelines


@pytest.mark.parametrize("output", [None, "predict_proba", "decision_function", "sigmoid"])
def test_a_predictor_of_a_pipeline_is_divided_as_the_pipeline_is(output):
    options = {"loss": "squared error" if output == "decision_function" else "auto", "rng": 0}
    found = cs.sage(cs.as_predictor(PIPELINE, output=output), TEXTS, Y, after="tfidfvectorizer", **options)
    rest = cs.as_predictor(PIPELINE[-1], output=output)
    expected = cs.sage(rest, PIPELINE[:1].transform(TEXTS), Y, feature_names=sorted(WORDS), **options)
    assert np.array_equal(found.values, expected.values)
    assert found.feature_names == tuple(sorted(WORDS))


def test_a_divided_predictor_has_the_link_the_classes_and_the_batches_that_were_given():
    labels = np.where(Y, "yes", "no")
    scores = cs.as_predictor(PIPELINE, output="decision_function")
    probabilities = cs.as_predictor(scores, output="sigmoid", classes=["no", "yes"], batch_size=256)
    found = cs.sage(probabilities, TEXTS, labels, after="tfidfvectorizer", rng=0)
    rest = cs.as_predictor(PIPELINE[-1], output="sigmoid", classes=["no", "yes"], batch_size=256)
    expected = cs.sage(rest, PIPELINE[:1].transform(TEXTS), labels, rng=0)
    assert np.array_equal(found.values, expected.values)


def test_texts_for_a_predictor_of_a_pipeline_are_refused_with_the_step_to_take():
    with pytest.raises(cs.InputError, match=r'^X: got texts, .*first step of Pipeline.*Try after="tfidfvectorizer"'):
        cs.sage(cs.as_predictor(PIPELINE), TEXTS, Y)


# from the shell


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with texts, a background of texts and a pipeline of texts, which is the current one."""
    pd.DataFrame({"review": TEXTS, "stars": 5, "liked": Y}).to_csv(tmp_path / "reviews.csv", index=False)
    pd.DataFrame({"review": TEXTS[:20]}).to_csv(tmp_path / "background.csv", index=False)
    joblib.dump(PIPELINE, tmp_path / "model.joblib")
    monkeypatch.chdir(tmp_path)
    return tmp_path


SHELL = ["model.joblib", "reviews.csv", "--allow-pickle", "--target", "liked"]
AFTER = ["--drop", "stars", "--after", "tfidfvectorizer"]


def test_words_of_a_column_of_texts_are_explained_from_the_shell(folder):
    found = printed_json("explain", *SHELL, *AFTER, "--background", "background.csv")
    expected = cs.sage(PIPELINE, TEXTS, Y, background=TEXTS[:20], after="tfidfvectorizer", rng=0)
    assert (found["feature_names"], found["values"]) == (sorted(WORDS), expected.values.tolist())


@pytest.mark.needs("pyarrow")
def test_words_of_a_parquet_file_are_explained_from_the_shell_however_many_rows_it_has(folder, monkeypatch):
    pd.DataFrame({"review": TEXTS, "stars": 5, "liked": Y}).to_parquet(folder / "reviews.parquet")
    from_text = printed_json("explain", *SHELL, *AFTER)
    monkeypatch.setattr("clarysage._measures.examples.ROWS_OF_STORED", 10)
    stored = [part.replace(".csv", ".parquet") for part in SHELL]
    assert printed_json("explain", *stored, *AFTER)["values"] == from_text["values"]


def test_fewer_words_are_players_from_the_shell(folder):
    found = run("explain", *SHELL, *AFTER, "--max-players", "3", "--json", "found.json")
    assert len(cs.load("found.json").values) == 3
    assert "--max-players 6 takes more of them" in found.stdout


def test_groups_may_be_of_words_from_the_shell(folder):
    (folder / "groups.json").write_text('{"opinion": ["good", "bad"]}')
    found = printed_json("explain", *SHELL, *AFTER, "--groups", "groups.json")
    assert set(found["feature_names"]) == {"opinion", "food", "price", "staff"}
    (folder / "groups.json").write_text('{"opinion": ["good", "bda"]}')
    assert "groups: got 'bda'" in error_of("explain", *SHELL, *AFTER, "--groups", "groups.json", "--quiet")


def test_measures_of_words_are_compared_from_the_shell(folder):
    found = run("measures", *SHELL, *AFTER, "--max-players", "4", "--only", "sage,drop column importance")
    assert found.exit_code == 0, found.stderr
    assert f"drop column importance: {expected_fits('drop column importance', 4)} fits" in found.stderr
    assert "the other 2 columns" in found.stdout


REFUSED = {
    "no step": (
        ["--drop", "stars"],
        "DATA: got texts, since the first step of Pipeline makes columns of them; wanted these columns, such as words, "
        "as features. Try --after tfidfvectorizer.",
    ),
    "other columns": (
        ["--after", "tfidfvectorizer"],
        "DATA: got 2 columns, 'review', 'stars'; wanted texts, or one column of them. Try --drop stars.",
    ),
    "another name": (
        ["--drop", "stars", "--after", "tfidf"],
        "--after: got 'tfidf', which is no step of Pipeline; wanted one of 'tfidfvectorizer'.",
    ),
}


def test_the_shell_does_not_advise_a_step_to_monitor_which_takes_none(folder):
    said = error_of("monitor", "model.joblib", "reviews.csv", "reviews.csv", *SHELL[2:], "--quiet")
    assert "MODEL: got a Pipeline of texts" in said
    assert "--after" not in said


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_named_in_the_shell(case, folder):
    options, words = REFUSED[case]
    assert words in error_of("explain", *SHELL, *options, "--quiet")
