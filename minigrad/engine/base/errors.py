"""Everything minigrad raises on purpose: each error is the builtin it resembles, and a RuntimeError where PyTorch's is.

MinigradError
├── ShapeError        operands whose shapes do not fit the op
│   └── AxisError     an axis that is not there
├── BoundsError       an index past the end of its axis
├── SingularError     a matrix that has no inverse, or no Cholesky factor
├── DTypeError        operands whose dtype cannot do what is asked: integers asked for gradients, say
├── DeviceError       operands that live on different devices, or a device this machine has not
├── NoValueError      a value was asked of a tensor that has none: it is symbolic
├── NoGradientError   a derivative was asked of something that has none
├── FreedError        a second backward over a graph whose saved values the first one freed
├── StateError        a state that does not fit what it is loaded into
├── SavedFileError    a file that is cut short or changed, or that nobody saved as such
├── EditedError       an in-place edit of what backward will need, or of a leaf that is being recorded
├── AnomalyError      a NaN that detect_anomaly() met on the way back
├── GraphError        a graph that was built, or run, in a way that it cannot be
│   └── LengthError   a number was asked of a length that only a run knows; a NoValueError too
├── CycleError        a node that would need its own result first
├── ConversionError   Python code that AutoGraph cannot make part of a graph
└── GradcheckError    a derivative that finite differences contradict
"""


class MinigradError(Exception):
    """Base class: catch this to catch them all.

    located    whether it names the node of a graph at which it was raised
    """

    located = False


class ShapeError(MinigradError, ValueError, RuntimeError):
    """Operands whose shapes do not fit the op."""


class AxisError(ShapeError, IndexError):
    """An axis that is not there."""


class BoundsError(MinigradError, IndexError, RuntimeError):
    """An index past the end of its axis."""


class SingularError(MinigradError, ValueError, RuntimeError):
    """A matrix that has no inverse, or no Cholesky factor."""


class DTypeError(MinigradError, TypeError, RuntimeError):
    """Operands whose dtype cannot do what is asked."""


class DeviceError(MinigradError, RuntimeError):
    """Operands that live on different devices, or a device this machine has not."""


class NoValueError(MinigradError, RuntimeError):
    """A value was asked of a tensor that has none: it is symbolic."""


class NoGradientError(MinigradError, RuntimeError):
    """A derivative was asked of something that has none."""


class FreedError(MinigradError, RuntimeError):
    """A second backward over a graph whose saved values the first one freed."""


class StateError(MinigradError, RuntimeError, ValueError):
    """A state that does not fit what it is loaded into: names, shapes or kinds differ."""


class SavedFileError(MinigradError, ValueError, RuntimeError):
    """A file that is cut short or changed, or that nobody saved as such. Nothing of it was taken."""


class EditedError(MinigradError, RuntimeError):
    """An in-place edit of what backward will need, or of a leaf that is being recorded."""


class AnomalyError(MinigradError, ArithmeticError, RuntimeError):
    """A NaN that detect_anomaly() met on the way back."""


class GraphError(MinigradError, ValueError, RuntimeError):
    """A graph that is built before it runs was built, or run, in a way that it cannot be."""


class LengthError(GraphError, NoValueError):
    """A number was asked of a length that only a run knows."""


class CycleError(MinigradError, ValueError):
    """A node that would need its own result first: no order of computing exists."""


class ConversionError(MinigradError, TypeError):
    """Python code that AutoGraph cannot make part of a graph."""


class GradcheckError(MinigradError, AssertionError):
    """A derivative that finite differences contradict."""
