"""Models that answer over HTTP: `minigrad serve net.mg`. It needs the extra `serve`: Starlette and uvicorn.

model         a saved function as arrays in, arrays out, and what it refuses
encodings     arrays in bodies: JSON, npy, safetensors
batcher       requests that wait together run together
budget        memory that all requests together may hold
worker        long JSON, in another process
connection    one connection: limits on its head and its silence, and its end
middleware    the names that a server answers to
metrics       what is counted, for Prometheus
repository    the versions of each model, as they lie on the disk now
v1, v2        the words of TensorFlow Serving, and of the Open Inference Protocol
description   the same as OpenAPI, and a page to try it on
app           paths, limits, and the server
page.html     a digit, drawn and read
write.html    a text, written on: for --page, once its letters are put into it
"""
