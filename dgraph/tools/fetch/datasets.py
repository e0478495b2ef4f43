"""Graphs that papers measure on, as far as they are published in a format that dgraph reads."""

from __future__ import annotations

from dataclasses import dataclass

SNAP = "Leskovec, Krevl: SNAP Datasets, snap.stanford.edu/data"
DIMACS9 = "Demetrescu, Goldberg, Johnson: The Shortest Path Problem, 9th DIMACS Implementation Challenge, AMS 2009"
DIMACS10 = "Bader et al.: Graph Partitioning and Graph Clustering, 10th DIMACS Implementation Challenge, AMS 2013"
SUITE_SPARSE = "Davis, Hu: The University of Florida Sparse Matrix Collection, ACM TOMS 38(1), 2011"
TIGER = "public domain (US Census, TIGER/Line)"
CC_BY = "CC BY 4.0 (SuiteSparse Matrix Collection)"
OSM = "ODbL (OpenStreetMap contributors)"
UNSAID = "none is given; see its page"


@dataclass(frozen=True)
class Dataset:
    """Source of one data set.

    Attributes:
        help: one line for the list of data sets.
        url: address of one file, or of a tar archive that contains ``member``.
        file: local file name; its suffix determines the format.
        licence: licence as stated by the publisher.
        citation: publication to cite.
        page: address of the description.
        checksum: ``sha256:…``; None: not known, so it is printed after the download.
        member: path of the file in the archive; None: ``url`` is the file.
        size: vertices and edges as the publisher counts them; None: not known.
    """

    help: str
    url: str
    file: str
    licence: str
    citation: str
    page: str
    checksum: str | None = None
    member: str | None = None
    size: tuple[int, int] | None = None


def _snap(help: str, path: str, page: str, citation: str, size: tuple[int, int] | None = None) -> Dataset:
    base = "https://snap.stanford.edu/data/"
    name = path.rpartition("/")[2]
    return Dataset(help, base + path, name, UNSAID, f"{citation}; {SNAP}", f"{base}{page}", size=size)


def _road(help: str, part: str, size: tuple[int, int] | None = None) -> Dataset:
    name = f"USA-road-d.{part}.gr.gz"
    base = "http://www.diag.uniroma1.it/challenge9"
    return Dataset(help, f"{base}/data/USA-road-d/{name}", name, TIGER, DIMACS9, f"{base}/download.shtml", size=size)


def _matrix(help: str, group: str, name: str, licence: str = CC_BY, citation: str = SUITE_SPARSE) -> Dataset:
    return Dataset(
        help, f"https://sparse.tamu.edu/MM/{group}/{name}.tar.gz", f"{name}.mtx", licence, citation,
        f"https://sparse.tamu.edu/{group}/{name}", member=f"{name}/{name}.mtx",
    )  # fmt: skip


DATASETS: dict[str, Dataset] = {
    "road-usa": _road("roads of the USA, distances", "USA", (23_947_347, 58_333_344)),
    "road-west": _road("roads of the western USA, distances", "W"),
    "road-fla": _road("roads of Florida, distances", "FLA"),
    "road-cal": _road("roads of California and Nevada, distances", "CAL", (1_890_815, 4_657_742)),
    "orkut": _snap(
        "friends on Orkut", "bigdata/communities/com-orkut.ungraph.txt.gz", "com-Orkut.html",
        "Yang, Leskovec: Defining and Evaluating Network Communities, ICDM 2012", (3_072_441, 117_185_083),
    ),
    "twitter40": _snap(
        "followers on Twitter, 2010", "twitter-2010.txt.gz", "twitter-2010.html",
        "Kwak et al.: What is Twitter, a Social Network or a News Media?, WWW 2010", (41_652_230, 1_468_365_182),
    ),
    "web-notredame": _snap(
        "pages of nd.edu", "web-NotreDame.txt.gz", "web-NotreDame.html",
        "Albert, Jeong, Barabási: Diameter of the World-Wide Web, Nature 401, 1999", (325_729, 1_497_134),
    ),
    "flickr": _matrix("links on Flickr", "Gleich", "flickr"),
    "msdoor": _matrix("a structure's stiffness", "INPRO", "msdoor"),
    "circuit5m": _matrix("a circuit of 5 million nodes", "Freescale", "circuit5M"),
    "g3-circuit": _matrix("a circuit", "AMD", "G3_circuit"),
    "asia-osm": _matrix("roads of Asia", "DIMACS10", "asia_osm", OSM, DIMACS10),
    "germany-osm": _matrix("roads of Germany", "DIMACS10", "germany_osm", OSM, DIMACS10),
    "kron-20": _matrix("a Graph500 graph of scale 20", "DIMACS10", "kron_g500-logn20", citation=DIMACS10),
    "coauthors-dblp": _matrix("co-authors on DBLP", "DIMACS10", "coAuthorsDBLP", citation=DIMACS10),
    "hugebubbles": _matrix("a mesh around bubbles", "DIMACS10", "hugebubbles-00020", citation=DIMACS10),
}  # fmt: skip
"""Data sets by their name on the command line."""
