"""Functions of a learner's that never come to their end."""


def endless(x):
    while True:
        x = x + 1


def stubborn(x):
    while True:
        try:  # noqa: SIM105
            x = x + 1
        except Exception:
            pass
