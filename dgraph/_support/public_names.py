"""Public names of ``dgraph`` other than the functions of algorithms: name → module that holds it.

``dgraph/__init__.py`` imports a name at its first use, so that ``import dgraph`` is quick. After a change run
``python -m dgraph.tools.typed_functions``, which writes ``dgraph/__init__.pyi``.
"""

HOMES = {
    "run": "dgraph.service.client.run_dispatch",
    "connect": "dgraph.service.client.connection",
    "Graph": "dgraph.backend.build",
    "build_on_gpus": "dgraph.backend.build",
    "Checkpoint": "dgraph.engine.checkpoint",
    "Options": "dgraph.engine.run_options",
    "Result": "dgraph.result.result",
    **dict.fromkeys(("agreement", "ari", "nmi"), "dgraph.result.partitions.label_columns"),
    **dict.fromkeys(
        ("community_table", "conductance", "constant_potts_model", "coverage", "modularity"),
        "dgraph.result.partitions.partition_totals",
    ),
    **dict.fromkeys(("Auto", "Cpu", "Cuda"), "dgraph.graph.devices"),
    **dict.fromkeys(("Comm", "communicator"), "dgraph.comm"),
    **dict.fromkeys(("Algorithm", "Answer", "Parameter", "ResultColumn", "algorithm"), "dgraph.algorithms"),
    **dict.fromkeys(
        (
            "ADD", "ALL", "CHANGED", "INF", "MAX", "MIN", "OR", "Field", "Global", "Program", "maximum", "minimum",
            "mixed", "sqrt", "where",
        ),
        "dgraph.program",
    ),
    **dict.fromkeys(
        (
            "Checkpointed", "ConvergenceWarning", "DataError", "DgraphError", "InternalError", "NotConverged",
            "OutputError", "PeerLost", "UsageError", "ValidationFailed",
        ),
        "dgraph.errors",
    ),
}  # fmt: skip
