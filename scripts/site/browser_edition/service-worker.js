// The site without a network: a file that was fetched once is kept, and when the page says "keep", so are all others.
// What the kernel asks of the page, as its drive, is JupyterLite's own service worker's, which comes after this one.

{ // for the other one has names of its own
  const CACHE = "minigrad-" + "EDITION";
  const FILES = ["FILES"];
  const interrupted = new Set(); // sessions whose running cell is to end, and has not yet asked

  const inside = (url) => url.href.startsWith(registration.scope) && !/\/api\/(drive|stdin|service-worker)/.test(url.pathname);

  async function kept(request) {
    const cache = await caches.open(CACHE);
    const found = await cache.match(request, { ignoreSearch: true, ignoreVary: true });
    if (found) return found;
    const answer = await fetch(request);
    if (answer.ok && answer.status === 200) await cache.put(request, answer.clone());
    return answer;
  }

  async function keep() { // a file that does not come within two minutes is left out
    for (const name of FILES) {
      const signal = AbortSignal.timeout(120_000);
      await kept(new Request(new URL(name, registration.scope), { signal })).catch(() => null);
    }
  }

  async function forget() {
    for (const name of await caches.keys())
      if (name.startsWith("minigrad-") && name !== CACHE) await caches.delete(name);
  }

  addEventListener("activate", (event) => event.waitUntil(forget()));
  addEventListener("message", (event) => {
    if (event.data?.interrupt) interrupted.add(event.data.interrupt);
    if (event.data === "keep") event.waitUntil(keep().then(() => event.ports[0]?.postMessage("kept")));
  });
  addEventListener("fetch", (event) => {
    if (event.request.method !== "GET" || !inside(new URL(event.request.url))) return;
    event.stopImmediatePropagation();
    const { pathname, search } = new URL(event.request.url);
    if (pathname.endsWith("/api/interrupt"))
      return event.respondWith(new Response(interrupted.delete(search.slice(1)) ? "interrupted" : ""));
    event.respondWith(kept(event.request));
  });
}

importScripts("jupyterlite-service-worker.js");
