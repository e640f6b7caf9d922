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
