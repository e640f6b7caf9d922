// How JupyterLab comes to know of presenting: a command, its key, a button in each notebook, and an address.

import { Show } from "./show.js";

const COMMAND = "minigrad:present";
const PLACE = 10; // among a notebook's buttons, after those that run cells

export function plugin(name, here, { INotebookTracker, NotebookActions }, { ICommandPalette, IThemeManager, Notification, ToolbarButton }) {
  const activate = (app, tracker, palette, themes) => {
    style(new URL("show.css", here));
    const ran = new WeakMap(); // notebook → the cells that its kernel has run since this page was loaded
    let show = null;

    const present = async (panel) => {
      await panel.revealed;
      if (show) return show;
      const made = new Show({ panel, ran: ran.get(panel.content), themes, room: settings().minigradAudience, run: (cells) => NotebookActions.runCells(panel.content, cells, panel.sessionContext), left: () => { show = null; } });
      show = made.start() ? made : null;
      if (!show) Notification.warning("There is no page to show: every cell of this notebook is folded, or marked skip or notes.");
      return show;
    };

    app.commands.addCommand(COMMAND, {
      label: "Present as live slides",
      isEnabled: () => tracker.currentWidget !== null,
      execute: () => (show ? show.exit() : tracker.currentWidget && present(tracker.currentWidget).then(() => undefined)),
    });
    app.commands.addKeyBinding({ command: COMMAND, keys: ["Alt Shift P"], selector: "body" });
    palette?.addItem({ command: COMMAND, category: "Notebook Operations" });
    const watch = (panel) => {
      const cells = new Set();
      ran.set(panel.content, cells);
      panel.sessionContext.statusChanged.connect((_, status) => { if (status.endsWith("restarting")) cells.clear(); });
      panel.sessionContext.kernelChanged.connect((_, { oldValue }) => { if (oldValue) cells.clear(); });
    };
    NotebookActions.executed.connect((_, { notebook, cell }) => ran.get(notebook)?.add(cell));

    const button = (panel) => panel.toolbar.insertItem(PLACE, name, new ToolbarButton({
      label: "Present", tooltip: "Present as live slides (Alt+Shift+P)", onClick: () => app.commands.execute(COMMAND),
    }));
    const added = (panel) => { watch(panel); button(panel); };
    tracker.forEach(added);
    tracker.widgetAdded.connect((_, panel) => added(panel));

    const wanted = asked();
    if (wanted) {
      app.restored.then(() => once(tracker, wanted, async (panel) => {
        (await present(panel))?.begin(panel.sessionContext.ready);
      }));
    }
  };
  return {
    id: `${name}:plugin`, autoStart: true, requires: [INotebookTracker], optional: [ICommandPalette, IThemeManager], activate,
  };
}

function settings() {
  return JSON.parse(document.getElementById("jupyter-config-data")?.textContent ?? "{}");
}

// The notebook to begin with: that of `minigrad lab --present`, or of an address that ends in ?present.
function asked() {
  const config = settings();
  const path = new URLSearchParams(location.search).has("present") && location.pathname.split("/tree/")[1];
  return config.minigradPresent ?? (path ? decodeURIComponent(path) : null);
}

// Once that notebook is open.
function once(tracker, wanted, act) {
  const try_ = () => {
    const panel = tracker.currentWidget;
    if (panel?.context.path !== wanted) return;
    tracker.currentChanged.disconnect(try_);
    act(panel);
  };
  tracker.currentChanged.connect(try_);
  try_();
}

function style(address) {
  const link = document.createElement("link");
  Object.assign(link, { rel: "stylesheet", href: address });
  document.head.append(link);
}
