"""Print how many functions of minigrad a first and a later call of a traced SGD step run.

It runs in a process of its own, because much of the work of a first trace is cached in the process.
"""

from pathlib import Path

import minigrad as mg
from tests.support.python_calls import count_calls

nn = mg.nn
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = mg.optim.SGD(net.parameters(), lr=0.1)


@mg.function
def step(x, t):
    optimizer.zero_grad()
    loss = ((net(x) - t) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss


def main():
    given, home = (mg.ones(4, 3), mg.ones(4, 1)), str(Path(mg.__file__).parent)
    first = count_calls(step, *given, within=home)
    step(*given)
    print(first, count_calls(step, *given, within=home))


if __name__ == "__main__":
    main()
