"""One or more calls of each op of the recurrent networks, sequences of one length and of several."""

from minigrad import ops

from .draws import signed

T, N, H = 3, 2, 2
FEWER = (2, 2, 1)  # sequences at each step

EXAMPLES = {
    ops.Elman: [
        (ops.Elman(), signed(T, N, H), signed(H, H), signed(1, N, H)),
        (ops.Elman(FEWER), signed(T, N, H), signed(H, H), signed(1, N, H)),
    ],
    ops.ElmanRelu: [(ops.ElmanRelu(), signed(T, N, H), signed(H, H), signed(1, N, H))],
    ops.Gru: [
        (ops.Gru(), signed(T, N, 3 * H), signed(3 * H, H), signed(1, N, H), signed(3 * H)),
        (ops.Gru(FEWER), signed(T, N, 3 * H), signed(3 * H, H), signed(1, N, H), signed(3 * H)),
    ],
    ops.Lstm: [
        (ops.Lstm(), signed(T, N, 4 * H), signed(4 * H, H), signed(2, N, H)),
        (ops.Lstm(FEWER), signed(T, N, 4 * H), signed(4 * H, H), signed(2, N, H)),
        (ops.Lstm(), signed(1, N, 4 * H), signed(4 * H, H), signed(2, N, H)),
    ],
    ops.LinearRecurrence: [
        (ops.LinearRecurrence(sizes, reverse), signed(S, T, N, H), signed(T, N, g, H), signed(g * H, H), *rest)
        for sizes in (None, FEWER)
        for reverse in (False, True)
        for S, g, rest in ((1, 1, ()), (1, 3, (signed(T, N, H),)), (2, 4, (signed(T, N, H), signed(T, N, H))))
    ],
}  # fmt: skip
