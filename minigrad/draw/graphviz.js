// (bytes of graphviz.wasm) => (dot) => svg: Graphviz in the browser, compiled synchronously, which browsers
// allow only in a worker. The functions below stand for an operating system: without files, and output is dropped.
(bytes) => {
  const view = () => new DataView(memory.buffer);
  const system = {
    environ_get: () => 0,
    environ_sizes_get(count, size) { for (const at of [count, size]) view().setUint32(at, 0, true); return 0; },
    clock_time_get(id, precision, at) { view().setBigUint64(at, 0n, true); return 0; },
    random_get: (at, n) => { new Uint8Array(memory.buffer, at, n).fill(0); return 0; },
    fd_write(fd, vectors, n, written) {
      let total = 0;
      for (let i = 0; i < n; i++) total += view().getUint32(vectors + 8 * i + 4, true);
      view().setUint32(written, total, true);
      return 0;
    },
    proc_exit(code) { throw new Error(`graphviz ended with code ${code}`); },
  };
  const EBADF = 8; // the result of every other system call
  const wasi_snapshot_preview1 = new Proxy(system, { get: (known, name) => known[name] ?? (() => EBADF) });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { wasi_snapshot_preview1 });
  const { memory, malloc, graphviz_free: free } = exports;
  const put = (text) => {
    const data = new TextEncoder().encode(`${text}\0`), at = malloc(data.length);
    new Uint8Array(memory.buffer).set(data, at);
    return at;
  };
  const got = (at, length) => new TextDecoder().decode(new Uint8Array(memory.buffer, at, length));
  return (dot) => {
    const given = [put(dot), put("svg"), put("dot"), malloc(4)];
    try {
      const at = exports.graphviz_render(...given), why = at ? 0 : exports.graphviz_last_error();
      if (!at) throw new Error(got(why, new Uint8Array(memory.buffer).indexOf(0, why) - why));
      const svg = got(at, view().getUint32(given[3], true));
      free(at);
      return svg;
    } finally {
      given.forEach((at) => free(at));
    }
  };
}
