"""A server for models over HTTP: `minigrad serve net.mg`. It needs the extra `serve`: Starlette and uvicorn.

model         a saved function on named arrays, with checks of its inputs
encodings     arrays in bodies: JSON, npy, safetensors; long JSON is parsed and written in another process
batcher       runs requests that wait at the same time as one batch; the memory that all together may hold; counters
              and histograms for Prometheus
connection    one connection: limits on header size and idle time, and a close that loses no answer; checks of the
              Host header and of unread bodies
repository    the versions of each model that are on the disk now
v1, v2        the protocols of TensorFlow Serving and of the Open Inference Protocol
description   the server's OpenAPI document, and a page to try it on
app, command  the application: paths, limits, errors; the server as a process
page.html     a page: draw a digit, and the model recognises it
docs.html     the page to try the server on, around Swagger UI
write.html    a page for --page: the model continues a text; fill in its alphabet first
"""
