"""A server keeps to its limits, whatever clients do: memory, heads, silence, names, and how it ends."""

import gzip
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from select import select

import httpx
import pytest

import minigrad as mg
from minigrad.course.cli import main
from minigrad.files.serving.app import app
from minigrad.files.serving.batcher import UNCOUNTED, BatchLimits, Budget
from minigrad.files.serving.connection import host_names
from minigrad.files.serving.model import Refusal, load_model
from minigrad.files.serving.repository import Repository
from tests.support.in_a_thread import completed
from tests.support.model_server import connected, everything, keep, saved, served, until
from tests.support.root import ROOT
from tests.support.table import table

PREDICT = "/v1/models/net:predict"
BODY = json.dumps({"instances": [[1, 2]]}).encode()
MB = 1 << 20


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with served(saved(tmp_path_factory.mktemp("models") / "net.mg", 2.0), BatchLimits(body=MB)) as client:
        yield client


def request(path=PREDICT, body=BODY, method="POST", version="HTTP/1.1", **headers):
    """A request as bytes. A header of None is left out."""
    named = {"Host": "localhost", "Content-Length": len(body)} | {k.replace("_", "-"): v for k, v in headers.items()}
    lines = [f"{name}: {value}" for name, value in named.items() if value is not None]
    return "\r\n".join([f"{method} {path} {version}", *lines, "", ""]).encode("latin-1") + body


def answers(client, *pieces):
    """All that the server says on a connection to pieces that are sent one after another."""
    with connected(client) as connection:
        for piece in pieces:
            connection.sendall(piece)
        return everything(connection)


def statuses(said):
    return [int(status) for status in re.findall(rb"HTTP/1.1 (\d\d\d) ", said)]


# -- memory -----------------------------------------------------------------------------------------


def test_bodies_that_never_end_share_one_budget_and_short_requests_are_answered_beside_them(tmp_path):
    """40 clients that never finished once held 614 MB."""
    limits = BatchLimits(memory=4 * MB, body=MB, seconds=20)
    with served(saved(tmp_path / "net.mg", 2.0), limits) as client, ExitStack() as opened:
        ends = [opened.enter_context(connected(client)) for _ in range(12)]
        for end in ends:
            end.sendall(request(body=b"x" * (MB - 1), Content_Length=MB))
        until(lambda: len(select(ends, [], [], 0.1)[0]) == 8)
        refused = [end in select(ends, [], [], 0)[0] and statuses(end.recv(1000)) for end in ends]
        answer = client.post(PREDICT, content=BODY)
        long = client.post(PREDICT, content=b"x" * MB)

    assert (refused.count(False), refused.count([503])) == (4, 8)
    assert answer.json() == {"predictions": [[2.0, 4.0]]}
    assert (long.status_code, long.headers["retry-after"]) == (503, "1")
    assert "fill the budget of 4194304 bytes: try again later" in long.json()["error"]


def test_a_budget_counts_what_is_held_and_gives_it_back():
    budget = Budget(10 * UNCOUNTED)
    with budget.share() as first:
        first(50 * UNCOUNTED)  # alone, one may hold more
        with budget.share() as second:
            second(UNCOUNTED)
            with pytest.raises(Refusal, match="try again later"):
                second(2 * UNCOUNTED)
        first(6 * UNCOUNTED)
        with budget.share() as second:
            second(6 * UNCOUNTED)
            assert budget.left == 0
            second(2 * UNCOUNTED)
            assert budget.left == 4 * UNCOUNTED

    assert budget.left == budget.most


def test_what_a_slow_client_does_not_read_is_counted_and_has_an_end(tmp_path):
    """Answers that nobody read were once kept as long as the connection was."""
    path = keep(tmp_path / "net.mg", lambda x: x.reshape(-1, 1) * mg.ones(1, 1 << 17), ((None,), mg.float64))
    rows, npy = json.dumps({"inputs": [0.125] * 16}).encode(), {"Accept": "application/x-npy"}
    with served(path, BatchLimits(memory=24 * MB, seconds=1.5)) as client, socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect((client.base_url.host, client.base_url.port))
        slow.sendall(request(body=rows, **npy))
        until(lambda: client.post(PREDICT, content=rows, headers=npy).status_code == 503)
        until(lambda: client.post(PREDICT, content=rows, headers=npy).status_code == 200)
        with suppress(ConnectionResetError):
            assert len(everything(slow)) < 16 * MB


