"""Certificates on GPUs: violations of the rules of ``dgraph/validate``, counted where the answer is.

Entry: :func:`evidence`, a graph's rows on the ranks' GPUs. Nothing here is shared with the kernels of rounds but
``base.cuh``: types, atomics and warp operations.
"""

from dgraph.backend.cuda.certificates.row_certificate import RowCertificate, evidence

__all__ = ["RowCertificate", "evidence"]
