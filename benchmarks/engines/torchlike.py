"""PyTorch and minigrad, which run the same program: only the import differs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from ..workloads import Workload
from . import Run
from .scalar import Value, scalars_of


class Torchlike:
    """PyTorch's functions, taken from `lib`."""

    fused: ClassVar[dict[str, bool]] = {}  # further options of Adam

    def __init__(self, lib: ModuleType, device: str = "cpu"):
        self.lib, self.F, self.device = lib, lib.nn.functional, device

    def __getattr__(self, name: str) -> Any:
        """The method of tensors, or else function of networks, of this name; looked up once."""
        found = getattr(self.lib.Tensor, name, None) or getattr(self.F, name)
        setattr(self, name, found)
        return found

    def gelu(self, x: Any) -> Any:
        return self.F.gelu(x, approximate="tanh")

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        return self.F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def unbind(self, x: Any) -> Any:
        return x.unbind(0)

    def prepared(self, function: Callable[[], Any]) -> Callable[[], Any]:
        """The library's compiled form of a function that is called repeatedly."""
        return function

    def loss(self, workload: Workload) -> Callable[..., Any]:
        """The loss of named tensors."""
        return partial(workload.loss, self)

    def finish(self) -> None:
        """Waits for the device."""

    def update(self, workload: Workload, parameters: Iterable[Any]) -> Callable[[], Any] | None:
        """The update of one step by the library's own optimiser."""
        optim = self.lib.optim
        match workload.update:
            case "sgd":
                return optim.SGD(list(parameters), lr=workload.lr).step  # type: ignore[no-any-return]
            case "adam":
                return optim.Adam(list(parameters), lr=workload.lr, **self.fused).step  # type: ignore[no-any-return]
        return None

    def arrays(self, workload: Workload) -> tuple[dict[str, Any], dict[str, Any]]:
        batch, parameters = workload.arrays()
        tensor = partial(self.lib.tensor, device=self.device)
        return (
            {name: tensor(array) for name, array in batch.items()},
            {name: tensor(array, requires_grad=True) for name, array in parameters.items()},
        )

    def training(self, workload: Workload) -> Run:
        batch, parameters = self.arrays(workload)
        update, of = self.update(workload, parameters.values()), self.loss(workload)

        def forward() -> Any:
            return of(**batch, **parameters)

        def forget() -> None:
            for p in parameters.values():
                p.grad = None

        def gradients() -> Any:
            forget()
            loss = forward()
            loss.backward()
            return loss

        def step() -> Any:
            loss = gradients()
            if update is not None:
                update()
                forget()  # so that no step has to return unread gradients
            return loss

        def answer() -> tuple[float, dict[str, np.ndarray]]:
            loss = differentiated().item()
            return loss, {name: p.grad.cpu().numpy().copy() for name, p in parameters.items()}

        differentiated = self.prepared(gradients)
        parts = {"forward": forward} | ({"update": update} if update else {})
        return Run({"step": self.prepared(step)}, answer, parts, self.finish)

    def large(self, workload: Workload) -> Run:
        run = self.training(workload)
        value = self.prepared(run.parts["forward"])

        def forward() -> Any:
            with self.lib.no_grad():
                return value()

        return Run({"forward": forward, "gradient": run.stages["step"]}, run.answer, finish=self.finish)

    def hvp(self, workload: Workload) -> Run:
        batch, parameters = self.arrays(workload)
        vectors = [self.lib.tensor(v) for v in workload.vectors().values()]
        grad = self.lib.autograd.grad

        def product() -> Any:
            loss = workload.loss(self, **batch, **parameters)
            gs = grad(loss, list(parameters.values()), create_graph=True)
            return loss, grad(gs, list(parameters.values()), vectors)

        def answer() -> tuple[float, dict[str, np.ndarray]]:
            loss, products = prepared()
            return loss.item(), {name: h.numpy() for name, h in zip(parameters, products)}

        prepared = self.prepared(product)
        return Run({"product": prepared}, answer)

    def number(self, n: float) -> Any:
        """A scalar that requires a gradient."""
        return self.lib.tensor(n, dtype=self.lib.float64, requires_grad=True)


class Torch(Torchlike):
    """On a GPU in full single precision, as on the CPU: TF32 has only ten bits of fraction."""

    def __init__(self, device: str = "cpu"):
        import torch

        if device not in ("cpu", "gpu") or (device == "gpu" and not torch.cuda.is_available()):
            raise NotImplementedError(f"PyTorch {torch.__version__} finds no {device} here")
        torch.set_num_threads(1)
        torch.backends.cudnn.allow_tf32 = False
        super().__init__(torch, {"gpu": "cuda"}.get(device, device))

    def finish(self) -> None:
        if self.device == "cuda":
            self.lib.cuda.synchronize()

    def scalars(self, workload: Workload) -> Run:
        return scalars_of(self, workload)


class TorchCompile(Torch):
    """torch.compile of the loss and so of its gradient; Adam in one kernel."""

    mode: str | None = None
    fused: ClassVar = {"fused": True}

    def loss(self, workload: Workload) -> Callable[..., Any]:
        plain = super().loss(workload)
        batch, parameters = self.arrays(workload)
        plain(**batch, **parameters)  # looks up every function of the engine before tracing
        return self.lib.compile(plain, mode=self.mode)  # type: ignore[no-any-return]

    def hvp(self, workload: Workload) -> Run:
        raise NotImplementedError("torch.compile has no second derivative")


class TorchGraphs(TorchCompile):
    """torch.compile, with its kernels replayed as CUDA graphs."""

    mode = "reduce-overhead"


class Minigrad(Torchlike):
    def __init__(self, device: str = "cpu"):
        import minigrad

        super().__init__(minigrad, device)
        if device != "cpu":
            minigrad.zeros(1, device=device)  # raises an error that names what is missing

    def finish(self) -> None:
        if self.device == "gpu":
            self.lib.device("gpu").xp.cuda.Device().synchronize()

    def scalars(self, workload: Workload) -> Run:
        return Value().scalars(workload)


class Traced(Minigrad):
    """Whole steps, forward, backward and the optimiser's update, as users compile them: mg.function."""

    jit_compile: bool | str = True

    def prepared(self, function: Callable[[], Any]) -> Callable[[], Any]:
        return self.lib.function(function, jit_compile=self.jit_compile)  # type: ignore[no-any-return]


class Native(Traced):
    """mg.function, with its loops in C++."""

    jit_compile = "native"


class Kernels(Traced):
    """On a GPU: kernels are launched one by one instead of being recorded and replayed."""

    def __init__(self, device: str = "gpu"):
        from minigrad.graph.backends.cuda.machine import machine_of

        super().__init__(device)
        machine_of(self.lib.device(device)).record = lambda run, pool: run  # type: ignore[method-assign]
