"""Imports flow one way: each module imports only from those above it in this list."""

import ast
from pathlib import Path

import pytest

import minigrad

ROOT = Path(minigrad.__file__).parent
LAYERS = """
errors  standin dimension  dtypes  devices.contract devices.counts devices.simulated devices device
philox sequence  spec  pen
op  clock  hooks
ops.leaf ops.blocks ops.arithmetic ops.comparison ops.pointwise ops.erf ops.activation ops.loss ops.movement
ops.pattern ops.index ops.joining ops.placing ops.scan ops.reduce ops.sort ops.scatter ops.control ops.softmax
ops.standardise ops.linalg ops.attention ops.einsum ops.solving ops.factors ops.window ops.convolution ops.pooling
ops.adaptive ops.carried ops.recurrent ops.quantile ops.special ops.effect ops.random ops.identity ops.overlay
ops.state ops
node
operand.base operand.synonyms operand.arithmetic operand.pointwise operand.casting operand.movement operand.pieces
operand.at operand.indexing operand.reduction operand.ordering operand.scanning operand.counting operand.normalising
operand.einsum operand.algebra operand
symbol
modes  pullback
ufunc
compiler.graph compiler.gradient compiler.calm compiler.reverse compiler.specialise compiler.arrival compiler.rewrite
compiler.codegen compiler compiler.interpret compiler.fold compiler.loose compiler.pooled compiler.expand compiler.prune
compiler.layout compiler.fuse compiler.order compiler.recompute compiler.schedule compiler.trim compiler.verify
compiler.pipeline compiler.steps compiler.axes compiler.shadow compiler.record compiler.buffers compiler.lower
compiler.cutting compiler.loops compiler.rows compiler.blas compiler.text compiler.kernels.spelling
compiler.kernels.functions compiler.kernels.c compiler.kernels.index compiler.kernels.reduction compiler.kernels.kernel
compiler.kernels.product compiler.kernels.arena compiler.kernels.machine compiler.kernels.shim compiler.kernels.steps
compiler.kernels.state compiler.kernels.replay compiler.kernels compiler.trouble compiler.flow compiler.emit
compiler.program compiler.control
plan  grad_fn  differentiable  editable  filling  inplace  printing  reading  kindred  unroll  tensor
valueless opened traced staged_gradients staging
tree
autograd.gradient autograd.function_rule autograd.function_in_graph autograd.function autograd.custom_gradient
autograd.graph autograd.anomaly autograd.forward_ad
autograd.functional autograd.tape autograd.gradcheck autograd
laws  functions.face functions.itself functions.algebra functions.movement functions.indexing
functions.creation functions.pointwise functions.reduction functions.activation linalg special random cuda fft
functions.random functions
stateless func
functional.activation functional.within functional.loss functional.classification functional.select functional.dense
functional.similarity functional.margin functional.ctc
functional.sparse
functional.convolution functional.pooling functional.resize functional.sampling
functional.normalise functional.dropout functional.attention functional
nn.parameter nn.tree nn.state nn.hooks nn.module nn.held nn.init nn.container nn.linear nn.activation nn.conv nn.pooling
nn.padding nn.pictures nn.norm
nn.dropout nn.embedding nn.loss nn.utils.clip nn.utils.vector nn.utils.rnn nn.utils nn.steps nn.cells nn.recurrent
nn.attention nn.transformer nn
graph.autograph.foreign graph.autograph.scopes graph.autograph.jumps graph.autograph.expressions graph.autograph.blocks
graph.autograph.statements graph.autograph.source graph.signature graph.tracing graph.partition graph.eagerly
graph.method graph.explain graph.custom graph.graph graph.inner graph.default graph.structure graph.parts graph.control
graph.choosing graph.loops graph.placeholder graph.tensor_spec graph.pruning graph.ordering graph.watching
graph.gradients graph.variable graph.session graph.autograph.behind graph.autograph.numbers graph.autograph.state
graph.autograph.rows
graph.autograph.fork graph.autograph.replaced graph.autograph.leftovers graph.autograph.branches graph.autograph.loop
graph.autograph.loops graph.autograph.operators graph.autograph.convert graph.autograph.origins graph.autograph
graph.seen graph.followed graph.compiled graph.trace graph.function graph.jit graph lax
optim.groups optim.inplace optim.staged optim.minimizing optim.optimizer optim.sgd optim.adam optim.rmsprop
optim.adagrad optim.whole optim.lbfgs
optim.lr_scheduler.scheduler optim.lr_scheduler.factor optim.lr_scheduler.cosine optim.lr_scheduler.cyclic
optim.lr_scheduler.joined optim.lr_scheduler.plateau optim.lr_scheduler optim
data.datasets data.loading data.sampler data.dataset data.collate data.loader data
utils.checkpoint utils.data utils
""".split()  # noqa: SIM905  (it is read as lines)
CORE = set(LAYERS[: LAYERS.index("autograd") + 1])
USERS = {"draw", "widgets", "course", "grading"}  # packages that stand on the core; their own order is theirs
SEED = {"scalar": set(), "recording": {"scalar"}}  # the scalar engine, and all that each of its files may import


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(p for p in parts if p != "__init__")


def imports(path):
    """Names, as in LAYERS, of what a file imports at run time from minigrad."""
    package = path.relative_to(ROOT).parent.parts
    for statement in ast.walk(without_type_checking(ast.parse(path.read_text(encoding="utf-8")))):
        if isinstance(statement, ast.ImportFrom) and statement.level:
            base = package[: len(package) - statement.level + 1]
            target = ".".join((*base, *filter(None, (statement.module or "").split("."))))
            for alias in statement.names:
                full = f"{target}.{alias.name}".strip(".")
                yield full if full in LAYERS else target


def without_type_checking(tree):
    tree.body = [s for s in tree.body if not (isinstance(s, ast.If) and ast.unparse(s.test) == "TYPE_CHECKING")]
    return tree


FILES = [p for p in ROOT.rglob("*.py") if module_name(p) and "_course" not in p.parts]


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_imports_only_from_above(path):
    name = module_name(path)
    if name.split(".")[0] in USERS | {"__main__"}:
        return
    if name in SEED:
        assert set(imports(path)) == SEED[name]
        return
    assert name in LAYERS, f"{name} has no place in the order of reading: give it one here"
    below = [i for i in imports(path) if i not in LAYERS or LAYERS.index(i) >= LAYERS.index(name)]

    assert not below, f"{name} imports {below}, which come after it"


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_no_file_is_longer_than_500_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


def test_the_two_hearts_stay_small():
    """`apply` and `pullback` never grow: a feature is a watcher, a mode or an op."""
    from inspect import getsource

    from minigrad.pullback import pullback
    from minigrad.tensor import Tensor

    assert len(getsource(Tensor.apply).splitlines()) <= 20
    assert len(getsource(pullback).splitlines()) <= 24
