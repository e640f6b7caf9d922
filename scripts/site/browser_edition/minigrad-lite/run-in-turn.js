// A JupyterLab extension without a bundler: how cells run in the browser edition, and which files it opens.

(() => {
  const NAME = "minigrad-lite";
  const KEEP_MS = 20_000; // time for the first results; then the rest of the site is fetched and cached
  const NARROW = 600; // pixels: below this width the file list leaves no room for a notebook
  let scope;

  const shared = async (name) => (await Object.values(scope[name])[0].get())();

  // Send a cell when the kernel is ready and the cell before it is done. JupyterLab drops cells that are sent without a
  // kernel; JupyterLite drops cells that wait for one that ends in an error, even an expected one.
  const inTurn = (runCell) => {
    const last = new WeakMap(); // context → promise of whether the last requested cell ran
    const ran = async (options, before) => {
      const { model } = options.cell;
      if (!(await before) || options.cell.isDisposed) {
        model.executionState = "idle";
        return false;
      }
      return runCell(options).catch((error) => {
        if (model.getMetadata("tags")?.includes("raises-exception")) return true;
        throw error;
      });
    };
    return (options) => {
      const { cell, sessionContext } = options;
      if (cell.model.type !== "code" || !sessionContext) return runCell(options);
      cell.model.executionState = "running";
      const turn = ran(options, last.get(sessionContext) ?? sessionContext.ready.then(() => true));
      const done = () => { if (last.get(sessionContext) === turn) last.delete(sessionContext); };
      last.set(sessionContext, turn);
      turn.then(done, done);
      return turn;
    };
  };

  // JupyterLab opens its file list with each file named in the address: here not before the first touch.
  const keepClosed = (shell) => {
    const close = () => { if (!shell.leftCollapsed) shell.collapseLeft(); };
    shell.layoutModified.connect(close);
    window.addEventListener("pointerdown", () => shell.layoutModified.disconnect(close), { once: true, capture: true });
  };

  // An address that names a notebook opens only that one. JupyterLab would first restore the notebooks of the last
  // visit, start Python once for each, and, if that is slow, put their layout over the named notebook.
  const closeTabsOfLastVisit = async ({ workspaces }) => {
    if (!new URLSearchParams(window.location.search).has("path")) return;
    const workspace = await workspaces.fetch("default"), { data } = workspace, layout = data["layout-restorer:data"];
    for (const key of Object.keys(data)) if (data[key]?.data) delete data[key]; // the entries that open tabs
    if (layout) layout.main = null;
    await workspaces.save("default", workspace);
  };

  // In the list of files, say which notebooks need NumPy, where the site has none: in the column of dates, which is all
  // of the same date, while names are cut. An item's title begins with its name.
  const markWaiting = (names) => {
    const modified = (name) => `.jp-DirListing-item[title^="Name: ${name}\\a"] .jp-DirListing-itemModified`;
    const style = document.createElement("style");
    style.textContent = `:is(${names.map(modified)}) { font-size: 0; }
      :is(${names.map(modified)})::after { content: "needs NumPy"; font-size: 12px; font-style: italic; }`;
    document.head.append(style);
  };

  window._JUPYTERLAB ??= {};
  window._JUPYTERLAB[NAME] = {
    init: (given) => { scope = given; },
    get: async () => {
      const { INotebookCellExecutor, runCell } = await shared("@jupyterlab/notebook");
      const { PageConfig } = await shared("@jupyterlab/coreutils");
      const activate = async ({ commands, serviceManager, shell }) => {
        markWaiting(JSON.parse(PageConfig.getOption("needsNumpy") || "[]"));
        if (window.innerWidth < NARROW) keepClosed(shell);
        await closeTabsOfLastVisit(serviceManager).catch(() => {}); // a browser that stores nothing has no last visit
        commands.commandExecuted.connect(async (_, { id }) => {
          const kernel = shell.currentWidget?.sessionContext?.session?.kernel;
          if (!/interrupt/.test(id) || kernel?.status !== "busy") return;
          (await navigator.serviceWorker.ready).active.postMessage({ interrupt: kernel.clientId });
        });
        navigator.serviceWorker?.ready.then(({ active }) => setTimeout(() => active.postMessage("keep"), KEEP_MS));
        return { runCell: inTurn(runCell) };
      };
      const plugin = { id: `${NAME}:executor`, autoStart: true, provides: INotebookCellExecutor, activate };
      return () => ({ __esModule: true, default: plugin });
    },
  };
})();
