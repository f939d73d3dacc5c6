"""MNIST: which digit was written?"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from clarysage.datasets.dataset import (
    Address,
    Dataset,
    DatasetRow,
    PublicFile,
    TableParts,
    category,
    check_columns,
    integers,
)
from clarysage.datasets.loading import load_row

PIXELS = [f"p{pixel}" for pixel in range(28 * 28)]
SPLITS = ("train", "test")
MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
UNSIGNED_BYTES = 8  # the code of the format for cells of one byte


def mnist(*, directory: str | os.PathLike[str] | None = None, download: bool = True) -> Dataset:
    """Handwritten digits (LeCun, Cortes and Burges): 70,000 images of 28 x 28 pixels.

    Pixels are p0 to p783, row by row, from 0 to 255 (the paper divides by 255); the target is "label", 0 to 9.
    ``beside["split"]`` is "train" for the first 60,000 rows and "test" for the others.

    Parameters
    ----------
    directory : folder that holds the four files train-images-idx3-ubyte, train-labels-idx1-ubyte,
        t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, with or without .gz, or mnist.parquet; by default the one
        that the environment variable CLARYSAGE_DATA names. If a file is not there, the user's cache is searched
    download : whether missing files may be downloaded, into the cache (11.6 MB, 55 MB unpacked)

    Returns
    -------
    Dataset, with features ``X``, target ``y``, and what is known about them

    Examples
    --------
    The number of rows and features is known without the file:
    >>> from clarysage.datasets import listed
    >>> listed().loc["mnist", ["rows", "features"]].tolist()
    [70000, 784]
    """
    return load_row(MNIST, directory=directory, download=download)


def read(contents: Sequence[bytes]) -> Any:
    import pandas as pd

    train, train_labels, test, test_labels = (read_idx(content) for content in contents)
    for images, labels in ((train, train_labels), (test, test_labels)):
        if images.shape != (len(labels), 28, 28) or labels.ndim != 1:
            raise ValueError(f"images of shape {images.shape} and labels of shape {labels.shape}")
    table = pd.DataFrame(np.concatenate([train, test]).reshape(-1, len(PIXELS)), columns=PIXELS)
    label = pd.Series(np.concatenate([train_labels, test_labels]), name="label")
    split = pd.Series(np.repeat(SPLITS, [len(train), len(test)]), name="split")
    return pd.concat([table, label, split], axis=1)


def read_idx(content: bytes) -> np.ndarray:
    """Reads an array of bytes in LeCun's idx format: two zeros, the type of cells, the number of axes, their lengths.

    Examples
    --------
    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
    array([7, 8, 9], dtype=uint8)
    """
    if len(content) < 4 or content[:3] != bytes([0, 0, UNSIGNED_BYTES]):
        raise ValueError("it does not begin like an idx file of bytes")
    start = 4 + 4 * content[3]
    if len(content) < start:
        raise ValueError("it ends before its first cell")
    shape = tuple(int(length) for length in np.frombuffer(content, ">u4", offset=4, count=content[3]))
    if len(content) - start != math.prod(shape):
        raise ValueError(f"{len(content) - start:,} cells where it announces {math.prod(shape):,}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def arrange(table: Any) -> TableParts:
    check_columns(table, [*PIXELS, "label", "split"])
    beside = table[["split"]].assign(split=category(table["split"], SPLITS))
    return TableParts(table[PIXELS].astype("uint8"), integers(table["label"]), beside)


def _published(name: str, size: int, sha256: str) -> PublicFile:
    return PublicFile(name, size, sha256, tuple(Address(f"{mirror}{name}.gz") for mirror in MIRRORS))


MNIST = DatasetRow(
    name="mnist",
    about="handwritten digits: which one?",
    task="classification",
    rows=70_000,
    features=784,
    read=read,
    arrange=arrange,
    files=(
        _published(
            "train-images-idx3-ubyte", 47_040_016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
        ),
        _published(
            "train-labels-idx1-ubyte", 60_008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
        ),
        _published(
            "t10k-images-idx3-ubyte", 7_840_016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"
        ),
        _published(
            "t10k-labels-idx1-ubyte", 10_008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"
        ),
    ),
    tidy_sha256="61cb187b139319c3a4a9dcd7a6d9ae6ba78fd03ccbed2b15314b1602e8ced67e",
    source="MNIST, from the mirror that torchvision uses, https://ossci-datasets.s3.amazonaws.com/mnist/",
    licence="usually given as CC BY-SA 3.0",
    citation="Y. LeCun, L. Bottou, Y. Bengio, P. Haffner: Gradient-based learning applied to document recognition. "
    "Proceedings of the IEEE 86 (1998).",
    notes=("Pixels are whole numbers from 0 to 255; the paper divides them by 255.",),
)
