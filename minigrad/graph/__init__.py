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

from ..compiler.blame import trap_nan as trap_nan
from ..tracing.tracer import get_default_session as get_default_session
from .control import case as case
from .control import cond as cond
from .control import switch_case as switch_case
from .control import while_loop as while_loop
from .custom import custom_jvp as custom_jvp
from .custom import custom_vjp as custom_vjp
from .default import add_to_collection as add_to_collection
from .default import executing_eagerly as executing_eagerly
from .default import get_collection as get_collection
from .default import get_default_graph as get_default_graph
from .default import gradients as gradients
from .default import name_scope as name_scope
from .default import reset_default_graph as reset_default_graph
from .effects import Probe as Probe
from .effects import add_n as add_n
from .effects import control_dependencies as control_dependencies
from .effects import group as group
from .effects import identity as identity
from .effects import no_op as no_op
from .effects import print as print
from .effects import probe as probe
from .effects import py_func as py_func
from .effects import stop_gradient as stop_gradient
from .effects import tuple_ as tuple_
from .function import RetracingWarning as RetracingWarning
from .function import function as function
from .function import functions_run_eagerly as functions_run_eagerly
from .function import run_functions_eagerly as run_functions_eagerly
from .graph import GLOBAL_VARIABLES as GLOBAL_VARIABLES
from .graph import TRAINABLE_VARIABLES as TRAINABLE_VARIABLES
from .graph import UPDATE_OPS as UPDATE_OPS
from .graph import Graph as Graph
from .jit import eval_shape as eval_shape
from .jit import jit as jit
from .jit import make_jaxpr as make_jaxpr
from .loops import fori_loop as fori_loop
from .loops import scan as scan
from .placeholder import TensorSpec as TensorSpec
from .placeholder import constant as constant
from .placeholder import placeholder as placeholder
from .placeholder import placeholder_with_default as placeholder_with_default
from .session import Session as Session
from .variable import Variable as Variable
from .variable import assign as assign
from .variable import assign_add as assign_add
from .variable import assign_sub as assign_sub
from .variable import global_variables as global_variables
from .variable import global_variables_initializer as global_variables_initializer
from .variable import trainable_variables as trainable_variables
from .variable import variables_initializer as variables_initializer
