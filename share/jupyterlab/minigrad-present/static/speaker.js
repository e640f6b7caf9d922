// The window for whoever speaks: the time, the place, the notes, and what comes next. It can be dragged to another
// screen; keys pressed in it turn the pages.

const SECOND = 1000;
const PAGE = `
  <p><b data-time></b> <span data-place></span></p><h1 data-title></h1><div data-notes></div><p>Next: <span data-next></span></p><div data-preview></div>`;
const CSS = `:root { color-scheme: light dark } body { font: 1.3rem/1.5 sans-serif; margin: 1.5rem; max-width: 40rem }
  h1 { font-size: 1.4rem } b { font-variant-numeric: tabular-nums } .jp-InternalAnchorLink { display: none }
  p:has([data-time]) { position: sticky; top: 0; margin: 0; background: Canvas }
  [data-preview] { zoom: .6; max-height: 34rem; overflow: hidden; border: 2px solid GrayText; padding: 0 1rem } [data-preview]:empty { display: none }
  [data-preview] pre { white-space: pre-wrap }`;

export class Speaker {
  // began in milliseconds since 1970; minutes that the lesson is planned for, or undefined; press(event) hears keys;
  // render(text) promises Markdown as HTML that is safe
  constructor({ began, minutes, press, render }) {
    Object.assign(this, { began, minutes, press, render });
  }

  // Whether the browser has given us a window.
  open() {
    if (this.window && !this.window.closed) {
      this.window.focus();
      return true;
    }
    this.window = window.open("", "minigrad-notes", "width=640,height=520");
    if (!this.window) return false;
    const { document } = this.window;
    document.title = "Notes";
    document.documentElement.lang = "en";
    document.body.innerHTML = PAGE;
    document.head.append(Object.assign(document.createElement("style"), { textContent: CSS }));
    document.addEventListener("keydown", this.press);
    this.clock = setInterval(() => this.tick(), SECOND);
    return true;
  }

  tell({ place, page, next, preview }) {
    if (!this.window || this.window.closed) return;
    const put = (name, text) => { this.window.document.querySelector(`[data-${name}]`).textContent = text; };
    put("place", place);
    put("title", page.title);
    this.page = page;
    const fill = (name, text) => this.render(text).then((html) => {
      if (this.page === page && !this.window.closed) this.window.document.querySelector(`[data-${name}]`).innerHTML = html;
    });
    fill("notes", page.notes.join("\n\n") || "No notes for this page.");
    fill("preview", preview);
    put("next", next ? next.title || "(no heading)" : "the end");
    this.tick();
  }

  tick() {
    if (this.window.closed) return clearInterval(this.clock);
    const seconds = Math.floor((Date.now() - this.began) / SECOND);
    const of = this.minutes ? ` of ${this.minutes} min` : "";
    this.window.document.querySelector("[data-time]").textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}${of}`;
  }

  close() {
    clearInterval(this.clock);
    this.window?.close();
  }
}
