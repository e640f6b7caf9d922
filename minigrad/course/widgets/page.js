// The part of the anywidget model API that a widget's JavaScript uses, without a kernel.
function modelOf(state) {
  const listeners = {};
  return {
    get: (key) => state[key],
    set: (key, value) => { state[key] = value; for (const tell of listeners["change:" + key] ?? []) tell(); },
    save_changes: () => {},
    on: (event, tell) => (listeners[event] ??= []).push(tell),
    off: () => {},
  };
}
// The data of a base64 text: compressed JSON.
function decompress(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}
