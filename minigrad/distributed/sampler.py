"""DistributedSampler: to each process its share of a data set. PyTorch has it in torch.utils.data; imports go one way
here, and mg.utils knows no processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from itertools import cycle, islice
from typing import Any

from ..data.dataset import Sampler, refuse_other_options, shuffled
from ..engine import random
from ..engine.base.damaged_state import refuse_by_name
from .world import get_rank, get_world_size


class DistributedSampler(Sampler):
    """Every `num_replicas`-th number, from `rank` on: mg.data.DataLoader(data, sampler=DistributedSampler(data)).

    num_replicas    how many shares there are; as many as processes if None
    rank            which of them this is; this process's if None
    shuffle         whether the order is drawn, from `seed` and the epoch alone, so that all draw the same
    drop_last       whether the last ones are left out where they cannot be dealt evenly; else the first come again

    set_epoch says which order comes next: as in PyTorch, it is the same until then.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ):
        self.num_replicas = get_world_size() if num_replicas is None else num_replicas
        self.rank = get_rank() if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(f"DistributedSampler: rank is 0 to {self.num_replicas - 1}, and got {self.rank}")
        self.dataset, self.shuffle, self.seed, self.drop_last, self.epoch = dataset, shuffle, seed, drop_last, 0

    def __len__(self) -> int:
        """How many numbers each process gets."""
        n, p = len(self.dataset), self.num_replicas
        return n // p if self.drop_last else -(-n // p)

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        order = shuffled(n, random.fold_in(random.key(self.seed), self.epoch)) if self.shuffle else range(n)
        return islice(cycle(order), self.rank, len(self) * self.num_replicas, self.num_replicas)

    def set_epoch(self, epoch: int) -> None:
        """Let the order of that epoch come next."""
        self.epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """The epoch, which determines the order, and the options, which load_state_dict compares."""
        options = {"shuffle": self.shuffle, "seed": self.seed, "drop_last": self.drop_last, "length": len(self.dataset)}
        return {"epoch": self.epoch, "num_replicas": self.num_replicas, **options}

    @refuse_by_name
    def load_state_dict(self, state_dict: Mapping[str, Any], under_way: bool = False) -> None:
        """Continue in another's epoch."""
        own = self.state_dict()
        refuse_other_options(self, state_dict, own, **{name: x for name, x in own.items() if name != "epoch"})
        self.epoch = state_dict["epoch"]
