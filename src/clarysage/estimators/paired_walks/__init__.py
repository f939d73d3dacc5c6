"""Paired walks: antithetic permutation sampling by a stratified design, with a pilot run and a bias correction.

``estimator.py`` is the estimator. Its parts: ``pilot.py`` learns about the game before the first draw,
``sampling_design.py`` says which example each draw looks at, ``antithetic.py`` walks an order of the players and its
reverse, and ``bias_correction.py`` samples the bias that subsamples of the background leave.
"""
