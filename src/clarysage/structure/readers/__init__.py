"""Readers of the structure of fitted models, one file for each library; adapters in ``models`` call them."""
