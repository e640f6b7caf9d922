"""The server's API as OpenAPI 3.0, /openapi.json, and a page to try it on, /docs.

Both come from the tables of paths in v1.py and v2.py, so every path that is served is described.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import Any

from minigrad import __version__

from . import v1, v2
from .encodings import BINARY, JSON, LENGTH
from .model import Model, Refusal, noise
from .repository import Repository

PROTOCOLS = {"v1": v1, "v2": v2}
LONGEST_EXAMPLE = 1 << 12  # numbers in an example request
Schema = dict[str, Any]

# -- shapes of JSON -------------------------------------------------------------------------------


def table(**properties: Schema) -> Schema:
    """The schema of an object in which all these properties are required."""
    return {"type": "object", "properties": properties, "required": [*properties]}


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


TEXT: Schema = {"type": "string"}
YES: Schema = {"type": "boolean"}
STATE = table(version=TEXT, state=TEXT, status=table(error_code=TEXT, error_message=TEXT))
TENSOR = table(name=TEXT, datatype={"type": "string", "enum": [*v2.TYPES.values()]}, shape=array({"type": "integer"}))
SIGNATURE = table(inputs={"type": "object"}, outputs={"type": "object"}, method_name=TEXT)
ANSWERS: dict[Callable[..., Any], Schema] = {
    v1.status: table(model_version_status=array(STATE)),
    v1.metadata: table(
        model_spec=table(name=TEXT, signature_name=TEXT, version=TEXT),
        metadata=table(signature_def=table(signature_def=table(serving_default=SIGNATURE))),
    ),
    v2.metadata: table(name=TEXT, versions=array(TEXT), platform=TEXT, inputs=array(TENSOR), outputs=array(TENSOR)),
    v2.ready: table(name=TEXT, ready=YES), v2.all_ready: table(ready=YES), v2.live: table(live=YES),
    v2.names: table(models=array(TEXT)), v2.server: table(name=TEXT, version=TEXT, extensions=array(TEXT)),
}  # fmt: skip
IN_V1: Schema = {
    "instances": {"type": "array", "items": {}, "minItems": 1},
    "inputs": {},
    "signature_name": {"type": "string", "enum": ["", v1.SIGNATURE]},
}
IN_V2: Schema = {
    "inputs": array(TENSOR | {"properties": TENSOR["properties"] | {"data": array({})}}),
    "outputs": array(table(name=TEXT)),
    "id": TEXT,
    "parameters": {"type": "object", "properties": {"binary_data_output": YES}},
}
ASKED: dict[str, Schema] = {
    "v1": {"type": "object", "properties": IN_V1, "oneOf": [{"required": ["instances"]}, {"required": ["inputs"]}]},
    "v2": {"type": "object", "properties": IN_V2, "required": ["inputs"]},
}
ANSWERED: dict[str, Schema] = {
    "v1": {"type": "object", "oneOf": [{"required": ["predictions"]}, {"required": ["outputs"]}]},
    "v2": table(model_name=TEXT, model_version=TEXT, outputs=array(TENSOR)),
}
REFUSED = {
    400: "The body is invalid, or has inputs of the wrong name, dtype or shape, or values that the model refuses.",
    404: "There is no such model or version.",
    406: "One npy cannot hold several outputs.",
    408: "The request was too slow.",
    413: "The request is too long.",
    415: "The body is compressed.",
    500: "The model failed.",
    503: "Too many requests wait, or hold too much memory: try again later.",
    504: "There was no answer in time.",
}
PATH_PARAMETERS = {"name": "^[^/:]+$", "number": "^[0-9]+$"}

# -- the description --------------------------------------------------------------------------------


def paths() -> Iterator[tuple[str, Any]]:
    """Each path and what answers it: a function of the repository, or the protocol's module if it runs a model."""
    yield from v2.SERVER.items()
    for version, protocol in PROTOCOLS.items():
        for of in ("", "/versions/{number}"):
            path = f"/{version}/models/{{name}}{of}"
            yield path + protocol.INFER, protocol
            yield from ((path + behind, found) for behind, found in protocol.MODEL.items())


def openapi(repository: Repository) -> Schema:
    """The document, with an example for each model whose inputs are small."""
    text = {"200": {"description": "Counters and histograms.", "content": {"text/plain": {"schema": TEXT}}}}
    metrics = {"summary": "Metrics for Prometheus.", "tags": ["server"], "operationId": "metrics", "responses": text}
    words = "Saved models, by the protocols of TensorFlow Serving (v1) and Open Inference Protocol (v2)."
    words += f" Models here: {', '.join(v2.names(repository)['models'])}."
    info = {"title": "minigrad serve", "version": __version__, "description": words}
    entries = {path: operation(repository, path, found) for path, found in paths()} | {"/metrics": {"get": metrics}}
    components = {"schemas": {"Error": table(error=TEXT)}}
    return {"openapi": "3.0.3", "info": info, "paths": entries, "components": components}