def test_connections_and_what_waits_on_one_have_limits(tmp_path):
    with served(saved(tmp_path / "net.mg", 2.0), BatchLimits(connections=3)) as client, ExitStack() as opened:
        live = request("/v2/health/live", b"", "GET")
        for _ in range(3):
            opened.enter_context(connected(client)).sendall(live)
        until(lambda: statuses(answers(client)) == [503])

    done = threading.Event()
    with served(saved(tmp_path / "net.mg", 2.0), read=waiting(done)) as client, connected(client) as many:
        many.sendall(request() * 200)
        done.set()
        said = statuses(everything(many))
    assert said == [200] * 17  # one that ran, and 16 that waited


def waiting(done):
    """Reads a file to a model that answers once `done` is set."""

    def read(path):
        def run(arrays):
            done.wait(60)
            return {"output": arrays["x"] * 2}

        return replace(load_model(path), run=run, by_rows=False)

    return read


# -- the event loop ---------------------------------------------------------------------------------


@pytest.mark.share(4)
def test_health_is_answered_while_long_bodies_are_parsed(tmp_path):
    """Four of 15 MB once stopped every other request for 12 s, and let at most a few through between them."""
    path = keep(tmp_path / "net.mg", lambda x: x.sum(0), ((None,), mg.float64))
    long = json.dumps({"inputs": [0.12345678901234567] * 750_000}).encode()
    with served(path, BatchLimits(seconds=120)) as client, ThreadPoolExecutor(4) as clients:
        asked = [clients.submit(client.post, PREDICT, content=long) for _ in range(4)]
        alive = 0
        while not all(each.done() for each in asked):
            alive += client.get("/v2/health/live").status_code == 200

    assert [each.result().status_code for each in asked] == [200] * 4
    assert alive > 200


