// The playground: a field for a text, its graphs, and the address that holds the state. Its HTML is playground.html.
const PAUSE = 350, FLOW = 1000; // ms without a key press until the text is read; ms of the motion
const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, End: Infinity, Home: -Infinity };
// The range of a slider: the power of 10 above 1.5 times its value, or 10 for 0.
const reachOf = (x) => (x && Number.isFinite(x) ? 10 ** Math.min(308, Math.max(-300, Math.ceil(Math.log10(1.5 * Math.abs(x))))) : 10);
class Playground {
  constructor(place) {
    Object.assign(this, { place, given: new Map(), reaches: new Map(), pictures: {}, timers: {}, drag: null, now: 0 });
    this.find = (selector) => place.querySelector(selector);
    this.field = this.find("textarea");
    this.graphs = this.find(".play-graphs");
    if (!this.open(location.hash)) this.typed(false);
    this.states = [this.state];
    this.listen();
  }
  listen() {
    const on = (event, f, target = this.place) => target.addEventListener(event, f);
    on("beforeinput", (event) => this.edit(event), this.field);
    on("input", ({ target }) => { this.still(); this.later("read", () => this.typed(), target === this.field ? PAUSE : 0); });
    on("click", ({ target }) => this.press(target.closest("button")?.dataset));
    on("pointerdown", (event) => this.grab(event));
    on("pointermove", ({ clientX }) => this.drag?.(clientX));
    on("pointerup", ({ clientX }) => { this.drag?.(clientX); this.drag = null; this.draw(); });
    on("pointercancel", () => { this.drag = null; }); // the finger scrolls the page instead
    on("keydown", (event) => this.key(event));
    on("hashchange", () => this.open(location.hash) && this.keep(), window);
    new ResizeObserver(() => { if (this.width !== this.graphs.clientWidth) this.draw(); }).observe(this.graphs);
  }
  later(name, f, pause = PAUSE) {
    clearTimeout(this.timers[name]);
    this.timers[name] = setTimeout(f, pause);
  }
  press(button) { // an example, "Copy link" or "Replay the flow"
    if (button?.state) this.open(button.state);
    else if (button?.play) this.flow();
    if (button) this.keep();
  }

  // The state: the text, the view, and the values of leaves that the text does not assign.
  get view() { return this.find("input:checked").value; }
  typed(isChange = true) {
    this.reaches.clear();
    if (this.read()) this.flow();
    if (isChange) this.keep();
  }
  get state() {
    const values = [...this.given].map((pair) => pair.join(":")).join(",");
    return `#${new URLSearchParams({ play: this.field.value, view: this.view, at: values })}`;
  }
  keep() {
    history.replaceState(null, "", this.state);
    if (this.state !== this.states[this.now]) this.states.splice(++this.now, Infinity, this.state);
  }
  undo(by) { // the browser's own undo knows nothing of drags, and would corrupt the text
    this.keep();
    this.now = Math.min(this.states.length - 1, Math.max(0, this.now + by));
    this.open(this.states[this.now]);
    this.keep();
  }
  edit(event) { // before the text changes
    if (event.inputType.startsWith("history")) event.preventDefault();
    else if (this.field.selectionEnd - this.field.selectionStart === this.field.value.length) this.given.clear(); // a new text
  }
  open(hash) {
    const state = new URLSearchParams(hash.slice(1)), view = state.get("view");
    if (!state.has("play")) return false;
    const values = (state.get("at") ?? "").split(",").map((pair) => [pair.split(":")[0], Number.parseFloat(pair.split(":")[1])]);
    this.given = new Map(values.filter(([, x]) => Number.isFinite(x)));
    this.field.value = state.get("play").slice(0, 2 * LONGEST);
    this.find(`input[value=${["static", "both"].includes(view) ? view : "eager"}]`).checked = true;
    this.typed(false);
    return true;
  }

  // Reads the text, and returns whether it is right. With a mistake in it, the last good graph stays.
  read() {
    const text = this.field.value, error = this.find(".play-error"), summary = this.find("summary code"), views = this.view === "both" ? ["eager", "static"] : [this.view];
    let wrong = null;
    this.field.rows = Math.min(12, text.split("\n").length);
    try {
      this.records = views.map((view) => ({ view, ...recorded(text, this.given, view === "static") }));
      this.text = text;
      const isFree = ([name]) => this.records[0].nodes.some((leaf) => leaf.name === name && leaf.kind === "leaf" && !leaf.places);
      this.given = new Map([...this.given].filter(isFree));
    } catch (raised) {
      if (raised.at === undefined) throw raised; // a bug of ours, not a mistake of the visitor's
      wrong = raised;
    }
    error.hidden = !wrong;
    (wrong ? pointed(text, wrong) : ["", "", ""]).forEach((part, i) => { error.children[i].textContent = part; });
    if (summary && !wrong) summary.textContent = text.trim().split(/[\n;]/).at(-1).trim();
    this.field.setAttribute("aria-invalid", Boolean(wrong));
    if (!wrong) this.draw();
    return !wrong;
  }

