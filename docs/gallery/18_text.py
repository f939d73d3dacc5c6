"""
Words of a text
===============

A pipeline that takes texts is explained after the step that turns them into columns. The features are then words.
"""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import clarysage as cs

rng = np.random.default_rng(0)
praise, blame = ["delicious", "friendly", "cosy"], ["cold", "slow", "rude"]
neutral = ["the", "food", "was", "waiter", "and", "we", "table", "came", "evening"]


def review(liked):
    """Makes a review of ten words, one or two of which tell whether the guest was content."""
    telling = rng.choice(praise if liked else blame, rng.integers(1, 3), p=[0.6, 0.3, 0.1])
    return " ".join([*telling, *rng.choice(neutral, 8)])


is_liked = rng.random(800) < 0.6
texts = [review(liked ^ (rng.random() < 0.1)) for liked in is_liked]  # one review in ten is ironic
model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts[:400], is_liked[:400])

explanation = cs.sage(
    model, texts[400:], is_liked[400:], background=texts[:400], after="tfidfvectorizer", check_manifold=False, rng=0
)
explanation.plot(title="Which words tell whether the guest was content?", top=10)
