"""Every error minigrad raises on purpose. Each subclasses the builtin it resembles; most subclass RuntimeError too.

MinigradError
├── ShapeError        operands whose shapes do not fit the op
│   └── AxisError     an axis that does not exist
├── BoundsError       an index past the end of its axis
├── SingularError     a matrix without an inverse, or without a Cholesky factor
├── DTypeError        operands whose dtype does not support the operation: gradients of integers, for example
├── DeviceError       operands on different devices, or a device that this machine lacks
├── NoValueError      the value of a symbolic tensor was requested, and it has none
├── NoGradientError   a derivative was requested that does not exist
├── FreedError        a second backward over a graph whose saved values the first one freed
├── StateError        a state that does not fit the object it is loaded into
├── SavedFileError    a file that is truncated or altered, or was not saved in the expected format
├── EditedError       an in-place edit of an array that backward needs, or of a leaf that is being recorded
├── AnomalyError      a NaN that detect_anomaly() found during backward
├── GraphError        a graph that was built or run in an invalid way
│   └── LengthError   the value of an unknown length was requested before a run; also a NoValueError
├── CycleError        a node that depends on its own result
├── ConversionError   Python code that AutoGraph cannot convert to a graph
└── GradcheckError    a derivative that finite differences contradict
"""


class MinigradError(Exception):
    """Base class: catch this to catch them all.

    located    whether the message names the graph node at which the error was raised
    """

    located = False


class ShapeError(MinigradError, ValueError, RuntimeError):
    """Operands whose shapes do not fit the op."""


class AxisError(ShapeError, IndexError):
    """An axis that does not exist."""


class BoundsError(MinigradError, IndexError, RuntimeError):
    """An index past the end of its axis."""


class SingularError(MinigradError, ValueError, RuntimeError):
    """A matrix without an inverse, or without a Cholesky factor."""


class DTypeError(MinigradError, TypeError, RuntimeError):
    """Operands whose dtype does not support the operation."""


class DeviceError(MinigradError, RuntimeError):
    """Operands on different devices, or a device that this machine lacks."""


class NoValueError(MinigradError, RuntimeError):
    """The value of a symbolic tensor was requested, and it has none."""


class NoGradientError(MinigradError, RuntimeError):
    """A derivative was requested that does not exist."""


class FreedError(MinigradError, RuntimeError):
    """A second backward over a graph whose saved values the first one freed."""


class StateError(MinigradError, RuntimeError, ValueError):
    """A state that does not fit the object it is loaded into: names, shapes or kinds differ."""


class SavedFileError(MinigradError, ValueError, RuntimeError):
    """A file that is truncated or altered, or was not saved in the expected format. Nothing was loaded from it."""


class EditedError(MinigradError, RuntimeError):
    """An in-place edit of an array that backward needs, or of a leaf that is being recorded."""


class AnomalyError(MinigradError, ArithmeticError, RuntimeError):
    """A NaN that detect_anomaly() found during backward."""


class GraphError(MinigradError, ValueError, RuntimeError):
    """A static graph that was built or run in an invalid way."""


class LengthError(GraphError, NoValueError):
    """The value of an unknown length was requested; it is known only in a run."""


class CycleError(MinigradError, ValueError):
    """A node that depends on its own result, so that no order of evaluation exists."""


class ConversionError(MinigradError, TypeError):
    """Python code that AutoGraph cannot convert to a graph."""


class GradcheckError(MinigradError, AssertionError):
    """A derivative that finite differences contradict."""
