"""Figure 1: maps of MNIST by all methods, and SAGE values of the genes of BRCA."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from experiments.figure1 import words
from experiments.figure1.facts import MapFacts
from experiments.figure1.figure import figure
from experiments.figure1.genes import Genes
from experiments.methods import importances
from experiments.methods.importance import Importance
from experiments.methods.refits import REFERENCES
from experiments.outcome import Finding, Outcome
from experiments.scale import Scale, paper
from experiments.style import TITLES
from experiments.tasks import task_of

METHODS = (
    "feature ablation",
    "permutation test",
    "mean importance",
    "univariate predictors",
    "sage",
    "conditional sage",
)


def outcome(scale: Scale) -> tuple[Outcome, dict[str, Figure]]:
    settings = scale.settings("figure1")
    by_method = importances("mnist", scale, METHODS)
    pixels = task_of("mnist").parts.train.X.to_numpy()
    varies = pixels.min(axis=0) < pixels.max(axis=0)
    facts = {
        method: MapFacts.of(importance, by_method["sage"], varies, settings) for method, importance in by_method.items()
    }
    genes = _genes(scale)
    return (
        Outcome(
            "figure1",
            "",
            scale.name,
            {},
            numbers=[*words.of_maps(facts), *words.of_genes(genes)],
            findings=_findings(facts, genes, settings),
            words=_words(by_method, scale),
            data={"genes": {name: [float(v), float(e)] for name, v, e in zip(*_columns(genes), strict=True)}},
        ),
        {"figure1": figure(by_method, facts, genes)},
    )


def _columns(genes: Genes) -> tuple:
    return genes.names, genes.values, genes.errors


def _genes(scale: Scale) -> Genes:
    importance = importances("brca", scale, ["sage"])["sage"]
    printed = paper("figure1")["brca"]
    errors = np.array(importance.std_errors)
    return Genes.of(task_of("brca").features, importance.scores, errors, printed["genes"], printed["genes_known"])


def _findings(facts: dict[str, MapFacts], genes: Genes, settings: dict) -> list[Finding]:
    mnist, brca = paper("figure1")["mnist"], paper("figure1")["brca"]
    facts = {
        method: fact for method, fact in facts.items() if method != "conditional sage"
    }  # the paper does not have it
    return [
        words.about_centre(facts, mnist["centre"], settings),
        words.about_noise(facts, mnist["noisy"]),
        words.about_ablation(facts, mnist["ablation"], settings),
        words.about_plausible(facts, mnist["plausible"]),
        words.about_known(genes, brca["known"]),
        words.about_named(genes, brca["named"], settings["high"]),
        words.about_absent("BCL11A", genes, brca["first"], associated=True),
        words.about_absent("SLC25A1", genes, brca["other"], associated=False),
    ]


def _words(by_method: dict[str, Importance], scale: Scale) -> list[str]:
    made = scale.settings("methods")
    took = ", ".join(
        f"{TITLES[method]} {importance.seconds:,.0f} s"
        for method, importance in by_method.items()
        if importance.model_rows
    )
    abouts = ", ".join(f"{TITLES[method]} {importance.about}" for method, importance in by_method.items())
    sage = by_method["sage"]
    return [
        "Maps have a scale of their own, which ends at the 99.5 % quantile of the sizes of values. The central quarter "
        "of the image is what is called the centre. Intervals of correlations are over blocks of 4 x 4 pixels drawn "
        "anew, those of shares over pixels.",
        f"SAGE, permutation tests and mean importance explain the network fitted to 54,000 rows by the first "
        f"{made['mnist_examples']:,} test rows. Ablation and univariate predictors fit 784 networks each to "
        f"{made['mnist_refit_rows']:,} rows and judge them on all 10,000; intervals are over test rows.",
        "For ablation each network begins with weights of its own, and what is lost is reckoned from the mean of "
        f"{REFERENCES} networks with all pixels, how these differ being part of the errors. In a first run all "
        "networks had one seed: neighbours had nearly the same weights to begin with, and values were alike whether or "
        "not they meant anything. Ablation was to be judged by the likeness of neighbours alone; that pixels "
        "which never vary have values as large was looked at after that run.",
        f"Intervals of values are about: {abouts}. SAGE stopped at {sage.model_rows:,.0f} model rows, with a largest "
        f"standard error of {sage.error_ratio:.3f} of the range of values (the paper goes on to 0.01), and permutation "
        f"tests after {made['mnist_repeats']} repeats (the paper: 512), so that some of what is noise here is ours.",
        "Conditional SAGE is not in the paper's figure. A network that has learned to give the model's chances from "
        f"what is left of {made['mnist_conditional_rows']:,} training rows stands in for it; its errors are not part "
        "of the intervals.",
        f"BRCA: {task_of('brca').caveat} Intervals are about the population that patients are drawn from, of whom the "
        f"test part has few rows ({len(task_of('brca').test)}).",
        f"Time that methods without refits took: {took}.",
    ]
