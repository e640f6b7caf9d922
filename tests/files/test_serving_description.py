"""/openapi.json describes what is served, and the server answers as it says: so judges schemathesis."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

import minigrad as mg
from minigrad.files.serving.app import app
from minigrad.files.serving.batcher import BatchLimits
from minigrad.files.serving.description import ANSWERS, paths
from minigrad.files.serving.repository import Repository
from tests.support.model_server import keep, served, until

SETTINGS = """
[checks.positive_data_acceptance]
expected-statuses = [200, 400, 404]  # a schema cannot say that as many numbers come as a shape has
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    net = mg.nn.Sequential(mg.nn.Linear(4, 8), mg.nn.Tanh(), mg.nn.Linear(8, 2)).float()
    keep(folder / "net.mg", net, ((None, 4), mg.float32))
    keep(folder / "two.mg", two, ((None,), mg.int64), ((None, 2), mg.bfloat16))
    keep(folder / "yes.mg", lambda x: ~x, ((3,), mg.bool))
    keep(folder / "zero.mg", lambda x: x * 2, ((), mg.float64))
    with served(folder) as client:
        yield client


def two(token, weight):
    """Two inputs and two outputs."""
    return {"sum": token + weight.sum(1).long(), "flags": weight > 0}


def test_every_path_is_described_from_the_table_that_serves_it(client, tmp_path):
    document = client.get("/openapi.json").json()
    routes = app(Repository(tmp_path, BatchLimits())).routes
    found = {(method, path) for path, methods in document["paths"].items() for method in methods}

    pages = {"/", "/openapi.json", "/docs", "/docs/{file}"}
    assert found == {("post" if "POST" in r.methods else "get", r.path) for r in routes if r.path not in pages}
    assert document["openapi"].startswith("3.0.")
    assert {each for _, each in paths() if callable(each)} == {*ANSWERS}
    for methods in document["paths"].values():
        for operation in methods.values():
            assert operation["summary"].endswith(".")


def test_the_example_of_each_model_is_answered(client):
    document = client.get("/openapi.json").json()
    for path in ("/v1/models/{name}:predict", "/v2/models/{name}/infer"):
        examples = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["examples"]
        assert [*examples] == ["net", "two", "yes", "zero"]
        for name, example in examples.items():
            assert client.post(path.format(name=name), json=example["value"]).status_code == 200


def test_the_example_of_each_path_is_answered(client):
    """On the page, "Try it out" asked for a name, and had none to offer."""
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        examples = {each["name"]: each["example"] for each in methods.get("get", {}).get("parameters", ())}
        if "get" in methods:
            assert client.get(path.format(**examples)).status_code == 200


def test_a_model_of_large_inputs_has_no_example_and_of_several_versions_the_highest_has_one(tmp_path):
    """Four examples of an image of 224 x 224 were made at each look, and no other request was answered meanwhile."""
    keep(tmp_path / "image.mg", lambda x: x.sum(), ((None, 3, 224, 224), mg.float32))
    keep(tmp_path / "net" / "10" / "f.mg", lambda x: x * 2, ((None, 3), mg.float32))
    with served(tmp_path) as client:
        keep(tmp_path / "net" / "9" / "f.mg", lambda x: x * 2, ((None, 2), mg.float32))
        until(lambda: client.get("/v2/models/net/versions/9/ready").status_code == 200)
        document = client.get("/openapi.json").json()

    body = document["paths"]["/v2/models/{name}/infer"]["post"]["requestBody"]
    examples = body["content"]["application/json"]["examples"]
    assert [*examples] == ["net"]
    assert examples["net"]["value"]["inputs"][0]["shape"] == [1, 3]


def test_the_page_asks_for_nothing_but_its_own_files(client):
    pytest.importorskip("swagger_ui_bundle", reason="Swagger UI's files are in the extra `serve`")
    page = client.get("/docs")
    assert (page.status_code, "http" in page.text) == (200, False)
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for name, kind in [
        ("swagger-ui.css", "text/css"), ("swagger-ui-bundle.js", "javascript"), ("start.js", "javascript"),
    ]:  # fmt: skip
        answer = client.get(f"/docs/{name}")
        assert (answer.status_code, kind in answer.headers["content-type"]) == (200, True)
    for name in ("..%2F__init__.py", "index.html", "x" * 5000):
        assert client.get(f"/docs/{name}").status_code == 404


def test_without_the_files_of_swagger_ui_the_page_says_what_to_install(client, monkeypatch):
    monkeypatch.setitem(sys.modules, "swagger_ui_bundle", None)
    answer = client.get("/docs")
    assert (answer.status_code, "pip install 'minigrad-course[serve]'" in answer.json()["error"]) == (404, True)


def test_what_is_said_to_be_a_text_is_held_to_it(client):
    """A number as `id` was once given back."""
    x = {"name": "x", "shape": [3], "datatype": "BOOL", "data": [True, False, True]}
    for more in ({"id": 7}, {"id": None}, {"outputs": 0}, {"outputs": None}, {"parameters": [1]}):
        answer = client.post("/v2/models/yes/infer", json={"inputs": [x]} | more)
        assert (answer.status_code, f"{next(iter(more))} must be of type" in answer.text) == (400, True)


def test_instances_that_are_no_list_are_refused(client):
    """They were counted before they were looked at, and the answer was 500."""
    for body in ({"instances": None}, {"instances": 3}, {"instances": None, "inputs": [[1, 2, 3, 4]]}):
        answer = client.post("/v1/models/net:predict", json=body)
        assert (answer.status_code, "instances" in answer.json()["error"]) == (400, True)


@pytest.mark.skipif(find_spec("schemathesis") is None, reason="schemathesis is in the extra `test`")
@pytest.mark.parametrize("phases", [
    ["--phases", "examples,fuzzing", "-n", "3"],
    pytest.param(["--phases", "examples,coverage"], marks=pytest.mark.share(12)),
    pytest.param(["--phases", "examples,coverage,fuzzing,stateful", "-n", "100"], marks=pytest.mark.night),
])  # fmt: skip
def test_schemathesis_finds_no_failure(client, tmp_path, phases):
    """With the names of models that are there; without them nearly every request would be a 404."""
    document = client.get("/openapi.json").json()
    for methods in document["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    there = ["net", "two", "yes", "zero"] if parameter["name"] == "name" else ["1"]
                    parameter["schema"] = {"type": "string", "enum": there}
    (tmp_path / "openapi.json").write_text(json.dumps(document), "utf-8")
    (tmp_path / "schemathesis.toml").write_text(SETTINGS, "utf-8")
    url = str(client.base_url)
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(tmp_path / "schemathesis.toml")]
    command += ["run", str(tmp_path / "openapi.json"), "--url", url, *phases]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=280, cwd=tmp_path, check=False)

    assert ended.returncode == 0, ended.stdout[-8000:] + ended.stderr[-2000:]
    assert "Tested: 17" in ended.stdout
