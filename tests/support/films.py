"""What the browser makes of the steps of a film."""


def last_words(steps, n=-1):
    """Id → words, after step n."""
    words = {}
    for step in steps[: n + 1 or None]:
        words |= step.get("text", {})
    return words
