"""DistributedSampler: deals each process its share of a data set. PyTorch has it in torch.utils.data; here imports go
in one direction, and mg.utils does not import mg.distributed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from itertools import cycle, islice
from typing import Any

from ..data.dataset import Sampler, refuse_other_options, shuffle_indices
from ..engine import random
from ..engine.base.damaged_state import refuse_by_name
from .world import get_rank, get_world_size


class DistributedSampler(Sampler):
    """Every `num_replicas`-th index, from `rank` on: mg.data.DataLoader(data, sampler=DistributedSampler(data)).

    num_replicas    number of shares; the number of processes if None
    rank            number of this share; this process's rank if None
    shuffle         whether to shuffle; the order depends only on `seed` and the epoch, so all processes agree
    drop_last       whether to drop the examples that cannot be dealt evenly; otherwise the first ones are repeated

    Call set_epoch before each epoch: as in PyTorch, the order stays the same until then.
    """

    def __init__(
        self, dataset: Sized, num_replicas: int | None = None, rank: int | None = None,
        shuffle: bool = True, seed: int = 0, drop_last: bool = False,
    ):  # fmt: skip
        self.num_replicas = get_world_size() if num_replicas is None else num_replicas
        self.rank = get_rank() if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(f"DistributedSampler: rank must be 0 to {self.num_replicas - 1}, and got {self.rank}")
        self.dataset, self.shuffle, self.seed, self.drop_last, self.epoch = dataset, shuffle, seed, drop_last, 0

    def __len__(self) -> int:
        """The number of indices that each process gets."""
        n, p = len(self.dataset), self.num_replicas
        return n // p if self.drop_last else -(-n // p)

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        order = shuffle_indices(n, random.fold_in(random.key(self.seed), self.epoch)) if self.shuffle else range(n)
        return islice(cycle(order), self.rank, len(self) * self.num_replicas, self.num_replicas)

    def set_epoch(self, epoch: int) -> None:
        """Use the order of this epoch from now on."""
        self.epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """The epoch, which determines the order, and the options, which load_state_dict compares."""
        options = {"shuffle": self.shuffle, "seed": self.seed, "drop_last": self.drop_last, "length": len(self.dataset)}
        return {"epoch": self.epoch, "num_replicas": self.num_replicas, **options}

    @refuse_by_name
    def load_state_dict(self, state_dict: Mapping[str, Any], under_way: bool = False) -> None:
        """Continue in the epoch of a saved sampler."""
        own = self.state_dict()
        refuse_other_options(self, state_dict, own, **{name: x for name, x in own.items() if name != "epoch"})
        self.epoch = state_dict["epoch"]
