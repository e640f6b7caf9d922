"""A served model answers as the model does, over a real socket, whoever else asks; what is wrong is refused."""

import asyncio
import io
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from http.client import HTTPConnection

import httpx
import numpy as np
import onnxruntime
import pytest
from prometheus_client.parser import text_string_to_metric_families
from safetensors.numpy import load, save

import minigrad as mg
from benchmarks import serving as load_test
from minigrad.course.cli import main
from minigrad.engine.base.errors import SavedFileError
from minigrad.files.serving.app import app
from minigrad.files.serving.batcher import Batcher, BatchLimits, Metrics
from minigrad.files.serving.command import bind, run_server
from minigrad.files.serving.model import Refusal, in_slices, load_model, warm_up
from minigrad.files.serving.repository import Repository
from tests.support.in_a_thread import completed, in_a_thread
from tests.support.model_server import keep, saved, served, until
from tests.support.other_processes import output_of
from tests.support.root import ROOT
from tests.support.table import table

X = np.random.default_rng(0).normal(size=(3, 4)).astype("f4")
net = mg.nn.Sequential(mg.nn.Linear(4, 8), mg.nn.Tanh(), mg.nn.Linear(8, 2)).float()
Y = net(mg.tensor(X)).detach().numpy()
CLOSE = {"rtol": 1e-5, "atol": 1e-6}  # rows are multiplied together, in another order


def two(token, weight):
    """Two inputs and two outputs, of other dtypes."""
    table = mg.arange(5, dtype=mg.float32)
    return {"sum": table[token] + weight.sum(1), "flags": weight > 0}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    keep(folder / "net.mg", net, ((None, 4), mg.float32))
    keep(folder / "two.mg", two, ((None,), mg.int64), ((None, 2), mg.float32))
    keep(folder / "whole.mg", lambda x: x.sum(), ((None,), mg.float64))
    keep(folder / "yes.mg", lambda x: ~x, ((None,), mg.bool))
    keep(folder / "brief.mg", lambda x: x * 1, ((None,), mg.bfloat16))
    keep(folder / "whole64.mg", lambda x: x + 0, ((None,), np.uint64))
    mg.save(folder / "state.mg", net.state_dict())
    with served(folder, BatchLimits(body=1 << 16)) as client:
        yield client


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def tensor(name, datatype, x):
    return {"name": name, "shape": list(x.shape), "datatype": datatype, "data": x.reshape(-1).tolist()}


def long_npy(lengths, n):
    """npy of n numbers of float32 that claims these lengths."""
    said = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%b), }\n" % lengths
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(said)) + said + bytes(4 * n)


def check_refusal(answer, why, status=400):
    """The answer is an error of this status, and says why."""
    assert answer.status_code == status
    assert why in answer.json()["error"]


NPY, SAFETENSORS = ({"Content-Type": f"application/x-{name}"} for name in ("npy", "safetensors"))
PREDICT, INFER = "/v1/models/net:predict", "/v2/models/net/infer"

# -- what is answered -------------------------------------------------------------------------------


def test_every_way_to_ask_has_the_models_answer(client):
    rows = client.post(PREDICT, json={"instances": X.tolist()}).json()["predictions"]
    named = client.post(PREDICT, json={"instances": [{"input": row} for row in X.tolist()]}).json()["predictions"]
    columns = client.post("/v1/models/net/versions/1:predict", json={"inputs": X.tolist()}).json()["outputs"]
    v2 = client.post(INFER, json={"id": "7", "inputs": [tensor("input", "FP32", X)]}).json()
    binary = np.load(io.BytesIO(client.post(PREDICT, content=npy(np.asfortranarray(X)), headers=NPY).content))
    named_binary = load(client.post(INFER, content=save({"input": X}), headers=SAFETENSORS).content)
    in_json = client.post(PREDICT, content=npy(X), headers=NPY | {"Accept": "text/html, application/json"}).json()

    assert v2["outputs"][0].keys() == {"name", "shape", "datatype", "data"}
    assert [v2["id"], v2["model_name"], v2["model_version"], v2["outputs"][0]["shape"]] == ["7", "net", "1", [3, 2]]
    data = np.array(v2["outputs"][0]["data"]).reshape(3, 2)
    for found in (rows, named, columns, data, binary, named_binary["output"], in_json["outputs"]):
        np.testing.assert_allclose(found, Y, **CLOSE)


def test_several_inputs_and_outputs_have_names(client):
    token, weight = np.array([1, 4]), np.array([[1.0, -2.0], [0.5, 0.0]], "f4")
    wanted = [{"sum": 0.0, "flags": [True, False]},
              {"sum": 4.5, "flags": [True, False]}]  # fmt: skip
    inputs = {"token": token.tolist(), "weight": weight.tolist()}
    rows = [{"token": t, "weight": w} for t, w in zip(*inputs.values())]

    assert client.post("/v1/models/two:predict", json={"instances": rows}).json() == {"predictions": wanted}
    assert client.post("/v1/models/two:predict", json={"inputs": inputs}).json()["outputs"] == {
        name: [row[name] for row in wanted] for name in wanted[0]
    }
    asked = {"inputs": [tensor("weight", "FP32", weight), tensor("token", "INT64", token)]}
    one = {"outputs": [{"name": "sum"}]}
    assert client.post("/v2/models/two/infer", json=asked | one).json()["outputs"][0]["data"] == [0.0, 4.5]
    assert len(client.post("/v2/models/two/infer", json=asked).json()["outputs"]) == 2


