"""mg.save and mg.load: the results of a run in one file, which is never half written.

    mg.save("net.safetensors", net.state_dict())                 PyTorch reads it: safetensors.torch.load_file
    mg.save("run.mg", {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3})
    state = mg.load("run.mg")
    mg.save("net.mg", net, mg.TensorSpec((None, 784)))           with the graph: loading needs no Python code of net
    net = mg.load("net.mg")

A file contains no code: no pickle, and no names of modules or classes to import.
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
from ...graph.signature import TracedMethod
from .container import OURS, parse_json, read, short, write_arrays
from .functions import FunctionDecoder, FunctionEncoder, SavedFunction, of_session, of_traced
from .values import VERSION, Decoder, in_json, save_values


def save(path: str | os.PathLike[str], what: Any, inputs: Any = None) -> None:
    """Write values, a function or a model to a file. An existing file is replaced only when the new one is complete.

    what      values: tensors, numbers, strings and None, in any structure of lists, tuples and dictionaries;
              a function traced by mg.function, with all its graphs; a Module; or a run of a session,
              session.make_callable(fetches, feeds)
    inputs    example inputs of the function or the model: a tensor, a TensorSpec, or a tuple of them; a function
              that was not traced yet is traced for them

    Raises StateError for values that a file cannot hold, such as other Python objects.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"mg.save takes the path first, mg.save(path, what), but got {short(path)}")
    function = function_of(what, inputs)
    if function is None:
        save_values(path, what)
        return
    encoder = FunctionEncoder()
    text = in_json({"version": VERSION, "kind": "function", **encoder.function(function)})
    decode_contents(text, encoder.arrays)  # refuse to save a file that could not be loaded
    write_arrays(path, encoder.arrays, text)


def function_of(what: Any, inputs: Any) -> SavedFunction | None:
    """The SavedFunction to write to the file; None if `what` is values."""
    if isinstance(what, SavedFunction) and inputs is None:
        return what
    if isinstance(what, SessionCallable) and inputs is None:
        return of_session(what)
    if isinstance(what, Session):
        gain = "the file then has the values of its variables too"
        raise StateError(f"save one run of a session, mg.save(path, session.make_callable(fetches, [x, …])): {gain}")
    what = what.function if isinstance(what, TracedMethod) else what
    if not callable(what):
        if inputs is not None:
            raise StateError(f"mg.save takes inputs only with a model or a function, but got them with {short(what)}")
        return None
    if inputs is None:
        if isinstance(what, TracedFunction):
            return of_traced(what)
        raise StateError(
            f"{getattr(what, '__name__', type(what).__name__)} has no graph yet: pass example inputs, mg.save(path, "
            "model, inputs); or save model.state_dict(), or a function that mg.function has traced"
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
    """Load what was saved: values, or a SavedFunction; from a file by another library, a dictionary name → Tensor.

    Raises SavedFileError if the file is damaged or of another format.
    """
    arrays, text = read(path)
    if text is None:
        return {name: Tensor(array) for name, array in arrays.items()}
    try:
        return decode_contents(text, arrays)
    except SavedFileError as error:
        raise SavedFileError(f"{path} holds nothing that {OURS} knows: {error}") from None


def decode_contents(text: str, arrays: dict[str, Any]) -> Any:
    """Decode the text and the arrays of a file."""
    said = parse_json(text)
    if said.get("version") != VERSION:
        raise SavedFileError(f"its version is {short(said.get('version'))}, but this minigrad reads version {VERSION}")
    try:
        match said:
            case {"kind": "state", "value": value} if len(said) == 3:
                return Decoder(arrays).value(value)
            case {"kind": "function"} if len(said) == 6:
                return FunctionDecoder(arrays, said.get("places")).function(said)
    except RecursionError:
        raise SavedFileError("it is nested too deep") from None
    raise SavedFileError(f"expected a state or a function, got {short(said)}")
