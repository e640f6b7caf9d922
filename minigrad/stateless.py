"""A module as a function of its parameters."""

from __future__ import annotations

from typing import Any


def functional_call(module: Any, parameters_and_buffers: dict[str, Any], args: Any = (), kwargs: Any = None) -> Any:
    """module(*args), with other tensors in the place of some of its own.

    parameters_and_buffers    dotted name → the tensor that stands there meanwhile, wherever its parameter is shared
    """
    others = {id(module.get_parameter(name)): x for name, x in parameters_and_buffers.items()}
    held = [(vars(part), name, x) for part in module.modules() for name, x in vars(part).items() if id(x) in others]
    try:
        for attributes, name, x in held:
            attributes[name] = others[id(x)]
        return module(*(args if isinstance(args, tuple) else (args,)), **({} if kwargs is None else kwargs))
    finally:
        for attributes, name, x in held:
            attributes[name] = x