@table("length, apart", [(100, False), (20_000, True)])
def test_long_json_is_parsed_and_written_in_another_process(client, monkeypatch, length, apart):
    ran = []

    async def noting(function, *arguments, **_):
        ran.append(arguments[0].__name__)
        return function(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr("minigrad.files.serving.encodings.to_process.run_sync", noting)
        patched.setattr("signal.signal", lambda *_: None)
        answer = client.post(PREDICT, json={"instances": [[1.5, 2.5]] * length})

    assert answer.json()["predictions"] == [[3.0, 5.0]] * length
    assert ran == (["read_json", "write_json"] if apart else [])


def test_what_is_wrong_in_a_long_body_is_said_as_in_a_short_one(client):
    """Also by the process that parses it, which has the model's names and shapes and no model."""
    row = [1.0, 2.0]
    for body, why in [
        ({"instances": [row] * 20_000 + [[1.0]]}, "got lists of different lengths"),
        ({"instances": [row] * 20_000, "inputs": 1}, "not both"),
        ({"inputs": [row] * 20_000, "signature_name": "train"}, "only the signature"),
    ]:
        answer = client.post(PREDICT, json=body)
        assert (answer.status_code, why in answer.json()["error"]) == (400, True)
    x = {"name": "x", "shape": [20_000, 2], "datatype": "FP32", "data": row * 20_000}
    found = client.post("/v2/models/net/infer", json={"id": "7", "inputs": [x]}).json()
    assert (found["id"], found["outputs"][0]["data"]) == ("7", [2.0, 4.0] * 20_000)


def abort(*_):
    os.abort()


def test_a_worker_that_dies_fails_one_request(client, monkeypatch):
    body = {"instances": [[1.0, 2.0]] * 20_000}
    with monkeypatch.context() as patched:
        patched.setattr("minigrad.files.serving.app.read_json", abort)
        failed = client.post(PREDICT, json=body)
    again = client.post(PREDICT, json=body)

    assert (failed.status_code, "the process that reads and writes long JSON" in failed.text) == (500, True)
    assert again.status_code == 200


def test_a_body_that_is_packed_is_refused_by_name(client):
    for headers, status in [({"Content-Encoding": "gzip"}, 415), ({"Content-Encoding": "br, identity"}, 415)]:
        answer = client.post(PREDICT, content=gzip.compress(BODY), headers=headers)
        assert (answer.status_code, answer.headers["accept-encoding"]) == (status, "identity")
        assert f"content-encoding {headers['Content-Encoding']} is not supported" in answer.json()["error"]
    assert client.post(PREDICT, content=BODY, headers={"Content-Encoding": "identity"}).status_code == 200
    packed = request(body=b"5\r\nabcde\r\n0\r\n\r\n", Content_Length=None, Transfer_Encoding="gzip, chunked")
    assert statuses(answers(client, packed)) == [501]


# -- names ------------------------------------------------------------------------------------------


@table("host, status", [
    ("localhost", 200), ("LOCALHOST:8501", 200), ("127.0.0.1:80", 200), ("[::1]:8501", 200), ("localhost.", 200),
    ("evil.example", 400), ("evil.example:8501", 400), ("localhost.evil.example", 400), ("127.0.0.1.evil.example", 400),
    ("10.0.0.1", 400), ("", 400), ("localhost@evil.example", 400), ("evil.example#localhost", 400), ("[::2]", 400),
    ("localhost:80:80", 400), ("localhost evil.example", 400), ("localhost/evil", 400), (None, 400),
    ("localhost\r\nHost: evil.example", 400), ("localhost\r\nHost: localhost", 400), ("0.0.0.0", 400),
])  # fmt: skip
def test_only_who_calls_the_server_by_its_name_is_answered(client, host, status):
    """A page that has had its name made to mean this machine (DNS rebinding) could once ask any model."""
    for path, body, method in [(PREDICT, BODY, "POST"), ("/v1/models/net", b"", "GET"), ("/", b"", "GET")]:
        [found] = statuses(answers(client, request(path, body, method, Host=host, Connection="close")))
        assert found == status


@table("name, more, host, allowed", [
    ("192.168.1.5", (), "192.168.1.5", True), ("192.168.1.5", (), "192.168.1.6", False),
    ("0.0.0.0", (), "192.168.1.6", True), ("0.0.0.0", (), "evil.example", False), ("::", (), "fe80::1", True),
    ("0.0.0.0", ("Models.Example",), "models.example", True), ("127.0.0.1", ("*",), "evil.example", True),
])  # fmt: skip
def test_a_server_has_the_names_of_its_host_and_those_that_are_given(tmp_path, name, more, host, allowed):
    repository = Repository(saved(tmp_path / "net.mg", 2.0), BatchLimits())
    asked = completed(ask(app(repository, hosts=host_names(name, more)), host))
    assert asked == (200 if allowed else 400)


async def ask(application, host):
    """The status of an answer under a name, without a socket."""
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        named = f"[{host}]" if ":" in host else host
        return (await client.get("/v2/health/live", headers={"Host": named})).status_code


def test_allow_host_gives_names(monkeypatch):
    seen = []
    monkeypatch.setattr("minigrad.files.serving.command.serve", lambda *given: seen.append(given))
    main(["serve", "net.mg", "--allow-host", "a.example", "--allow-host", "b.example", "--max-memory", "2"])
    assert (seen[0][-1], seen[0][3].memory) == (["a.example", "b.example"], 2 * MB)


def test_no_answer_redirects(client):
    """One to `//localhost/v2/models/net` named the Host of the request."""
    for path in ("/v2/models/net/", "/v1/models/net/metadata/", "/metrics/", "//evil.example/", "/v2/", "/docs/x/"):
        said = answers(client, request(path, b"", "GET", Host="localhost", Connection="close"))
        assert (statuses(said), b"location" in said) == ([404], False)


def test_get_of_a_path_that_takes_post_says_so(client):
    """It once said that there was no model `net:predict`."""
    for path, example in [(PREDICT, "instances"), ("/v1/models/net/versions/1:predict", "instances"),
                          ("/v2/models/net/infer", "datatype")]:  # fmt: skip
        for method in ("GET", "PUT", "DELETE", "HEAD"):
            answer = client.request(method, path)
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
            if method != "HEAD":
                assert f"{method} {path}: it takes POST, with a body such as {{" in answer.json()["error"]
                assert example in answer.json()["error"]
    answer = client.post("/v1/models/net")
    assert re.fullmatch("POST /v1/models/net: it takes (GET, HEAD|HEAD, GET). docs.*", answer.json()["error"])


# -- the models' folder -----------------------------------------------------------------------------


def test_what_cannot_be_read_in_the_folder_stops_only_itself(tmp_path, monkeypatch):
    """One link to nothing once kept every model from being loaded; a pipe held the server at its beginning."""
    saved(tmp_path / "net.mg", 2.0)
    saved(tmp_path / "shut" / "1" / "f.mg", 3.0)
    (tmp_path / "gone.mg").symlink_to(tmp_path / "nowhere.mg")
    (tmp_path / "round.mg").symlink_to("round.mg")
    (tmp_path / "lost").symlink_to(tmp_path / "nowhere")
    (tmp_path / "deep" / "1").mkdir(parents=True)
    (tmp_path / "deep" / "1" / "f.mg").symlink_to("nowhere.mg")
    (tmp_path / "folder.mg").mkdir()
    os.mkfifo(tmp_path / "pipe.mg")
    name = os.fsdecode(b"caf\xe9.mg")
    saved(tmp_path / name, 5.0)
    with served(tmp_path) as client:
        assert client.get("/v2/models").json() == {"models": ["caf\\xe9", "net", "shut"]}
        for model, why in [("gone", "No such file"), ("round", "ymbolic link"), ("deep", "No such file"),
                           ("pipe", "is no file")]:  # fmt: skip
            [state] = client.get(f"/v1/models/{model}").json()["model_version_status"]
            assert (state["state"], why in state["status"]["error_message"]) == ("END", True)
        assert client.post("/v1/models/caf%5Cxe9:predict", content=BODY).json() == {"predictions": [[5.0, 10.0]]}
        assert client.get("/metrics").status_code == 200
        (tmp_path / "gone.mg").unlink()
        saved(tmp_path / "gone.mg", 7.0)
        until(lambda: client.get("/v2/models/gone/ready").status_code == 200)

        def refuse(folder, real=Path.iterdir):
            if folder.name == "shut":
                raise PermissionError(folder)
            return real(folder)

        monkeypatch.setattr(Path, "iterdir", refuse)
        saved(tmp_path / "new.mg", 9.0)
        until(lambda: client.get("/v2/models/new/ready").status_code == 200)
        assert client.get("/v2/models/shut/ready").status_code == 200  # what answers goes on


# -- numbers, heads, and what is not HTTP/1.1 ---------------------------------------------------------


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16"])
def test_a_number_beyond_all_floats_is_refused_and_infinity_is_not(tmp_path, name):
    """1e400 was once read as Infinity, without a word."""
    path = keep(tmp_path / "net.mg", lambda x: x * 1, ((None,), getattr(mg, name)))
    with served(path) as client:
        for number in ("1e400", "-1e400", "1e309", "1" * 400, "1" * 400 + ".0", "0.1e999999999", "1E+400"):
            x = f'{{"name": "x", "shape": [1], "datatype": "{NAMES[name]}", "data": [{number}]}}'
            for asked, body in [
                (PREDICT, f'{{"inputs": [{number}]}}'),
                ("/v2/models/net/infer", f'{{"inputs": [{x}]}}'),
            ]:
                answer = client.post(asked, content=body)
                assert (answer.status_code, "does not fit" in answer.text) == (400, True), number
        answer = client.post(PREDICT, content=b'{"inputs": [Infinity, -Infinity, 1e-400, 0.5]}')
        assert answer.text == '{"outputs":[Infinity,-Infinity,0.0,0.5]}'


NAMES = {"float64": "FP64", "float32": "FP32", "float16": "FP16", "bfloat16": "BF16"}


@table("raw, status, said", [
    (request(A="a" * 70_000), 431, "at most 65536 bytes and 100 headers"),
    (request("/v1/" + "a" * 70_000), 431, "at most 65536"),
    (request("/v1/models/net?" + "a" * 70_000, b"", "GET"), 431, "at most 65536"),
    (request(**{f"A{i}": "b" for i in range(99)}), 431, "100 headers"),
    (request(Content_Length=None, Transfer_Encoding="chunked", body=b"0\r\n" + b"a: b\r\n" * 200), 431, "100 headers"),
    (request(version="HTTP/2.0"), 505, "this server speaks HTTP/1.1, not HTTP/2.0"),
    (request(version="HTTP/0.9"), 505, "not HTTP/0.9"),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0", 505, "HTTP/2"),
    (request(version="HTTP/3.0"), 400, "no valid HTTP/1.1 request"),
    (request(Connection="Upgrade", Upgrade="h2c"), 501, "leave out Upgrade"),
    (request("localhost:80", b"", "CONNECT"), 501, "CONNECT"),
    (b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + b"\0" * 200, 400, "no valid HTTP/1.1 request"),
    (request(Content_Length="9" * 30), 400, "no valid HTTP/1.1 request"),
    (request(Content_Length=-1), 400, "no valid HTTP/1.1 request"),
    (request(Transfer_Encoding="chunked"), 400, "no valid HTTP/1.1 request"),
    (request(Content_Length=None, Transfer_Encoding="chunked", body=b"zz\r\n"), 400, "no valid HTTP/1.1 request"),
    (request(method="GE T"), 400, "no valid HTTP/1.1 request"),
])  # fmt: skip
def test_what_is_not_a_request_of_this_server_is_answered_by_name(client, raw, status, said):
    """A head that came whole in one piece could once be of any length; HTTP/2.0 was answered as HTTP/1.1."""
    answer = answers(client, raw)
    assert (statuses(answer), said in answer.decode()) == ([status], True)
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


def test_a_get_that_would_like_http_2_is_answered_in_http_1(client):
    """As `curl --http2` sends it. No line of the log is made by it."""
    headers = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2_Settings": "A"}
    asked = request("/v2/health/live", b"", "GET", **headers)
    assert statuses(answers(client, asked)) == [200]


def test_what_was_asked_before_is_answered_when_something_wrong_follows(client):
    for wrong, more in [(b"\0\0\0\r\n\r\n", []), (request(A="a" * 70_000), []), (request(version="HTTP/2.0"), [])]:
        assert statuses(answers(client, request() * 3 + wrong)) == [200, 200, 200, *more]


@table("head", [{"Content_Length": 1 << 40}, {"Content_Length": None, "Transfer_Encoding": "chunked"}])
def test_who_sends_too_much_reads_why(client, head):
    """urllib once had a reset, for the server closed with bytes unread."""
    chunk = b"10000\r\n" + b"x" * (1 << 16) + b"\r\n"
    with connected(client) as connection:
        connection.sendall(request(body=b"", **head))
        for _ in range(100):
            connection.sendall(chunk)
        said = everything(connection)
    assert statuses(said) == [413]
    assert b"connection: close" in said.lower()


def test_urllib_reads_why_its_body_is_refused(client):
    for path, body, status in [
        (PREDICT, bytes(20 * MB), 413), ("/nowhere", bytes(20 * MB), 404), ("/", bytes(MB), 405),
    ]:  # fmt: skip
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(str(client.base_url.join(path)), body, timeout=60)
        assert (raised.value.code, "error" in json.load(raised.value)) == (status, True)


def test_who_asks_first_sends_no_body_that_is_too_long(client):
    """`Expect: 100-continue` was once answered with 100, and then with 413."""
    assert statuses(answers(client, request(body=b"", Content_Length=2 * MB, Expect="100-continue"))) == [413]
    with connected(client) as connection:
        connection.sendall(request(Expect="100-continue", Connection="close")[: -len(BODY)])
        assert connection.recv(1000).startswith(b"HTTP/1.1 100 ")
        connection.sendall(BODY)
        assert statuses(everything(connection)) == [200]


def test_a_connection_that_trickles_has_an_end(tmp_path):
    """An empty line behind an answer once stopped every clock, as did what came behind an early answer."""
    with served(saved(tmp_path / "net.mg", 2.0), BatchLimits(seconds=0.5)) as client:
        live = request("/v2/health/live", b"", "GET")
        with connected(client) as silent:
            silent.sendall(live)
            assert statuses(silent.recv(1000)) == [200]
            silent.sendall(b"\r\n")
            assert statuses(everything(silent)) == [408]
        assert statuses(answers(client, request("/v2/health/live", b"x", "GET", Content_Length=100))) == [200]
        chunks = request("/nowhere", b"1\r\nx\r\n", Content_Length=None, Transfer_Encoding="chunked")
        assert statuses(answers(client, chunks)) == [404]


# -- the end ----------------------------------------------------------------------------------------


def test_every_request_whose_head_was_read_is_answered_when_the_server_ends(tmp_path):
    done, seen = threading.Event(), []
    with served(saved(tmp_path / "net.mg", 2.0), read=waiting(done)) as client, ExitStack() as opened:
        cases = {
            "waits for the model": (request(), b""), "three at once": (request() * 3, b""),
            "half a body": (request()[:-5], BODY[-5:]), "half a head": (request()[:20], request()[20:]),
            "behind one that waits": (request(), request() * 2),
            "silent": (request("/v2/health/live", b"", "GET"), b""),
        }  # fmt: skip
        ends = {name: opened.enter_context(connected(client)) for name in cases}
        for name, (begun, _) in cases.items():
            ends[name].sendall(begun)
        until(
            lambda: client.server.server_state.total_requests >= 1 and len(client.server.server_state.connections) == 6
        )
        time.sleep(0.2)
        client.server.should_exit = True
        until(lambda: not client.server.servers[0].is_serving())
        time.sleep(0.05)
        for name, (_, rest) in cases.items():
            ends[name].sendall(rest)
        done.set()
        seen = {name: statuses(everything(end)) for name, end in ends.items()}

    assert seen == {name: [200] * (3 if name in ("three at once", "behind one that waits") else 1) for name in cases}
    with pytest.raises(ConnectionRefusedError):
        connected(client)


def test_under_load_no_request_is_lost_when_the_server_ends(tmp_path):
    """Of 2,800 requests 1 or 2 had a reset. Every client ends with an answer that says so, or is not let in."""
    lost, answered, at = [], [], []

    def ask(client):
        while True:
            try:
                with closing(HTTPConnection(*at, timeout=60)) as connection:
                    connection.connect()
                    while True:
                        connection.request("POST", PREDICT, BODY)
                        answer = connection.getresponse()
                        answered.append(answer.status)
                        answer.read()
                        if answer.will_close:
                            return
            except ConnectionRefusedError:
                return
            except OSError as error:
                lost.append(error)

    with served(saved(tmp_path / "net.mg", 2.0)) as client, ThreadPoolExecutor(16) as clients:
        at += [client.base_url.host, client.base_url.port]
        asking = [clients.submit(ask, client) for _ in range(16)]
        until(lambda: len(answered) > 400)
        client.server.should_exit = True
        [each.result() for each in asking]

    assert ({*answered}, lost) == ({200}, [])


def test_the_command_itself_parses_long_json_in_another_process(tmp_path):
    """`python -m minigrad` once began a second server in the process that was to parse."""
    saved(tmp_path / "net.mg", 2.0)
    command = [sys.executable, "-m", "minigrad", "serve", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        address = process.stdout.readline().split()[-1]
        answer = httpx.post(f"{address}:predict", json={"instances": [[1.0, 2.0]] * 20_000}, timeout=120)
        process.terminate()

    assert answer.json()["predictions"] == [[2.0, 4.0]] * 20_000
    assert process.returncode == 0
