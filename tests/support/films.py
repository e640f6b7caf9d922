"""What the browser makes of the steps of a film."""


def last_words(steps, n=-1):
    """Id → words, after step n."""
    words = {}
    for step in steps[: n + 1 or None]:
        words |= step.get("text", {})
    return words


def check_static_film(widget, adds, starts):
    """The claims of StaticVsDynamic for `def road(x, training)` of another framework, called with training=True.

    adds      what each line adds to the graph, from the third line on
    starts    for each input, part of the first sentence of the film
    """
    lines = [step["say"].split("traced, it ")[1].rstrip(".") for step in widget.steps[1 : len(adds) + 3]]
    vanished = "adds nothing. Only the branch that Python takes now will be in the graph"
    unrolled = "adds nothing. The loop is unrolled: the graph gets what each turn builds"
    assert lines[0] == "adds nothing and prints, for it is Python that runs while tracing"
    assert lines[2:] == [{"if": vanished, "for": unrolled}.get(words, f"adds {words}") for words in adds]
    assert widget.steps[1]["text"]["right says"] == "while tracing: called\n"
    for film, start in zip(widget.films, starts, strict=True):
        assert start in film["steps"][0]["say"]
        assert film["steps"][-1]["say"].startswith("Both have the same result: [")
