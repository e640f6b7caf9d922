"""The static half: graphs that are built before they run.

    g = mg.Graph()
    with g.as_default():
        x, w = mg.placeholder("float64", (None, 3)), mg.Variable([[1.0], [2.0], [3.0]])
        loss = (x @ w).square().mean()
        (gw,) = mg.gradients(loss, [w])
        down = w.assign_sub(0.1 * gw)
    with mg.Session(g) as session:
        session.run(w.initializer)
        session.run([down, loss], {x: data})

Names and meaning are TensorFlow 1's.
"""

from .compiler.blame import trap_nan as trap_nan
from ..tracing.tracer import get_default_session as get_default_session
from .control import case as case, cond as cond, switch_case as switch_case, while_loop as while_loop
from .custom import custom_jvp as custom_jvp, custom_vjp as custom_vjp
from .graph import (
    add_to_collection as add_to_collection, executing_eagerly as executing_eagerly, get_collection as get_collection,
    get_default_graph as get_default_graph, gradients as gradients, name_scope as name_scope,
    reset_default_graph as reset_default_graph,
)
from .effects import (
    Probe as Probe, add_n as add_n, control_dependencies as control_dependencies, group as group, identity as identity,
    no_op as no_op, print as print, probe as probe, py_func as py_func, stop_gradient as stop_gradient,
    tuple_ as tuple_,
)
from .function import (
    RetracingWarning as RetracingWarning, function as function, functions_run_eagerly as functions_run_eagerly,
    run_functions_eagerly as run_functions_eagerly,
)
from .graph import (
    GLOBAL_VARIABLES as GLOBAL_VARIABLES, Graph as Graph, TRAINABLE_VARIABLES as TRAINABLE_VARIABLES,
    UPDATE_OPS as UPDATE_OPS,
)
from .jit import eval_shape as eval_shape, jit as jit, make_jaxpr as make_jaxpr
from .control import fori_loop as fori_loop, scan as scan
from .placeholder import (
    TensorSpec as TensorSpec, constant as constant, placeholder as placeholder,
    placeholder_with_default as placeholder_with_default,
)
from .session import Session as Session
from .variable import (
    Variable as Variable, assign as assign, assign_add as assign_add, assign_sub as assign_sub,
    global_variables as global_variables, global_variables_initializer as global_variables_initializer,
    trainable_variables as trainable_variables, variables_initializer as variables_initializer,
)
