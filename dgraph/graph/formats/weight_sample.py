"""Type of a graph's weights from its first lines, schema or manifest: for outputs that cannot hold them all."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from dgraph.comm.serial import SerialComm
from dgraph.errors import DgraphError
from dgraph.graph.build.weights import read_rule
from dgraph.graph.formats import FORMATS, suffix_of
from dgraph.graph.formats.edge_list import read_edge_list, read_wel
from dgraph.graph.formats.parquet import read_arrow, read_parquet, table_weights
from dgraph.graph.formats.sniff import read_head, words_of
from dgraph.graph.load_options import LoadOptions
from partitioning.store import Store, is_store

VALUE_WORDS = {".mtx": ("%", 2), ".gr": ("c", 3)}
"""Formats of text with a count of their lines: characters that begin a comment, and the word that is the weight."""


def first_weights(spec: str, options: LoadOptions) -> np.dtype | None:
    """Return the type that a rule, the first lines, a schema or a manifest require; None if they do not decide it.

    A text file has float64 weights if one of its lines has a fraction, so float64 is certain and int32 may become
    another. Pipes are not read.
    """
    if options.weights is not None:
        return None if options.weights == "unit" else read_rule(options.weights, options.seed).dtype
    try:
        if is_store(spec):
            kind = Store.open(Path(spec), verify=False).manifest["graph"]["weights"]
            return None if kind is None else np.dtype(kind)
        if not os.path.isfile(spec):
            return None
        suffix = suffix_of(spec, options.format)
        if FORMATS.get(suffix) in (read_parquet, read_arrow):
            return table_weights(spec, FORMATS[suffix] is read_parquet, options.columns)
        if suffix == ".npz":
            return _matrix_type(spec)
        if suffix in VALUE_WORDS:
            return _type_of_words(spec, *VALUE_WORDS[suffix])
        if FORMATS.get(suffix) in (read_edge_list, read_wel):
            return _type_of_head(spec, suffix, options)
    except (DgraphError, OSError, ValueError, KeyError, zipfile.BadZipFile):
        pass  # the reader says what is wrong
    return None


def _matrix_type(path: str) -> np.dtype | None:
    with zipfile.ZipFile(path) as archive, archive.open("data.npy") as member:
        np.lib.format.read_magic(member)
        kind = np.lib.format.read_array_header_1_0(member)[2]
    return None if kind == np.dtype(bool) else kind


def _type_of_words(path: str, comments: str, column: int) -> np.dtype | None:
    head = read_head(path, comments, SerialComm(), sample=True)
    words = [line_words[column] for line_words in map(words_of, head.following) if len(line_words) > column]
    if not words:
        return None
    return np.dtype(np.int32 if all(word.lstrip("+-").isdigit() for word in words) else np.float64)


def _type_of_head(path: str, suffix: str, options: LoadOptions) -> np.dtype | None:
    """Return the type of the weights if the file ended after its first lines."""
    comments = "#%" if options.comment is None else options.comment
    head = read_head(path, comments, SerialComm(), sample=True)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, f"head{suffix}")
        copy.write_text("\n".join([head.line, *head.following, ""]), encoding="utf-8")
        weights = FORMATS[suffix](str(copy), SerialComm(), options).weights
    return None if weights is None else weights.dtype
