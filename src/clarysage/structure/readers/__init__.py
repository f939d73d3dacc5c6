"""Readers: the insides of fitted models, one file per library; adapters in ``models`` call them."""
