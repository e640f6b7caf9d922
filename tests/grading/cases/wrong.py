"""Submissions: wrong, in the typical ways."""

from __future__ import annotations

from grading.cases.case import after, case, cell, write


@case(8)
def slopes_swapped(nb):
    write(nb, "product", "def multiply(a, b):\n    return Node(a.data * b.data, ((a, a.data), (b, b.data)))")


@case(8)
def slopes_of_a_sum(nb):
    write(nb, "product", "def multiply(a, b):\n    return Node(a.data * b.data, ((a, 1.0), (b, 1.0)))")


@case(8)
def leaf_instead_of_a_product(nb):
    write(nb, "product", "def multiply(a, b):\n    return Node(a.data * b.data)")


@case(8)
def nothing_returned(nb):
    write(nb, "product", "def multiply(a, b):\n    Node(a.data * b.data, ((a, b.data), (b, a.data)))")


@case(5)
def order_without_memory(nb):
    write(nb, "order", "def order(y):\n    return [n for p, _ in y.parents for n in order(p)] + [y]")


@case(7)
def order_reversed(nb):
    write(
        nb,
        "order",
        cell(nb, "order")["source"][0]
        if isinstance(cell(nb, "order")["source"], str)
        else "".join(cell(nb, "order")["source"]) + "\n_right = order\ndef order(y):\n    return _right(y)[::-1]",
    )
    gradients = "".join(cell(nb, "gradients")["source"]).replace("reversed(order(y))", "order(y)")
    write(nb, "gradients", gradients)


@case(8)
def gradients_overwritten(nb):
    write(nb, "gradients", "".join(cell(nb, "gradients")["source"]).replace("+= grad[node]", "= grad[node]"))


@case(8)
def gradients_not_seeded(nb):
    write(nb, "gradients", "".join(cell(nb, "gradients")["source"]).replace("grad[y] = 1.0", "pass"))


@case(9)
def number_as_text(nb):
    write(nb, "visits", "times_at_x = '1024'\nnodes = 11")


@case(9)
def one_answer_of_two(nb):
    write(nb, "visits", "times_at_x = 1024\nnodes = 10")


@case(9)
def dots_left_in(nb):
    write(nb, "zero", "zero_says = ...")


@case(8)
def syntax_error(nb):
    write(nb, "product", "def multiply(a, b)\n    return")


@case(8)
def indented_with_tabs_and_spaces(nb):
    write(nb, "product", "def multiply(a, b):\n\tx = 1\n        return x")


@case(8)
def cell_that_raises(nb):
    write(nb, "product", "raise RuntimeError('no')")


@case(8)
def answer_that_raises(nb):
    write(nb, "product", "def multiply(a, b):\n    raise KeyError('x' * 10_000_000)")


@case(8)
def answer_deleted_again(nb):
    after(nb, "del multiply")


@case(10)
def given_code_tampered_with(nb):
    write(nb, "given", "class Node:\n    pass")


@case(8)
def recursion_without_end(nb):
    write(nb, "product", "def multiply(a, b):\n    return multiply(b, a)")
