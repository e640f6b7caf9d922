"""mg.save and mg.load: what a run has made, in one file that is whole or not there.

    mg.save("net.safetensors", net.state_dict())                 PyTorch reads it: safetensors.torch.load_file
    mg.save("run.mg", {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3})
    state = mg.load("run.mg")
    mg.save("net.mg", net, mg.TensorSpec((None, 784)))           the graph too: needs no Python of the network's
    net = mg.load("net.mg")

Nothing in a file is code: neither pickle nor names of things to import.
"""

from __future__ import annotations

import os
from typing import Any

from ...engine.base.errors import SavedFileError, StateError
from ...engine.base.pytree import leaves, tree_map
from ...engine.tensor.tensor import Tensor
from ...graph.function import TracedFunction
from ...graph.placeholder import TensorSpec
from ...graph.session import Session, SessionCallable
from ...graph.signature import Bound
from .container import OURS, parsed, read, short, write_arrays
from .functions import FunctionDecoder, FunctionEncoder, SavedFunction, of_traced
from .sessions import of_session
from .values import VERSION, Decoder, in_json, save_values


def save(path: str | os.PathLike[str], what: Any, inputs: Any = None) -> None:
    """Write a function, a model, or values, in a file that replaces one of its name only when it is whole.

    what      values: tensors, numbers, texts and None, in any structure of lists, tuples and dictionaries;
              a function, with the graphs of its calls, if mg.function has traced it; a Module; or a run of a session,
              session.make_callable(fetches, feeds)
    inputs    what the function, or the model, is called with: a tensor or a TensorSpec, or a tuple of them; a function
              that was not traced is traced for them

    Raises StateError for what a file cannot hold, such as Python objects.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"mg.save takes the path first, mg.save(path, what), and got {short(path)} in its place")
    function = function_of(what, inputs)
    if function is None:
        save_values(path, what)
        return
    encoder = FunctionEncoder()
    text = in_json({"version": VERSION, "kind": "function", **encoder.function(function)})
    understood(text, encoder.arrays)  # what could not be loaded is not saved
    write_arrays(path, encoder.arrays, text)


def function_of(what: Any, inputs: Any) -> SavedFunction | None:
    """A function as it is saved; None for values."""
    if isinstance(what, SavedFunction) and inputs is None:
        return what
    if isinstance(what, SessionCallable) and inputs is None:
        return of_session(what)
    if isinstance(what, Session):
        raise StateError(
            "a session is saved as one of its runs, mg.save(path, session.make_callable(fetches, [x, …])), "
            "which has the variables' values with it"
        )
    what = what.function if isinstance(what, Bound) else what
    if not callable(what):
        if inputs is not None:
            raise StateError(f"inputs are of a model or a function, and mg.save got them with {short(what)}")
        return None
    if inputs is None:
        if isinstance(what, TracedFunction):
            return of_traced(what)
        raise StateError(
            f"the graph of {getattr(what, '__name__', type(what).__name__)} is not known: say what it is called with, "
            "mg.save(path, model, inputs); or save model.state_dict(), or what mg.function made of a function"
        )
    traced = what if isinstance(what, TracedFunction) else TracedFunction(what)
    given, signature = inputs if isinstance(inputs, tuple) else (inputs,), traced.input_signature
    if any(isinstance(x, TensorSpec) for x in leaves(given)):
        signature = tree_map(lambda x: x if isinstance(x, TensorSpec) else TensorSpec.from_tensor(Tensor(x)), given)
        given = tree_map(TensorSpec.example, signature)
    alone = TracedFunction(traced.python_function, signature, traced.autograph)
    alone.trace_for(*given)
    return of_traced(alone)


def load(path: str | os.PathLike[str]) -> Any:
    """What was saved there: values, or a SavedFunction; of a file that another library wrote, name → Tensor.

    Raises SavedFileError where the file is not whole, or not such a file.
    """
    arrays, text = read(path)
    if text is None:
        return {name: Tensor(array) for name, array in arrays.items()}
    try:
        return understood(text, arrays)
    except SavedFileError as error:
        raise SavedFileError(f"{path} holds nothing that {OURS} knows: {error}") from None


def understood(text: str, arrays: dict[str, Any]) -> Any:
    """What the text and the arrays of a file say."""
    said = parsed(text)
    if said.get("version") != VERSION:
        raise SavedFileError(f"its version is {short(said.get('version'))}, and {VERSION} is what is read here")
    try:
        match said:
            case {"kind": "state", "value": value} if len(said) == 3:
                return Decoder(arrays).value(value)
            case {"kind": "function"} if len(said) == 6:
                return FunctionDecoder(arrays, said.get("places")).function(said)
    except RecursionError:
        raise SavedFileError("it is nested too deep") from None
    raise SavedFileError(f"a state or a function is wanted, and this is {short(said)}")
