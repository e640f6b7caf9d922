"""Models that answer over HTTP: `minigrad serve net.mg`. It needs the extra `serve`: Starlette and uvicorn.

model         a saved function as arrays in, arrays out, and what it refuses
encodings     arrays in bodies: JSON, npy, safetensors
batcher       requests that wait together run together
metrics       what is counted, for Prometheus
repository    the versions of each model, as they lie on the disk now
v1, v2        the words of TensorFlow Serving, and of the Open Inference Protocol
app           paths, limits, and the server
page.html     a digit, drawn and read
write.html    a text, written on: for --page, once its letters are put into it
"""