def operation(repository: Repository, path: str, found: Any) -> Schema:
    """The OpenAPI entry of one path."""
    version = path.split("/")[1]
    parameters = path_parameters(repository, path)
    name, tags = path.strip("/").translate(str.maketrans("/:{}", "____")), [version if parameters else "server"]
    said: Schema = {"tags": tags, "operationId": name, "parameters": parameters}
    if found in PROTOCOLS.values():
        return {"post": said | inference(repository, version, parameters)}
    refused = error("There is no such model or version.") if parameters else error("No model is loaded.")
    answer = {"description": "The current state.", "content": {JSON: {"schema": ANSWERS[found]}}}
    summary = (found.__doc__ or "").partition("\n")[0]
    return {"get": said | {"summary": summary, "responses": {"200": answer, "404" if parameters else "503": refused}}}


def path_parameters(repository: Repository, path: str) -> list[Schema]:
    """The parameters in a path, name and number, with those of the first model as examples."""
    first = repository.version(min(repository.table).name).key if repository.table else None
    return [
        {"name": name, "in": "path", "required": True, "schema": TEXT | {"pattern": pattern}}
        | ({"example": str(getattr(first, name))} if first else {})
        for name, pattern in PATH_PARAMETERS.items()
        if f"{{{name}}}" in path
    ]


def inference(repository: Repository, version: str, parameters: list[Schema]) -> Schema:
    """The OpenAPI entry of a path that runs a model."""
    binary = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in BINARY}
    models = {name: repository.version(name).batcher.model for name in v2.names(repository)["models"]}
    examples = {name: {"value": example(version, model)} for name, model in models.items() if is_small(model)}
    length = {"name": LENGTH, "in": "header", "schema": {"type": "integer", "minimum": 0}}
    length["description"] = "The length of the JSON, if elements of tensors follow it."
    refused = {str(status): error(why) for status, why in REFUSED.items()}
    body = {"required": True, "content": {JSON: {"schema": ASKED[version], "examples": examples}, **binary}}
    answer = {"description": "The outputs.", "content": {JSON: {"schema": ANSWERED[version]}, **binary}}
    parameters, answers = parameters + [length] * (version == "v2"), {"200": answer, **refused}
    return {"summary": "Run a model.", "parameters": parameters, "requestBody": body, "responses": answers}


def error(why: str) -> Schema:
    return {"description": why, "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}}


def is_small(model: Model) -> bool:
    """Whether a row of the model's inputs is short enough for an example, which must not delay other requests."""
    return sum(prod(2 if n is None else n for n in spec.shape) for spec in model.inputs.values()) <= LONGEST_EXAMPLE


def example(version: str, model: Model) -> Schema:
    """An example request: one row of noise."""
    rows = noise(model, 1)
    if version == "v2":
        tensors = [v2.tensor_metadata(name, spec) for name, spec in model.inputs.items()]
        pairs = zip(tensors, rows.values())
        return {"inputs": [t | {"shape": [*x.shape], "data": x.ravel().tolist()} for t, x in pairs]}
    columns = {name: x.tolist() for name, x in rows.items()}
    return {"inputs": columns if len(columns) > 1 else next(iter(columns.values()))}


# -- the page ---------------------------------------------------------------------------------------

OWN_FILES = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:"
)
PAGE = Path(__file__).with_name("docs.html")
START = b'SwaggerUIBundle({ url: "/openapi.json", dom_id: "#page", validatorUrl: null, deepLinking: true });\n'


def page_file(name: str) -> tuple[bytes, str]:
    """A file of the page, and its type. Raises Refusal if there is no such file, or if Swagger UI is not installed."""
    try:
        from swagger_ui_bundle import swagger_ui_path
    except ModuleNotFoundError:
        raise Refusal("/docs needs swagger-ui-bundle: pip install 'minigrad-course[serve]'", 404) from None
    read = {"swagger-ui.css": "text/css", "swagger-ui-bundle.js": "text/javascript"}
    if name in read:
        return Path(str(swagger_ui_path), name).read_bytes(), read[name]
    own = {"": (PAGE.read_bytes(), "text/html"), "start.js": (START, "text/javascript")}
    if name not in own:
        raise Refusal(f"there is no file {name[:80]} here: /docs has the page", 404)
    return own[name]
