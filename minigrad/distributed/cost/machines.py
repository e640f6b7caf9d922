"""Machines to plan for: a table of data with sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

Link = tuple[float, float]  # α and β: seconds until the first byte arrives, and seconds a byte, one way


class Hardware(NamedTuple):
    """A worker and its links to other workers.

    flops              bytes of a number → peak FLOPs a second of matrix products
    memory             bytes of a worker
    inside, between    a worker's links within its node of `per_node` workers, and to other nodes
    """

    name: str
    flops: Mapping[int, float]
    memory: float
    per_node: int
    inside: Link
    between: Link
    source: str

    def link(self, size: int, stride: int = 1) -> Link:
        """The link of a group of `size` workers, `stride` ranks apart; to other nodes, k workers share k links."""
        if size * stride <= self.per_node:
            return self.inside
        k = min(size, max(1, self.per_node // stride))
        return self.between[0], max(self.inside[1], self.between[1] / k)


NCCL = "α of NCCL's tuning.cc, hwLat, Ring/Simple"
ROWS = (
    Hardware("H100", {2: 989.4e12, 4: 66.9e12}, 80e9, 8, (3.4e-6, 1 / 450e9), (9.6e-6, 1 / 50e9),
             f"NVIDIA's datasheets of H100 SXM5 and DGX H100: dense, NVLink 4, 400 Gb/s of network a GPU; {NCCL}"),
    Hardware("A100", {2: 312e12, 4: 19.5e12}, 80e9, 8, (3.4e-6, 1 / 300e9), (9.6e-6, 1 / 25e9),
             f"NVIDIA's datasheets of A100 SXM4 80 GB and DGX A100: dense, NVLink 3, 200 Gb/s a GPU; {NCCL}"),
    Hardware("laptop", {4: 104e9, 8: 48e9}, 4e9, 4, (15e-6, 1 / 2.5e9), (50e-6, 1 / 125e6),
             "a worker is a core: NumPy and MPICH 5.0.2 measured on an AMD EPYC; 16 GB, Gigabit Ethernet assumed"),
)  # fmt: skip
HARDWARE = {row.name: row for row in ROWS}


def hardware(name: str | Hardware) -> Hardware:
    """The row of that name; your own Hardware as it is. Raises ValueError for an unknown name or bad figures."""
    if isinstance(name, str) and name not in HARDWARE:
        raise ValueError(f"hardware is one of {', '.join(HARDWARE)}, or your own Hardware(…), and got {name!r}")
    row = HARDWARE[name] if isinstance(name, str) else name
    if min(row.memory, row.per_node, *row.flops.values(), *row.inside, *row.between) <= 0:
        raise ValueError(f"memory, rates and links of a machine must be above 0, and got {row}")
    return row
