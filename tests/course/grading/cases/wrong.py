"""Submissions: wrong, in the typical ways."""

from __future__ import annotations

from tests.course.grading.cases.case import notebook, source, submissions

submissions(__name__, {
    "slopes_swapped": notebook(8,
        product="def multiply(a, b):\n    return Node(a.data * b.data, ((a, a.data), (b, b.data)))"),
    "slopes_of_a_sum": notebook(8,
        product="def multiply(a, b):\n    return Node(a.data * b.data, ((a, 1.0), (b, 1.0)))"),
    "leaf_instead_of_a_product": notebook(8, product="def multiply(a, b):\n    return Node(a.data * b.data)"),
    "nothing_returned": notebook(8,
        product="def multiply(a, b):\n    Node(a.data * b.data, ((a, b.data), (b, a.data)))"),
    "order_without_memory": notebook(5,
        order="def order(y):\n    return [n for p, _ in y.parents for n in order(p)] + [y]"),
    "order_reversed": notebook(7,
        order=source("order") + "\n_right = order\ndef order(y):\n    return _right(y)[::-1]",
        gradients=source("gradients").replace("reversed(order(y))", "order(y)")),
    "gradients_overwritten": notebook(8, gradients=source("gradients").replace("+= grad[node]", "= grad[node]")),
    "gradients_not_seeded": notebook(8, gradients=source("gradients").replace("grad[y] = 1.0", "pass")),
    "number_as_text": notebook(9, visits="times_at_x = '1024'\nnodes = 11"),
    "one_answer_of_two": notebook(9, visits="times_at_x = 1024\nnodes = 10"),
    "dots_left_in": notebook(9, zero="zero_says = ..."),
    "syntax_error": notebook(8, product="def multiply(a, b)\n    return"),
    "indented_with_tabs_and_spaces": notebook(8, product="def multiply(a, b):\n\tx = 1\n        return x"),
    "cell_that_raises": notebook(8, product="raise RuntimeError('no')"),
    "answer_that_raises": notebook(8, product="def multiply(a, b):\n    raise KeyError('x' * 10_000_000)"),
    "answer_deleted_again": notebook(8, after="del multiply"),
    "given_code_tampered_with": notebook(10, given="class Node:\n    pass"),
    "recursion_without_end": notebook(8, product="def multiply(a, b):\n    return multiply(b, a)"),
})  # fmt: skip