  // Draws the graphs, in one direction, if one has another shape or longer labels, and writes all numbers.
  draw() {
    if (!this.records) return;
    const { records, pictures, graphs, shape: before } = this, focus = document.activeElement, { key } = focus.dataset;
    const focused = key && `[data-view="${focus.closest("figure")?.dataset.view}"] [data-key="${key}"]`;
    const { clientWidth: room } = graphs, width = records.length > 1 && room >= 640 ? (room - 16) / 2 : room;
    const boxesOf = ({ nodes }) => nodes.map(({ op, of, used, value, name, kind }) => [op, of, used, lengthOf(value), name, kind]);
    const labels = this.drag ? this.labels : records.map(({ edges }) => edges.map((edge) => edge.rows.length && chipSize(edge)[0])); // a drag moves no box
    const shape = JSON.stringify([width, labels, records.map((record) => [record.view, boxesOf(record), record.edges.map(({ rows }) => rows.length)])]);
    Object.assign(this, { shape, labels, width: room });
    for (const record of records) {
      if (shape !== before) pictures[record.view] = drawn(record, width - 12, records);
      const { figure, refresh: write } = pictures[record.view];
      write(record, (leaf, x) => this.reaches.get(leaf) ?? this.reaches.set(leaf, reachOf(x)).get(leaf));
      figure.dataset.view = record.view;
      figure.firstElementChild.textContent = caption(record.view, record);
    }
    const figures = records.map((record) => pictures[record.view].figure);
    if (figures.length !== graphs.children.length || figures.some((one, i) => one !== graphs.children[i])) graphs.replaceChildren(...figures);
    if (key) this.find(focused)?.focus();
    this.find(".play-say").ariaLive = key ? "off" : "polite"; // a screen reader already reads the slider's value
    this.find(".play-say").textContent = [...new Set(records.map(sentence))].join(" In the static graph: ");
  }
  flow() {
    this.still();
    void this.place.offsetWidth; // forces a reflow, which restarts the animation
    this.place.classList.add("play-flowing");
    this.later("flow", () => this.still(), FLOW);
  }
  still() { this.place.classList.remove("play-flowing"); }
  // The number of a leaf with the key "leaf:number", dragged or changed by keys.
  number(key) {
    const [n, i] = key.split(":").map(Number), leaf = this.records[0].nodes.filter(({ kind }) => kind === "leaf")[n];
    return { leaf, i, x: at(leaf.value, i), reach: this.reaches.get(key) };
  }
  grab(event) {
    const slider = event.target.closest(".play-slider");
    if (!slider) return;
    event.preventDefault();
    slider.focus();
    this.place.setPointerCapture(event.pointerId);
    const { key } = slider.dataset, { x, reach } = this.number(key), { left, width } = slider.querySelector(".play-track").getBoundingClientRect();
    const there = (pixel) => ((2 * (pixel - left)) / width - 1) * reach;
    const off = event.target.matches(".play-grip") ? 0 : x - there(event.clientX); // on the track, the knob comes
    this.drag = (pixel) => { if (!off || pixel !== event.clientX) this.move(there(pixel) + off, key); };
    if (event.pointerType === "mouse") this.drag(event.clientX);
  }
  key(event) {
    const { key } = event.target.dataset, undo = (event.ctrlKey || event.metaKey) && { z: event.shiftKey ? 1 : -1, y: 1 }[event.key.toLowerCase()];
    if (event.key === "Escape") this.still();
    if (undo) { event.preventDefault(); this.undo(undo); }
    if (!key || !(event.key in STEPS)) return;
    event.preventDefault();
    const { x, reach } = this.number(key);
    this.move(x + (STEPS[event.key] * reach) / 50, key);
  }
  move(wanted, key) {
    if (this.field.value !== this.text && !this.read()) return;
    const { leaf, i, reach } = this.number(key), step = reach / 100, [from, to] = leaf.places?.[i] ?? [];
    const x = Number((Math.round(Math.min(reach, Math.max(-reach, wanted)) / step) * step).toPrecision(6));
    if (leaf.places) this.field.value = this.text.slice(0, from) + x + this.text.slice(to);
    else this.given.set(leaf.name, x);
    this.still();
    this.read();
    this.later("keep", () => this.keep());
  }
}
