// A JupyterLab extension written by hand: what a bundler would have made of it, JupyterLab asks this file for.
//
// The rest are modules beside it: deck.js says which cells make which page, show.js puts them on the screen, speaker.js
// is the window for whoever speaks.

(() => {
  const NAME = "minigrad-present";
  const here = new URL(".", document.currentScript.src);
  let scope;

  // A package of JupyterLab's own, in the newest version that it shares.
  const shared = async (name) => {
    const versions = scope[name];
    if (!versions) throw new Error(`${NAME}: this JupyterLab does not share ${name}`);
    const newest = Object.keys(versions).sort((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1);
    return (await versions[newest].get())();
  };

  window._JUPYTERLAB ??= {};
  window._JUPYTERLAB[NAME] = {
    init: (given) => { scope = given; },
    get: async () => {
      const { plugin } = await import(new URL("plugin.js", here));
      const [notebook, apputils] = await Promise.all(["@jupyterlab/notebook", "@jupyterlab/apputils"].map(shared));
      return () => ({ __esModule: true, default: plugin(NAME, here, notebook, apputils) });
    },
  };
})();
