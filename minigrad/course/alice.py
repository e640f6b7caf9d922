"""The small GPT of lesson 00, and how it is trained on *Alice's Adventures in Wonderland*.

    alice = Alice()                       random numbers, so it writes noise
    alice.train(steps=800, rate=0.004)    shows what it writes as it learns; interrupting the kernel ends it
    print(alice.write("Alice was "))

It is the network of lesson 25 with one block instead of two, and it sees 32 letters instead of 64, so that it writes
words after a few seconds. The arithmetic is NumPy's. The same arguments give the same text on the same machine. No time
is printed, because the outputs of lessons are stored.
"""

from __future__ import annotations

import re
import sys

import numpy as np

import minigrad as mg
from minigrad.graph.compiler.program.program import one_thread as one_thread
from minigrad.nn.zoo.transformers import GPT, Size

CONTEXT, ROWS = 32, 8  # letters that it sees at once; rows of a step
SHOWN = (0, 25, 50, 100)  # steps after which it shows what it writes, and after each EVERY
EVERY = 200
SLOWER = 10  # a browser takes this many times as long for a step, or more, so it takes fewer steps
START = "Alice was "
WORD = re.compile(r"[a-z]{3,}")


class Alice:
    """A GPT with 56,320 random numbers, and the book that it learns from."""

    def __init__(self, seed: int = 0) -> None:
        self.text = mg.data.text()
        self.letters = sorted(set(self.text))
        self.vocabulary = set(WORD.findall(self.text.lower()))
        self.numbers = np.array([self.letters.index(letter) for letter in self.text])
        self.seed = seed
        mg.manual_seed(seed)
        size = Size(layers=1, heads=4, channels=64)
        self.net = GPT(size, len(self.letters), CONTEXT, dropout=0.0, dtype=mg.float32)

    def loss(self, starts: tuple[int, ...] = (0,)) -> mg.Tensor:
        """How badly it guesses each next letter, on average, in the rows of the book that begin at these places."""
        rows = self.numbers[np.array(starts)[:, None] + np.arange(CONTEXT + 1)]
        scores = self.net(mg.tensor(rows[:, :-1])).reshape(-1, len(self.letters))
        return mg.cross_entropy(scores, mg.tensor(rows[:, 1:].ravel()))

    def train(self, steps: int = 800, rate: float = 0.004) -> float:
        """Take this many steps against the gradients, and show what it writes. Interrupting the kernel ends it early.

        Returns the mean loss of the last steps.

        rate    how far one step goes
        """
        if sys.platform == "emscripten":
            steps //= SLOWER
            print(f"In a browser a step takes many times as long, so these are {steps} steps. Raise `steps` for more.")
        rng = np.random.default_rng(self.seed)
        adam = mg.optim.Adam(self.net.parameters(), rate, betas=(0.9, 0.98))
        step, mean, losses = 0, 0.0, list[float]()
        try:
            with one_thread:  # its products are small: on a busy machine several threads take ten times as long
                for step in range(steps + 1):
                    loss = self.loss(tuple(rng.integers(0, len(self.text) - CONTEXT, ROWS)))
                    losses.append(loss.item())
                    if step in SHOWN or step % EVERY == 0 or step == steps:
                        mean, losses = sum(losses) / len(losses), []
                        written = " ".join(self.write(letters=60).split())
                        print(f"step {step:4}   loss {mean:4.2f}   {written}", flush=True)
                    if step < steps:
                        adam.zero_grad()
                        loss.backward()
                        adam.step()
        except KeyboardInterrupt:
            print(f"Stopped after {step} steps. It keeps what it has learned.")
        return mean

    def write(self, start: str = START, letters: int = 200, temperature: float = 0.5) -> str:
        """The start and this many letters more, drawn one by one.

        temperature    below 1, likely letters become likelier; above 1, all letters become more alike
        """
        rng, written = np.random.default_rng(self.seed), start
        for _ in range(letters):
            seen = [self.letters.index(letter) for letter in written[-CONTEXT:]]
            with mg.no_grad(), one_thread:
                scores = self.net(mg.tensor([seen]))[0, -1].numpy().astype(float) / temperature
            likely = np.exp(scores - scores.max())
            written += rng.choice(self.letters, p=likely / likely.sum())
        return written

    def percent_of_words(self, letters: int = 500) -> int:
        """How many percent of the words of three letters or more that it writes are in the book, too."""
        words = WORD.findall(self.write(START, letters)[len(START) :].lower())
        return round(100 * sum(word in self.vocabulary for word in words) / max(1, len(words)))
