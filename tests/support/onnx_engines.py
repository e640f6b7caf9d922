"""Runs ONNX files in other engines: ONNX Runtime, with its optimiser off and on, and onnx's reference.

The engines run in a separate process, because some files crash ONNX Runtime, and a test has to report that.
"""

import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ENGINES = ("ONNX Runtime", "ONNX Runtime, optimised", "reference")
ENDED = "the process ended"


def answers(models):
    """For each (model, arrays), the result of each engine: a list of arrays, or the text of an error."""
    with tempfile.TemporaryDirectory() as folder:
        task, done = Path(folder, "task"), Path(folder, "done")
        task.write_bytes(pickle.dumps(models))
        for _ in range(len(ENGINES) * len(models) + 1):
            child = subprocess.run([sys.executable, __file__, task, done], capture_output=True, check=False)
            assert child.returncode <= 0, child.stderr.decode()
            if not child.returncode:
                break
        found = dict(records(done))
    return [{engine: found[i, engine] for engine in ENGINES} for i in range(len(models))]


def records(path):
    """Yield ((number of a model, engine), its result); a later record replaces an earlier one with the same key."""
    with path.open("rb") as file:
        while file.peek(1):
            yield pickle.load(file)


def session_of(model, **options):
    """A file, or its bytes, in ONNX Runtime on one thread: to start and end others takes longer than small models."""
    import onnxruntime

    said = onnxruntime.SessionOptions()
    for name, value in {"intra_op_num_threads": 1, **options}.items():
        setattr(said, name, value)
    model = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(model, said, providers=["CPUExecutionProvider"])


def run_engine(engine, model, arrays):
    if engine == "reference":
        import onnx
        from onnx.reference import ReferenceEvaluator
        from onnx.reference.op_run import OpRun

        class GatherElements(OpRun):
            """That of onnx 1.23 is np.choose, and fails along an axis of more than 64."""

            op_domain = ""

            def _run(self, x, index, axis=0):
                return (np.take_along_axis(x, index, axis),)

        made = onnx.load_model_from_string(model)
        with np.errstate(all="ignore"):
            fed = {x.name: a for x, a in zip(made.graph.input, arrays)}
            return ReferenceEvaluator(made, new_ops=[GatherElements]).run(None, fed)
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    levels = onnxruntime.GraphOptimizationLevel
    level = levels.ORT_ENABLE_ALL if "optimised" in engine else levels.ORT_DISABLE_ALL
    session = session_of(model, graph_optimization_level=level)
    return session.run(None, {x.name: a for x, a in zip(session.get_inputs(), arrays)})


def main(task, done):
    """Continue after the last model and engine that were started: these crashed the previous process."""
    begun = {key for key, _ in records(done)} if done.exists() else set()
    with done.open("ab") as file:
        for i, (model, arrays) in enumerate(pickle.loads(task.read_bytes())):
            for engine in ENGINES:
                if (i, engine) in begun:
                    continue
                file.write(pickle.dumps(((i, engine), ENDED)))
                file.flush()
                try:
                    found = [np.asarray(y) for y in run_engine(engine, model, arrays)]
                except Exception as error:
                    found = f"{type(error).__name__}: {error}"[:300]
                file.write(pickle.dumps(((i, engine), found)))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
