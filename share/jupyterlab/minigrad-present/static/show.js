// A notebook as live slides: the notebook itself, with all cells hidden but those of one page. So cells run, and widgets
// move, as they always do; on leaving it is as it was.

import { deck } from "./deck.js";
import { Speaker } from "./speaker.js";

// What has no room on a page, with code that can be read from the last row, is turned over to: at a press the page goes on with
// the first cell that was not seen whole, and when another part comes the earliest cells make room for it.

// Where keys belong to what has the focus, and not to the show: editors, fields, sliders, and widgets that are stepped.
const OWN_KEYS = ".cm-editor, input, textarea, select, [contenteditable=true], [role=slider], .mg-widget, .jupyter-widgets";
const LEAVES_OUT = new Set(["full", "defer"]); // ways of JupyterLab to have only cells in the page that are scrolled to
const MARGIN = 48; // pixels above and below a page, together
const SCREEN = 0.8; // of its height is scrolled at a press, so that a few lines stay
const ZOOM = { least: 0.5, most: 2.5, step: 0.1 };
const AGAIN = { most: 50, milliseconds: 100 };
const LEAST_CODE = 16; // pixels; smaller than this nobody reads it from the last row
const LINES = 50; // of code, one above the other, would fill the screen: the type has this size on every page
const NARROWEST = 720; // pixels of a page before it is enlarged: on a screen that is higher than wide, type is smaller
const NUMBER = 12; // pixels of a number in a picture that is not enlarged
const NUMBERS = { wanted: 0.035, most: 0.05 }; // of the screen's height
const HALVINGS = 7; // of the interval in which the largest picture that fits is looked for
const PICTURES = ".mg-view svg, .mg-canvas, svg.mg-picture, :is(.jp-RenderedSVG, .jp-RenderedImage) > *"; // as in show.css
const ASKS = /^(Predict|Guess)\(/; // a cell that is a question and nothing else: its form says all that its code does
const ANSWERS = "details.mg-answer:not([open])"; // closed below a question, and open in a lecture, which turns pages instead
const BAR = `
  <progress value="0" max="1" aria-hidden="true"></progress>
  <button type="button" data-do="back" aria-label="Back">◀</button>
  <span data-place></span>
  <button type="button" data-do="next" aria-label="Next">▶</button>
  <button type="button" data-do="run">Run (r)</button>
  <button type="button" data-do="alive" aria-pressed="false">Live (l)</button>
  <button type="button" data-do="speak">Notes (s)</button>
  <button type="button" data-do="vote" aria-pressed="false" hidden>Room (v)</button>
  <button type="button" data-do="fill">Full screen (f)</button>
  <button type="button" data-do="help" aria-expanded="false">Keys (?)</button>
  <button type="button" data-do="exit">Exit (Esc)</button>
  <span role="status"></span><output></output>`;
const KEYS = {
  next: { keys: ["PageDown", "ArrowRight", "ArrowDown", " ", "n"], about: "→, space, Page Down: next" },
  back: { keys: ["PageUp", "ArrowLeft", "ArrowUp", "p"], about: "←, Page Up: back" },
  first: { keys: ["Home"], about: "Home: first page" },
  last: { keys: ["End"], about: "End: last page" },
  run: { keys: ["r"], about: "r: run this page, and what it needs" },
  alive: { keys: ["l"], about: "l: live, each cell runs when it is shown; or no more" },
  runAll: { keys: ["a"], about: "a: run all cells" },
  speak: { keys: ["s"], about: "s: notes, in a window of their own" },
  vote: { keys: ["v"], about: "v: the room's answers, and back (--audience)" },
  black: { keys: ["b", "."], about: "b: black, and back" },
  code: { keys: ["c"], about: "c: without code, and back" },
  dark: { keys: ["d"], about: "d: dark, and back" },
  larger: { keys: ["+", "="], about: "+: larger" },
  smaller: { keys: ["-"], about: "−: smaller" },
  fill: { keys: ["f"], about: "f: full screen" },
  help: { keys: ["?"], about: "?: these keys" },
  exit: { keys: ["Escape"], about: "Esc: out of a widget; leave" },
};
const DEED = new Map(Object.entries(KEYS).flatMap(([deed, { keys }]) => keys.map((key) => [key, deed])));

export class Show {
  // panel    a notebook's; run(cells) runs some of its cells; themes may be null; left() is told at the end
  // ran      the cells that its kernel has run
  // room     the lecturer's page of an audience, if there is one
  // live     each cell runs when it is first shown, so that no answer is there before its question
  constructor({ panel, ran, run, themes, room, left }) {
    Object.assign(this, { panel, notebook: panel.content, ran, runCells: run, themes, votesAt: room, left });
    this.at = this.step = 0;
    this.opened = new Set();
    this.turned = this.from = 0; // cells of the page that a press has turned over; and that are not on the screen
    this.zoom = 1;
    this.drawn = new Map(); // cell → how far its pictures are enlarged on this page
    this.live = false;
    this.pressed = this.pressed.bind(this);
    this.fit = this.fit.bind(this);
    this.refit = this.refit.bind(this);
    this.changed = this.changed.bind(this);
    this.told = this.told.bind(this);
  }

  // -- beginning and end ------------------------------------------------------------------------

  // Whether there is a page to show.
  start() {
    const { notebook, panel } = this;
    this.pages = this.paged();
    if (!this.pages.length) return false;
    this.before = { config: notebook.notebookConfig, theme: this.themes?.theme };
    if (LEAVES_OUT.has(notebook.notebookConfig.windowingMode)) {
      notebook.notebookConfig = { ...notebook.notebookConfig, windowingMode: "none" };
    }
    this.around = ancestors(panel.node);
    this.around.forEach((node) => node.classList.add("mg-around"));
    panel.node.classList.add("mg-shown");
    this.bar = this.madeBar();
    this.heading = Object.assign(document.createElement("p"), { className: "mg-heading", hidden: true });
    panel.node.append(this.bar, this.heading);
    this.speaker = new Speaker({ began: Date.now(), minutes: panel.model?.getMetadata("minigrad")?.minutes, press: this.pressed, render: (text) => rendered(notebook.rendermime, text) });
    document.addEventListener("keydown", this.pressed, true);
    addEventListener("message", this.told);
    addEventListener("resize", this.refit);
    this.seen = new ResizeObserver(this.fit);
    notebook.widgets.forEach((cell) => this.seen.observe(cell.node));
    notebook.model.cells.changed.connect(this.changed);
    panel.disposed.connect(() => this.exit());
    this.at = Math.max(0, this.pages.findIndex(({ steps }) => steps.flat().includes(notebook.activeCellIndex)));
    this.show();
    if (!this.ran.size) this.say("No cell has run yet: r runs this page, l each cell when it is shown.");
    return true;
  }

  // Run each cell when it is shown, as soon as there is a kernel.
  begin(kernel) {
    this.kernel = kernel;
    this.alive();
  }

  exit() {
    if (!this.bar) return;
    const { notebook, panel, before } = this;
    document.removeEventListener("keydown", this.pressed, true);
    removeEventListener("message", this.told);
    removeEventListener("resize", this.refit);
    this.votes?.remove();
    this.seen.disconnect();
    this.bar.remove();
    this.heading.remove();
    this.bar = null;
    this.keys?.remove();
    this.speaker.close();
    document.body.classList.remove("mg-black");
    this.around.forEach((node) => node.classList.remove("mg-around"));
    panel.node.classList.remove("mg-shown", "mg-without-code", "mg-continued");
    panel.node.style.removeProperty("--mg-zoom");
    if (document.fullscreenElement) document.exitFullscreen();
    this.left();
    this.opened.forEach((answer) => { answer.open = false; });
    if (panel.isDisposed) return;
    notebook.model.cells.changed.disconnect(this.changed);
    notebook.widgets.forEach(({ node }) => { node.classList.remove("mg-off", "mg-asks"); node.style.removeProperty("--mg-picture"); });
    if (notebook.notebookConfig !== before.config) notebook.notebookConfig = before.config;
    if (this.themes && this.themes.theme !== before.theme) this.themes.setTheme(before.theme);
    notebook.activeCellIndex = this.page?.steps[this.step][0] ?? notebook.activeCellIndex; // one goes on where the page was
    panel.update();
    notebook.activeCell?.node.scrollIntoView({ block: "start" });
    notebook.node.focus();
  }

  // -- one page ---------------------------------------------------------------------------------

  paged() {
    return deck(this.notebook.widgets.map(({ model }) => (
      { kind: model.type, source: model.sharedModel.getSource(), slideshow: model.getMetadata("slideshow"), folded: model.getMetadata("jp-MarkdownHeadingCollapsed") })));
  }

  // Cells were added, moved or taken away while they are shown.
  changed() {
    this.pages = this.paged();
    if (!this.pages.length) return this.exit();
    this.at = Math.min(this.at, this.pages.length - 1);
    this.step = Math.min(this.step, this.page.steps.length - 1);
    this.notebook.widgets.forEach((cell) => this.seen.observe(cell.node));
    this.show();
  }

  get page() {
    return this.pages[this.at];
  }

  // All cells down to the last one that is shown, those that are on no page included.
  get above() {
    return this.notebook.widgets.slice(0, this.page.steps[this.step].at(-1) + 1);
  }

  get unrun() {
    return this.above.filter((cell) => !this.ran.has(cell));
  }

  get cells() {
    return this.page.steps.slice(0, this.step + 1).flat().map((index) => this.notebook.widgets[index]);
  }

  get onScreen() {
    return this.cells.slice(this.from);
  }

  hideFrom(from) {
    this.from = from;
    const shown = new Set(this.onScreen);
    this.notebook.widgets.forEach((cell) => cell.node.classList.toggle("mg-off", !shown.has(cell)));
    this.heading.textContent = from ? this.page.title : ""; // it stays when its cell has left
    this.heading.hidden = !this.heading.textContent;
    this.panel.node.classList.toggle("mg-continued", !this.heading.hidden);
  }

  show() {
    const { notebook, page, pages, at, step, bar } = this;
    notebook.widgets.forEach((cell) => cell.node.classList.toggle("mg-asks", ASKS.test(cell.model.sharedModel.getSource())));
    notebook.deselectAll();
    notebook.activeCellIndex = page.steps[step][0];
    notebook.mode = "command";
    notebook.node.focus({ preventScroll: true });
    const parts = page.steps.length > 1 ? `, part ${step + 1} of ${page.steps.length}` : "";
    bar.querySelector("progress").value = (at + 1) / pages.length;
    bar.querySelector("[data-place]").textContent = `${at + 1} of ${pages.length}${parts}`;
    bar.querySelector("[role=status]").textContent = `Page ${at + 1} of ${pages.length}${parts}: ${page.title}`;
    const next = pages[at + 1]?.steps.flat().map((index) => notebook.widgets[index].model) ?? [];
    this.speaker.tell({ place: `${at + 1} of ${pages.length}${parts}`, page, next: pages[at + 1], preview: next.map(source).join("\n\n") });
    this.refit();
    this.scroller.scrollTop = 0;
    if (this.live) this.running(this.unrun);
  }

  // Type has one size on all pages, and pictures take the room that is left. Cells of earlier steps leave if a new picture
  // needs their room. On a page that does not fit, each picture is drawn for a screen of its own: a press turns to it.
  fit() {
    if (!this.bar) return;
    for (const { node } of this.cells) {
      for (const answer of node.querySelectorAll(ANSWERS)) this.opened.add(Object.assign(answer, { open: true }));
    }
    const type = this.type(), number = (share) => (share * innerHeight) / NUMBER / type;
    const newest = this.page.steps[this.step], seen = this.cells.length - newest.length;
    const isPicture = ({ node }) => node.querySelector(PICTURES) !== null;
    const isShown = newest.some((index) => isPicture(this.notebook.widgets[index]));
    const least = Math.min(1, LEAST_CODE / NUMBER / type), most = Math.max(least, number(NUMBERS.most));
    const fits = () => this.height(this.onScreen) <= this.room;

    this.panel.node.style.setProperty("--mg-zoom", type);
    this.draw(this.cells, isShown ? number(NUMBERS.wanted) : least);
    this.hideFrom(this.turned);
    while (this.from < seen && !fits()) this.hideFrom(this.from + 1);
    this.enlarge(this.onScreen, least, most);
    if (!fits()) this.onScreen.filter(isPicture).forEach((cell) => this.enlarge([cell], least, most));
    this.onScreen.forEach((cell) => this.drawn.set(cell, parseFloat(cell.node.style.getPropertyValue("--mg-picture"))));
  }

  // The factor by which type is enlarged.
  type() {
    const code = parseFloat(getComputedStyle(this.panel.node).getPropertyValue("--jp-code-font-size"));
    const size = Math.min(innerHeight / LINES / code, this.notebook.node.clientWidth / NARROWEST);
    return Math.max(LEAST_CODE / code, size) * this.zoom;
  }

  draw(cells, scale) {
    for (const { node } of cells) node.style.setProperty("--mg-picture", scale);
  }

  // Draw the pictures of these cells as large as fits on the screen, but no larger than a moment ago: a graph that lays
  // itself out again would swing, and a stepped widget would jump.
  enlarge(cells, low, most) {
    let high = Math.max(low, Math.min(most, ...cells.map((cell) => this.drawn.get(cell) ?? most)));
    const fits = (scale) => {
      this.draw(cells, scale);
      return this.height(cells) <= this.room;
    };
    if (fits(high)) return;
    for (let i = 0; i < HALVINGS; i += 1) {
      const middle = (low + high) / 2;
      if (fits(middle)) low = middle;
      else high = middle;
    }
    this.draw(cells, low);
  }

  // Fit anew, to another part, another screen or other outputs.
  refit() {
    this.drawn.clear();
    this.fit();
  }

  // Of cells one below the other, with the margins of a page.
  height(cells) {
    return cells.at(-1).node.getBoundingClientRect().bottom - cells[0].node.getBoundingClientRect().top + MARGIN;
  }

  get room() {
    return this.notebook.node.clientHeight;
  }

  // -- what keys and buttons do -----------------------------------------------------------------

  next() {
    if (this.below > 0) this.further();
    else if (this.step < this.page.steps.length - 1) this.go(this.at, this.step + 1);
    else if (this.at < this.pages.length - 1) this.go(this.at + 1, 0);
    else this.say("This is the end.");
  }

  // To the first cell that is not seen whole; and what is too high for a screen is scrolled.
  further() {
    const { bottom } = this.notebook.node.getBoundingClientRect();
    const first = this.onScreen.findIndex(({ node }) => Math.floor(node.getBoundingClientRect().bottom - bottom) > 0);
    if (!first) return this.scroller.scrollBy({ top: Math.min(this.below, SCREEN * this.notebook.node.clientHeight) });
    this.turned = this.from + first;
    this.refit();
    this.scroller.scrollTop = 0;
  }

  // Pixels of this page that are below the screen.
  get below() {
    return Math.floor(this.cells.at(-1).node.getBoundingClientRect().bottom - this.notebook.node.getBoundingClientRect().bottom);
  }

  get scroller() {
    return this.notebook.outerNode ?? this.notebook.node;
  }

  back() {
    if (this.turned) this.go(this.at, this.step);
    else if (this.step > 0) this.go(this.at, this.step - 1);
    else if (this.at > 0) this.go(this.at - 1, this.pages[this.at - 1].steps.length - 1);
  }

  first() { this.go(0, 0); }
  last() { this.go(this.pages.length - 1, 0); }
  run() {
    return this.running([...new Set([...this.unrun, ...this.cells])]);
  }

  alive() {
    this.live = !this.live;
    this.bar.querySelector("[data-do=alive]").setAttribute("aria-pressed", String(this.live));
    this.say("");
    if (this.live) this.running(this.unrun);
  }

  runAll() { return this.running(this.notebook.widgets); }
  black() { document.body.classList.toggle("mg-black"); }
  code() { this.panel.node.classList.toggle("mg-without-code"); this.refit(); }
  dark() { this.themes?.setTheme(this.themes.isLight(this.themes.theme) ? "JupyterLab Dark" : "JupyterLab Light"); }
  larger() { this.zoomed(this.zoom + ZOOM.step); }
  smaller() { this.zoomed(this.zoom - ZOOM.step); }
  fill() { document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen().catch(() => this.say("This browser keeps its window.")); }

  speak() {
    if (!this.speaker.open()) this.say("The browser does not open a window: allow it for this page.");
    this.show();
  }

  // The lecturer's page of an audience, over the slides.
  vote() {
    if (!this.votesAt) return this.say("Start with --audience, and the room answers by phone.");
    const shown = !this.votes?.isConnected;
    this.bar.querySelector("[data-do=vote]").setAttribute("aria-pressed", String(shown));
    if (!shown) { this.votes.remove(); return this.notebook.node.focus({ preventScroll: true }); }
    this.votes = Object.assign(document.createElement("iframe"), { className: "mg-votes", title: "The room's answers", src: this.votesAt });
    this.panel.node.append(this.votes);
  }

  // A key that was pressed in that page.
  told({ source, data }) {
    const key = source === this.votes?.contentWindow && data?.minigrad;
    if (key === "Escape" || key === "v") this.vote();
    else if (DEED.has(key)) this[DEED.get(key)]();
  }

  help() {
    const shown = this.keys?.isConnected;
    this.bar.querySelector("[data-do=help]").setAttribute("aria-expanded", String(!shown));
    if (shown) return this.keys.remove();
    this.keys = document.createElement("ul");
    this.keys.className = "mg-keys";
    this.keys.replaceChildren(...Object.values(KEYS).map(({ about }) => Object.assign(document.createElement("li"), { textContent: about })));
    this.panel.node.append(this.keys);
  }

  go(at, step) {
    Object.assign(this, { at, step, turned: 0 });
    this.show();
  }

  zoomed(zoom) {
    this.zoom = Math.min(ZOOM.most, Math.max(ZOOM.least, zoom));
    this.refit();
  }

  async running(cells) {
    const code = cells.filter(({ model }) => model.type === "code");
    if (!code.length) return;
    code.forEach((cell) => this.ran.add(cell));
    this.say("Running …");
    await this.kernel;
    const well = await this.answered(code);
    if (!this.bar) return;
    this.say(well ? "" : "A cell has raised an error.");
    this.refit();
  }

  // A kernel passes over what has arrived when a cell fails: what it passes over gets no number, and is asked again.
  async answered(code) {
    for (let tries = 0; tries < AGAIN.most; tries++) {
      if (await this.runCells(code)) return true;
      const asked = code.find(({ model }) => model.sharedModel.source.trim());
      if (asked?.model.executionCount !== null) return false;
      await new Promise((resolve) => setTimeout(resolve, AGAIN.milliseconds));
    }
    return false;
  }

  say(words) {
    this.bar.querySelector("output").textContent = words;
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const deed = DEED.get(event.key);
    const inside = event.target.closest?.(OWN_KEYS);
    const clicker = event.key === "PageDown" || event.key === "PageUp";
    if (!deed || (inside && !clicker && deed !== "exit") || (event.target.closest?.(".mg-bar button") && event.key === " ")) return;
    event.preventDefault();
    event.stopPropagation();
    if (inside && deed === "exit") this.notebook.node.focus({ preventScroll: true });
    else this[deed]();
  }

  madeBar() {
    const bar = document.createElement("div");
    bar.className = "mg-bar";
    bar.setAttribute("role", "toolbar");
    bar.setAttribute("aria-label", "Presentation");
    bar.innerHTML = BAR;
    bar.querySelector("[data-do=vote]").hidden = !this.votesAt;
    bar.addEventListener("click", ({ target }) => this[target.closest("[data-do]")?.dataset.do]?.());
    return bar;
  }
}

// A cell as Markdown, for the speaker's picture of the next page.
function source({ type, sharedModel }) {
  const text = sharedModel.getSource();
  return type === "code" && !ASKS.test(text) ? `\`\`\`\`python\n${text}\n\`\`\`\`` : text;
}

// Markdown as JupyterLab shows it, with nothing in it that would run.
async function rendered(rendermime, text) {
  const renderer = rendermime.createRenderer("text/markdown");
  await renderer.renderModel(rendermime.createModel({ data: { "text/markdown": text } }));
  const html = renderer.node.innerHTML;
  renderer.dispose();
  return html;
}

function ancestors(node) {
  const found = [];
  for (let each = node.parentElement; each && each !== document.body; each = each.parentElement) found.push(each);
  return found;
}