def test_an_onnx_file_is_served_under_its_own_names_as_onnxruntime_runs_it(tmp_path):
    mg.onnx.export(net, (mg.tensor(X),), tmp_path / "net.onnx", ["picture"], ["scores"], {"picture": [0]})
    wanted = onnxruntime.InferenceSession(tmp_path / "net.onnx").run(None, {"picture": X})[0]

    model = load_model(tmp_path / "net.onnx")

    assert model.by_rows
    assert model.inputs["picture"].shape == (None, 4)
    np.testing.assert_allclose(model.run({"picture": X})["scores"], wanted, **CLOSE)
    (tmp_path / "net.onnx").write_bytes(b"no model")
    with pytest.raises(SavedFileError, match="no valid ONNX model"):
        load_model(tmp_path / "net.onnx")


def test_what_a_model_is_is_said_in_both_languages(client):
    v1 = client.get("/v1/models/net/metadata").json()
    v2 = client.get("/v2/models/two").json()

    signature = v1["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert v1["model_spec"] == {"name": "net", "signature_name": "", "version": "1"}
    assert signature["inputs"]["input"]["dtype"] == "DT_FLOAT"
    assert [n["size"] for n in signature["inputs"]["input"]["tensor_shape"]["dim"]] == ["-1", "4"]
    assert v2["inputs"][0] == {"name": "token", "datatype": "INT64", "shape": [-1]}
    assert [y["datatype"] for y in v2["outputs"]] == ["FP32", "BOOL"]
    assert client.get("/v2/models").json() == {"models": ["brief", "net", "two", "whole", "whole64", "yes"]}
    for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/net/ready", "/v2/models/net/versions/1/ready"):
        assert client.get(path).status_code == 200


def test_numbers_that_json_has_not_go_in_and_out(client):
    answer = client.post("/v1/models/whole:predict", content=b'{"inputs": [1, -Infinity, 2]}')

    assert answer.text == '{"outputs":-Infinity}'


def test_integers_of_64_bits_keep_every_digit(client):
    """Two of them, one beyond 2⁶³, once became floats, and were refused."""
    for x in ([9223372036854775809, 9007199254740993], [(1 << 64) - 1], [0]):
        assert client.post("/v1/models/whole64:predict", json={"inputs": x}).json() == {"outputs": x}
    answer = client.post("/v1/models/whole64:predict", json={"inputs": [1, 1 << 64]})
    assert "18446744073709551616 does not fit" in answer.json()["error"]


def test_the_table_of_paths_in_the_docs_is_that_of_the_server(tmp_path):
    table = (ROOT / "docs" / "serving.md").read_text("utf-8").partition("## Paths")[2].partition("Behind NAME")[0]
    routes = app(Repository(tmp_path, BatchLimits())).routes
    paths = {("POST" if "POST" in r.methods else "GET", r.path.replace("{name}", "NAME")) for r in routes}

    assert {*re.findall(r"`(GET|POST) (/[^`]*)`", table)} == {each for each in paths if "number" not in each[1]}


def behind(said, elements, length=None):
    """A request of JSON with elements behind it."""
    text = json.dumps(said).encode()
    return {"content": text + elements, "headers": {LENGTH: str(len(text) if length is None else length)}}


LENGTH = "Inference-Header-Content-Length"
TOKEN, WEIGHT = (
    {"name": "token", "shape": [2], "datatype": "INT64", "parameters": {"binary_data_size": 16}},
    {"name": "weight", "shape": [2, 2], "datatype": "FP32", "parameters": {"binary_data_size": 16}},
)
ELEMENTS = struct.pack("<2q", 1, 4), struct.pack("<4f", 1.0, -2.0, 0.5, 0.0)
BOTH = struct.pack("<2f", 0.0, 4.5), bytes([1, 0, 1, 0])  # sum, flags


def test_tensors_stand_behind_the_json_in_the_order_they_have_there(client):
    path = "/v2/models/two/infer"
    flat = {"name": "weight", "shape": [2, 2], "datatype": "FP32", "data": [1, -2, 0.5, 0]}
    all_bytes = {"parameters": {"binary_data_output": True}}
    asked = {"outputs": [{"name": "flags"}, {"name": "sum", "parameters": {"binary_data": False}}]}

    for inputs, elements in [
        ([TOKEN, WEIGHT], b"".join(ELEMENTS)),
        ([WEIGHT, TOKEN], b"".join(ELEMENTS[::-1])),
        ([TOKEN, flat], ELEMENTS[0]),
    ]:
        answer = client.post(path, **behind({"inputs": inputs} | all_bytes, elements))
        end = int(answer.headers[LENGTH])
        said = json.loads(answer.content[:end])["outputs"]
        assert answer.content[end:] == b"".join(BOTH)
        assert answer.headers["content-type"] == "application/octet-stream"
        assert [(y["name"], y["shape"], y["datatype"], y["parameters"]) for y in said] == [
            ("sum", [2], "FP32", {"binary_data_size": 8}),
            ("flags", [2, 2], "BOOL", {"binary_data_size": 4}),
        ]
        assert not [y for y in said if "data" in y]
    mixed = client.post(path, **behind({"inputs": [TOKEN, flat]} | all_bytes | asked, ELEMENTS[0]))
    end = int(mixed.headers[LENGTH])
    assert mixed.content[end:] == BOTH[1]
    assert json.loads(mixed.content[:end])["outputs"][1]["data"] == [0.0, 4.5]
    in_json = client.post(path, **behind({"inputs": [TOKEN, WEIGHT]}, b"".join(ELEMENTS)))
    assert in_json.json()["outputs"][0]["data"] == [0.0, 4.5]
    assert LENGTH not in in_json.headers
    assert client.get("/v2").json()["extensions"] == ["binary_tensor_data"]


LENGTHS = [
    (behind({"inputs": [TOKEN, WEIGHT]}, b"".join(ELEMENTS)[:-1]), "the JSON and its binary_data_size add up to "),
    (behind({"inputs": [TOKEN, WEIGHT]}, b"".join(ELEMENTS) + b"\0"), "the JSON and its binary_data_size add up to "),
    (behind({"inputs": [TOKEN]}, ELEMENTS[0], 9999), f"{LENGTH} must be the length of the JSON in "),
    (behind({"inputs": [TOKEN]}, ELEMENTS[0], "9" * 5000), f"{LENGTH} must be the length of the JSON in "),
    (behind({"inputs": [TOKEN]}, ELEMENTS[0], -1), f"{LENGTH} must be the length of the JSON in "),
    (behind({"inputs": [TOKEN]}, ELEMENTS[0], 20), "expected a JSON object"),
    (behind({"inputs": [TOKEN | {"shape": [3]}]}, ELEMENTS[0]), "token has shape [3], but its data has sha"),
    (behind({"inputs": [TOKEN | {"parameters": {"binary_data_size": 15}}]}, bytes(15)), "got 15 bytes"),
    (behind({"inputs": [TOKEN | {"parameters": {"binary_data_size": True}}]}, b"\0"), "must be of type int, got "),
    (behind({"inputs": [TOKEN | {"parameters": 7}]}, b""), "must be of type int, got 7"),
    (behind({"inputs": [TOKEN | {"parameters": {"binary_data_size": -1}}]}, b""), "an input needs name, s"),
    (behind({"inputs": [TOKEN | {"data": [1, 2]}]}, ELEMENTS[0]), "the JSON and its binary_data_size add up to "),
    (behind({"inputs": [3]}, b""), "an input needs name, shape, datatype and data"),
    (behind({"inputs": 3}, b""), "got no list of inputs"),
    ({"json": {"inputs": [TOKEN, WEIGHT]}}, "an input needs name, shape, datatype and data"),
    (behind({"inputs": [TOKEN, WEIGHT], "parameters": {"binary_data_output": 1}}, b"".join(ELEMENTS)), "of type bool"),
]


@pytest.mark.parametrize(("request_", "why"), LENGTHS)
def test_lengths_of_what_stands_behind_the_json_are_not_believed(client, request_, why):
    check_refusal(client.post("/v2/models/two/infer", **request_), why)


def test_a_byte_that_is_no_bool_is_refused(client):
    x = {"name": "x", "shape": [2], "datatype": "BOOL", "parameters": {"binary_data_size": 2}}

    answers = [client.post("/v2/models/yes/infer", **behind({"inputs": [x]}, bytes(pair))) for pair in ([0, 1], [0, 2])]

    assert [answer.status_code for answer in answers] == [200, 400]
    assert "is boolean but holds the byte 2" in answers[1].json()["error"]


# -- what is refused --------------------------------------------------------------------------------

ROW = [0.0] * 4
TWO = "/v1/models/two:predict"
REFUSED = [
    (PREDICT, {"instances": [[1, 2]]}, "float32 of shape [None, 4] (None: any length), got shape [1, 2]"),
    (PREDICT, {"instances": [ROW, [1]]}, "input must be float32, got lists of different lengths"),
    (PREDICT, {"instances": [["1"] * 4]}, "input must be float32, got strings"),
    (PREDICT, {"instances": [[True] * 4]}, "got true or false"),
    (PREDICT, {"instances": [[1, True, 2.5, 3]]}, "input must be float32, got true or false"),
    (PREDICT, {"instances": [[None, "1", 1, 1]]}, "input must be float32, got other values and strings"),
    (PREDICT, {"instances": [[10**400] * 4]}, "0000… does not fit"),
    ("/v1/models/brief:predict", {"inputs": [10**400]}, "x must be bfloat16, into which 1000"),
    (PREDICT, b'{"inputs": [[1, 2, 3, 4]], "inputs": [[5, 6, 7, 8]]}', "a name occurs twice among ['inputs']"),
    (PREDICT, b'{"instances": [{"input": [1, 2, 3, 4], "input": 1}]}', "a name occurs twice among ['input']"),
    (PREDICT, {"instances": [[1e300] * 4]}, "1e+300 does not fit"),
    (PREDICT, {"instances": []}, "with at least one row"), (PREDICT, {"instances": [ROW], "inputs": [ROW]}, "not both"),
    (PREDICT, {"instances": [{"x": ROW}]}, "expected the inputs ['input'], got ['x']"),
    (PREDICT, {"instances": [{"input": ROW}, ROW]}, "as the first one has"),
    (PREDICT, {"inputs": [ROW], "signature_name": "train"}, "only the signature serving_default, not train"),
    (PREDICT, [ROW], "expected a JSON object"), (PREDICT, b"\xff", "expected a JSON object"),
    (PREDICT, b"[" * 60_000, "expected a JSON object"),
    (PREDICT, b'{"inputs": ' + b"[" * 50 + b"1" + b"]" * 50 + b"}", "got shape [1, 1, 1, "),
    (PREDICT, b'{"inputs": ' + b"[" * 70 + b"1" + b"]" * 70 + b"}", "got lists of different lengths"),
    (INFER, {"inputs": [tensor("input", "FP32", X) | {"shape": [1] * 70 + [12]}]}, "has shape [1, 1, 1, "),
    (INFER, {"inputs": [tensor("input", "FP32", X[:0]) | {"shape": [0, 1 << 70]}]}, "has shape [0, 1180591620717411"),
    (INFER, {"inputs": [tensor("input", "FP32", X[:0]) | {"shape": [0, 1 << 62]}]}, "has shape [0, 46116860184273"),
    (PREDICT, {"inputs": []}, "got shape [0]"), (TWO, {"instances": [1]}, "name the inputs"),
    (TWO, {"inputs": {"token": [1.5], "weight": [[1, 2]]}}, "token must be int64, got numbers with a"),
    (TWO, {"inputs": {"token": [1, 2], "weight": [[1, 2]]}}, "got {'token': 2, 'weight': 1}"),
    (TWO, {"inputs": {"token": [], "weight": [[1, 2]]}}, "at least one; got {'token': 0, "),
    (TWO, {"inputs": {"token": [7], "weight": [[1, 2]]}}, "two refuses these values"),
    (TWO, {"inputs": {"token": [1 << 70], "weight": [[1, 2]]}}, "must be int64, into which 118059162071741130342"),
    (TWO, {"inputs": {"token": [1, True], "weight": [[1, 2]] * 2}}, "token must be int64, got true or f"),
    ("/v1/models/yes:predict", {"inputs": [1, 0]}, "x must be bool, got integers"),
    ("/v1/models/whole:predict", {"instances": [1.0]}, "not rows: send columns"), (INFER, {}, "got no list of inputs"),
    (INFER, {"inputs": [{"name": "input"}]}, "name, shape, datatype and data"),
    (INFER, {"inputs": [tensor("input", "FP64", X)]}, "input must be FP32, got FP64"),
    (INFER, {"inputs": [tensor("input", "FP32", X) | {"shape": [2, 4]}]}, "[2, 4], but its data has shape [12]"),
    (INFER, {"inputs": [tensor("input", "FP32", X) | {"data": X.T.tolist()}]}, "its data has shape [4, 3]"),
    (INFER, {"inputs": [tensor("input", "FP32", X) | {"shape": [True, 12]}]}, "has shape [True, 12], but"),
    (INFER, {"inputs": [tensor("input", "FP32", X)] * 2}, "occurs twice"),
    (INFER, {"inputs": [tensor("input", "FP32", X)], "outputs": [{"name": "z"}]}, "the outputs are ['output']"),
]  # fmt: skip


@table("path, body, why", REFUSED)
def test_what_does_not_fit_is_refused_with_the_reason(client, path, body, why):
    check_refusal(client.post(path, content=body if isinstance(body, bytes) else json.dumps(body)), why)


@pytest.mark.parametrize(("body", "kind", "why"), [
    (npy(X.astype("f8")), NPY, "got float64"), (npy(X)[:-1], NPY, "but 47 bytes follow"),
    (npy(np.array([{}])), NPY, "npy says object"), (npy(X).replace(b"(3, 4)", b"(3e9,)"), NPY, "expected an npy file"),
    (long_npy(b"1," * 70, 1), NPY, "this is no array of numbers"),
    (long_npy(b"0,%d" % (1 << 62), 0), NPY, "this is no array of numbers"),
    (npy(np.array([True]))[:-1] + b"\x02", NPY, "this is no array of numbers"),
    (long_npy(b"0,%d" % (1 << 70), 0), NPY, "this is no array of numbers"),
    (b"\x93NUMPY\x09\x00", NPY, "version 1 or 2"),
    (save({"x": X}), SAFETENSORS, "expected the inputs ['input'], got ['x']"),
    (save({"input": X})[:-1], SAFETENSORS, "its arrays take 48 bytes, and 47 are there"),
])  # fmt: skip
def test_what_is_binary_is_not_believed(client, body, kind, why):
    check_refusal(client.post(INFER, content=body, headers=kind), why)


def test_random_bytes_are_refused_and_never_an_error_of_the_server(client):
    rng = np.random.default_rng(0)
    for kind, good in [
        (NPY, npy(X)), (SAFETENSORS, save({"input": X})), ({}, json.dumps({"inputs": X.tolist()}).encode()),
        ({LENGTH: "120"}, json.dumps({"inputs": [WEIGHT]}).ljust(120).encode() + ELEMENTS[1]),
    ]:  # fmt: skip
        for _ in range(60):
            body = bytearray(good)
            for at in rng.integers(0, len(body), 3):
                body[at] = rng.integers(256)
            answer = client.post(
                INFER if LENGTH in kind else PREDICT,
                content=bytes(body[: rng.integers(len(body))] if at % 2 else body),
                headers=kind,
            )
            assert answer.status_code in (200, 400), (kind, bytes(body), answer.text)


def test_what_is_not_there_is_said(client):
    for path, why in [
        ("/v1/models/nett",
         "there is no model 'nett' here; there are ['brief', 'net', 'two', 'whole', 'whole64', 'yes']"),
        ("/v2/models/net/versions/2", "net has the versions 1, but no '2'"),
        ("/v2/models/net/versions/x/ready", "no 'x'"), ("/v1/models/net/versions/01", "no '01'"),
        (f"/v1/models/net/versions/{'9' * 5000}", "no '999"), (f"/v1/models/{'x' * 5000}", "there is no model 'xxx"),
        ("/v3", "Not Found"),
    ]:  # fmt: skip
        answer = client.get(path)
        check_refusal(answer, why, 404)
        assert len(answer.text) < 200
    assert client.get(INFER).status_code == 405
    state = client.get("/v1/models/state").json()["model_version_status"][0]
    assert state["state"] == "END"
    assert "holds values but no graph" in state["status"]["error_message"]


def test_a_body_that_is_too_long_is_refused_announced_or_not(client):
    long = b"x" * (1 << 17)

    for content in (long, iter([long[:1000]] * 200)):
        answer = client.post(PREDICT, content=content)
        check_refusal(answer, "at most 65536 bytes", 413)
    assert client.post(PREDICT, json={"instances": [ROW]}).status_code == 200


def slowly(seconds):
    """Reads a file to a model that takes its time."""

    def read(path):
        def run(arrays):
            time.sleep(seconds)
            return arrays

        return replace(load_model(path), run=run, by_rows=False)

    return read


def test_time_and_the_queue_have_limits(tmp_path):
    path = saved(tmp_path / "net.mg", 2.0)
    with served(path, BatchLimits(seconds=0.3, queue=2), slowly(0.5)) as client, ThreadPoolExecutor(5) as clients:
        asks = clients.map(lambda _: client.post(PREDICT, json={"instances": [[1, 2]]}), range(5))
        answers = sorted((each.status_code, each.json()["error"], each.headers.get("retry-after")) for each in asks)
        with socket.create_connection((client.base_url.host, client.base_url.port)) as slow:
            slow.sendall(b"POST /v2/models/net/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
            head = slow.recv(1000)

    assert {status for status, *_ in answers} == {503, 504}
    assert answers[0] == (503, "2 requests wait for net already: try again later", "1")
    assert answers[-1][1] == "0.3 s passed before net had answered"
    assert head.startswith(b"HTTP/1.1 408 ")


def ended(address, *pieces):
    """What a server says to a head that never ends, which is sent to it in pieces."""
    with socket.create_connection(address, timeout=60) as slow:
        for piece in pieces:
            slow.sendall(piece)
        return slow.recv(1000).partition(b"\r\n")[0]


def test_a_head_has_limits_as_a_body_has(tmp_path):
    """One that never ended was once held for ever, and for ever longer."""
    with served(saved(tmp_path / "net.mg", 2.0), BatchLimits(seconds=1.5)) as client:
        at = client.base_url.host, client.base_url.port
        begun = b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\nA: "

        assert ended(at) == ended(at, begun) == b"HTTP/1.1 408 Request Timeout"
        assert ended(at, begun, b"a" * (1 << 16)) == b"HTTP/1.1 431 Request Header Fields Too Large"
        with closing(HTTPConnection(*at, timeout=60)) as again:
            for _ in range(4):  # each in time, and all of them later than one may be
                time.sleep(0.5)
                again.request("GET", "/v2/health/live")
                assert again.getresponse().read() == b'{"live":true}'
            again.sock.sendall(begun)
            assert again.sock.recv(1000).startswith(b"HTTP/1.1 408 ")


def test_connections_are_refused_until_a_model_answers(tmp_path):
    """They were once taken while the model was loaded, and waited without a word."""
    refused = []

    def read(path):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(at.getsockname())
        refused.append(path)
        return load_model(path)

    def tell(_):
        socket.create_connection(at.getsockname()).close()
        raise KeyError("it is taken now")

    path = saved(tmp_path / "net.mg", 2.0)
    with bind("127.0.0.1", 0) as at, pytest.raises(KeyError, match="taken now"):
        completed(run_server(Repository(path, BatchLimits(), read), at, 1.0, tell))

    assert refused == [path]


# -- batches ----------------------------------------------------------------------------------------


def in_a_loop(model, limits, *requests):
    """The answers to requests that have come before the model runs, and the numbers of rows it was run on."""
    runs = []

    def run(arrays):
        runs.append(len(arrays["x"]))
        return model.run(arrays)

    async def all_of_them():
        batcher = Batcher(replace(model, run=run), limits, Metrics(), "net")
        answers = [batcher.submit(request) for request in requests]
        batcher.close()
        found = await asyncio.gather(*answers, return_exceptions=True)
        await batcher.task
        return found

    return completed(all_of_them()), runs


def test_requests_that_wait_run_together_and_each_has_its_own_answer(tmp_path):
    model = load_model(saved(tmp_path / "net.mg", 2.0))
    requests = [{"x": np.full((1 + i % 3, 2), i, "f4")} for i in range(9)]

    answers, runs = in_a_loop(model, BatchLimits(rows=8), *requests)

    assert model.by_rows
    assert runs == [8, 7, 3]  # of 1, 2, 3, 1, 2, 3, 1, 2, 3: 1 + 2 + 3 + 1 and a later 1; 2 + 3 + 2; the last 3
    for request, answer in zip(requests, answers):
        np.testing.assert_array_equal(answer["output"], 2 * request["x"])


def test_a_long_request_runs_in_slices_so_that_memory_has_a_limit(tmp_path):
    met = []

    def twice(arrays):
        met.append(len(arrays["x"]))
        return {"output": 2 * arrays["x"]}

    x = np.arange(5000.0).reshape(2500, 2).astype("f4")
    found = in_slices(twice, {"x": x})

    assert met == [1024, 1024, 512]  # of 452, filled up
    np.testing.assert_array_equal(found["output"], 2 * x)
    np.testing.assert_array_equal(load_model(saved(tmp_path / "net.mg", 2.0)).run({"x": x})["output"], 2 * x)


def test_what_a_batch_needs_is_compiled_before_the_first_request(tmp_path):
    """Of 24 rows at most, batches of 17 to 24 are filled up to 32."""
    met = []
    model = load_model(saved(tmp_path / "net.mg", 2.0))

    warm_up(replace(model, run=lambda arrays: met.append(len(arrays["x"]))), 24)

    assert met == [1, 2, 4, 8, 16, 32]


def test_an_index_that_is_none_is_refused_and_fails_nobody_else(tmp_path):
    """It was answered with the last row, and 200."""
    W = mg.tensor(np.arange(5.0))[:, None]
    keep(tmp_path / "net.mg", lambda i: mg.nn.functional.embedding(i, W), ((None, 3), mg.int64))
    with served(tmp_path, BatchLimits(rows=8, seconds=20)) as client:
        wrong, right = (client.post(PREDICT, json={"instances": [[0, 1, i]]}) for i in (-1, 2))

    assert (wrong.status_code, right.status_code) == (400, 200)
    assert "indices of embedding are 0 to 4, and got -1" in wrong.text
    assert right.json()["predictions"] == [[[0.0], [1.0], [2.0]]]


def test_requests_of_other_lengths_run_apart(tmp_path):
    model = load_model(keep(tmp_path / "net.mg", lambda x: x.sum(1), ((None, None), mg.float32)))

    answers, runs = in_a_loop(model, BatchLimits(), *[{"x": np.ones((1, 2 + i % 2), "f4")} for i in range(4)])

    assert runs == [2, 2]
    assert [answer["output"].tolist() for answer in answers] == [[2], [3], [2], [3]]


def test_a_request_that_fails_fails_none_of_those_beside_it(tmp_path):
    model = load_model(keep(tmp_path / "net.mg", lambda x: mg.arange(5)[x], ((None,), mg.int64)))

    answers, runs = in_a_loop(model, BatchLimits(), *({"x": np.array([i])} for i in (1, 9, 2)))

    assert runs == [3, 1, 1, 1]
    assert [answers[0]["output"], answers[2]["output"]] == [[1], [2]]
    assert isinstance(answers[1], Refusal)
    assert answers[1].status == 400


@pytest.mark.parametrize(("f", "apart"), [
    (lambda x: x.relu() @ mg.ones(2, 2).float(), True), (lambda x: x.softmax(1), True),
    (lambda x: x - x.mean(0), False), (lambda x: x.sum(0), False), (lambda x: x.flip(0), False),
    (mg.nn.BatchNorm1d(2).float(), False), (mg.nn.BatchNorm1d(2).float().eval(), True),
    (mg.nn.Sequential(mg.nn.Dropout(0.5)), False),
])  # fmt: skip
def test_only_rows_that_are_answered_apart_run_together(tmp_path, f, apart):
    """A batch norm in training would mix the rows of strangers."""
    assert load_model(keep(tmp_path / "f.mg", f, ((None, 2), mg.float32))).by_rows == apart


def test_hundreds_of_requests_at_once_are_answered_right(client):
    xs = np.random.default_rng(1).normal(size=(300, 1, 4)).astype("f4")
    wanted = [net(mg.tensor(x)).detach().numpy() for x in xs]

    with ThreadPoolExecutor(16) as clients:
        answers = [*clients.map(lambda x: client.post(PREDICT, content=npy(x), headers=NPY), xs)]

    for answer, y in zip(answers, wanted):
        np.testing.assert_allclose(np.load(io.BytesIO(answer.content)), y, **CLOSE)


def test_the_load_test_counts_wrong_answers(client):
    xs = np.random.default_rng(2).normal(size=(20, 4)).astype("f4")
    wanted = np.concatenate([net(mg.tensor(x[None])).detach().numpy() for x in xs])
    address = str(client.base_url.join("/v1/models/net"))

    found = completed(load_test.load(address, xs, wanted, clients=4, total=60))
    wanted[7] += 1e-3

    assert found["wrong"] == 0
    assert found["p50"] <= found["p95"] <= found["p99"]
    assert completed(load_test.load(address, xs, wanted, clients=4, total=60))["wrong"] == 3
    assert load_test.rows_in_a_batch(address) >= 1


# -- versions ---------------------------------------------------------------------------------------


def first(client, version=""):
    answer = client.post(f"/v1/models/net{version}:predict", json={"instances": [[1, 1]]})
    return answer.json()["predictions"][0][0] if answer.status_code == 200 else answer.status_code


def test_versions_come_go_and_are_replaced_while_requests_are_answered(tmp_path):
    root = tmp_path / "net"
    saved(root / "1" / "f.mg", 1.0)
    with served(root) as client, ThreadPoolExecutor(2) as clients, ExitStack() as leaving:
        seen, done = [], threading.Event()

        def ask():
            while not done.is_set():
                seen.append(first(client))

        asking = [clients.submit(ask) for _ in range(2)]
        leaving.callback(done.set)
        saved(root / "2" / "f.mg", 2.0)
        until(lambda: first(client) == 2)
        assert [first(client, "/versions/1"), first(client, "/versions/2")] == [1, 2]
        saved(root / "2" / "f.mg", 3.0)
        until(lambda: first(client) == 3)
        (root / "3").mkdir()
        (root / "3" / "f.mg").write_bytes((root / "2" / "f.mg").read_bytes()[:-1])
        until(lambda: len(client.get("/v1/models/net").json()["model_version_status"]) == 3)
        assert first(client) == 3
        assert client.get("/v1/models/net/versions/3").json()["model_version_status"][0]["state"] == "END"
        saved(root / "3" / "f.mg", 4.0)
        until(lambda: first(client) == 4)
        shutil.rmtree(root / "3")
        shutil.rmtree(root / "2")
        until(lambda: first(client) == 1)
        done.set()
        assert [each.result() for each in asking] == [None, None]

    assert {*seen} == {1, 2, 3, 4}  # and never an error


def told(client, path="/v1/models/net"):
    versions = client.get(path).json()["model_version_status"]
    return [(each["state"], each["status"]["error_message"]) for each in versions]


def test_two_files_for_one_version_are_told_and_the_plainer_one_answers(tmp_path, caplog):
    """net/02 once answered as version 2, in the place of net/2 and without a word."""
    root = tmp_path / "models"
    for folder, factor in (("02", 20.0), ("2", 2.0), ("002", 200.0), ("٢", 9.0)):
        saved(root / "net" / folder / "f.mg", factor)
    saved(root / "other.mg", 1.0)
    saved(root / "other.safetensors", 1.0)
    with served(root) as client:
        assert [first(client), first(client, "/versions/2")] == [2, 2]
        [(state, why)] = told(client)
        assert state == "AVAILABLE"
        assert why.split("; ") == [
            f"{root / 'net' / number / 'f.mg'} is not served: version 2 of net is {root / 'net' / '2' / 'f.mg'} already"
            for number in ("02", "002")
        ]
        assert "other.safetensors is not served: version 1 of other is" in told(client, "/v1/models/other")[0][1]
        (root / "net" / "2").rename(tmp_path / "2")  # at once, where a folder is emptied first
        until(lambda: first(client) == 20)
        (root / "net" / "002").rename(tmp_path / "002")  # at once, where a folder is emptied first
        until(lambda: told(client) == [("AVAILABLE", "")])

    assert sum("is not served" in each.getMessage() for each in caplog.records) == 3  # and not again every second


def test_a_file_that_was_replaced_by_junk_is_told_while_the_old_one_answers(tmp_path):
    path = saved(tmp_path / "net.mg", 2.0)
    with served(path) as client:
        path.write_bytes(b"junk")
        until(lambda: "is no whole safetensors file" in told(client)[0][1])
        assert (told(client)[0][0], first(client)) == ("AVAILABLE", 2)
        saved(path, 3.0)
        until(lambda: told(client) == [("AVAILABLE", "")])
        assert first(client) == 3


# -- the process ------------------------------------------------------------------------------------


def test_metrics_are_what_prometheus_reads_and_count_right(tmp_path):
    with served(saved(tmp_path / 'a"b\\.mg', 2.0)) as client:
        path = "/v1/models/a%22b%5C:predict"
        for body in ([[1, 2]], [[1, 2]], [[1, 2], [3, 4], [5, 6]], [[1]]):
            client.post(path, json={"instances": body})
        answer = client.get("/metrics")
    found = {
        (s.name, *sorted(s.labels.items())): s.value
        for family in text_string_to_metric_families(answer.text)
        for s in family.samples
    }

    model = ("model", 'a"b\\')
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert found["minigrad_requests_total", model, ("status", "200")] == 3
    assert found["minigrad_requests_total", model, ("status", "400")] == 1
    buckets = [found["minigrad_batch_rows_bucket", ("le", le), model] for le in ("1.0", "2.0", "4.0", "+Inf")]
    assert buckets == [2, 2, 3, 3]
    assert found["minigrad_batch_rows_sum", model] == 5
    assert found["minigrad_request_seconds_count", model] == 4


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGTERM that a process answers")
def test_a_process_that_is_ended_answers_what_it_was_asked_and_says_goodbye(tmp_path):
    keep(tmp_path / "net.mg", lambda x: x.sum(1), ((None, None), mg.float64))
    (tmp_path / "own.html").write_text("<p>a page of one's own", "utf-8")
    command = [sys.executable, "-m", "minigrad", "serve", str(tmp_path / "net.mg"), "--port", "0"]
    command += ["--page", str(tmp_path / "own.html")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        line = process.stdout.readline()
        address = httpx.URL(line.split()[-1])
        with socket.create_connection((address.host, address.port)) as asking:
            body = json.dumps({"inputs": np.eye(3).tolist()}).encode()
            head = f"POST {address.path}:predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
            asking.sendall(head.encode() + body[:10])
            until(lambda: httpx.get(address.join("/v2/health/live")).status_code == 200)
            page = httpx.get(address.join("/")).text
            process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            asking.sendall(body[10:])
            answer = b"".join(iter(lambda: asking.recv(1000), b""))
        _, errors = process.communicate(timeout=60)

    assert line.startswith("net, version 1: http://127.0.0.1:")
    assert answer.endswith(b'{"outputs":[1.0,1.0,1.0]}')
    assert page == "<p>a page of one's own"
    assert (process.returncode, errors) == (0, "")


def test_what_cannot_be_served_is_told_in_a_sentence(tmp_path, capsys, monkeypatch):
    (tmp_path / "empty").mkdir()
    mg.save(tmp_path / "state.mg", {"x": 1})
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        port = str(taken.getsockname()[1])
        for model, arguments, why in [
            ("nothing.mg", [], "nothing.mg"), ("empty", [], "has no model to serve: it contains no .mg"),
            ("state.mg", [], "holds values but no graph"), ("state.mg", ["--port", port], "in use"),
            ("state.mg", ["--page", str(tmp_path / "nothing.html")], "nothing.html"),
        ]:  # fmt: skip
            assert in_a_thread(main, ["serve", str(tmp_path / model), "--port", "0", *arguments]) == 1
            assert why in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "minigrad.files.serving.command", None)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "minigrad.files.serving.command")
    assert main(["serve", str(tmp_path)]) == 1
    assert "pip install 'minigrad-course[serve]'" in capsys.readouterr().err


def test_batches_are_made_for_who_asks_for_them_alone(monkeypatch):
    """Noise does not see every model that mixes rows: one that looks at the largest number of its batch does."""
    asked = []
    monkeypatch.setattr(
        "minigrad.files.serving.command.serve", lambda model, host, port, limits, *_: asked.append(limits)
    )
    main(["serve", "net.mg"])
    main(["serve", "net.mg", "--max-batch", "32"])
    assert [limits.rows for limits in asked] == [1, 32]


def test_who_serves_nothing_loads_no_server():
    program = "import sys, minigrad as mg; mg.save, mg.nn.Linear; import minigrad.course.cli; print([*sys.modules])"
    loaded = output_of(program)

    of_serving = "starlette", "uvicorn", "httptools", "minigrad.files.serving"
    assert not [name for name in of_serving if f"'{name}'" in loaded]
