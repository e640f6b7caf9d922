// Offline use of the site: each fetched file is cached, and on the message "keep" so are all others. Requests of the
// kernel to the page, such as its drive, go to JupyterLite's own service worker, which follows this one.

{ // a block, because the other service worker has global names too
  const CACHE = "minigrad-" + "EDITION";
  const FILES = ["FILES"];
  const AT_ONCE = 4; // a browser opens six connections to a server, and the kernel needs some of them
  const interrupted = new Set(); // sessions whose running cell must end, and has not polled yet

  let keeping = null; // the run of keep() that is under way: several pages may ask for it

  const inside = (url) => url.href.startsWith(registration.scope) && !/\/api\/(drive|stdin|service-worker)/.test(url.pathname);

  async function kept(request) {
    const cache = await caches.open(CACHE);
    const found = await cache.match(request, { ignoreSearch: true, ignoreVary: true });
    if (found) return found;
    const answer = await fetch(request);
    if (answer.ok && answer.status === 200) await cache.put(request, answer.clone());
    return answer;
  }

  // A few files at once; a file that takes longer than two minutes is skipped, and named in the reply. "no-store": a
  // request that waits for another one's entry in the browser's own cache may wait for ever. Every body is read to its
  // end: one that nobody reads may hold up others.
  async function keep() {
    const cache = await caches.open(CACHE), skipped = [];
    const there = new Set((await cache.keys()).map(({ url }) => url.split("?")[0]));
    const waiting = FILES.map((name) => new URL(name, registration.scope).href).filter((url) => !there.has(url));
    async function next() {
      for (let url; (url = waiting.pop()); ) {
        const request = new Request(url, { signal: AbortSignal.timeout(120_000), cache: "no-store" });
        await cache.add(request).catch(() => skipped.push(url));
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, next));
    keeping = null;
    return skipped.length ? `kept, but for ${skipped.join(", ")}` : "kept";
  }

  async function forget() {
    for (const name of await caches.keys())
      if (name.startsWith("minigrad-") && name !== CACHE) await caches.delete(name);
  }

  addEventListener("activate", (event) => event.waitUntil(forget()));
  addEventListener("message", (event) => {
    if (event.data?.interrupt) interrupted.add(event.data.interrupt);
    if (event.data === "keep") event.waitUntil((keeping ??= keep()).then((reply) => event.ports[0]?.postMessage(reply)));
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
