// Training: the network, the boundary and the loss at a frame, or how the numbers of the layers are spread. While the kernel trains, each new frame is shown. Without a
// kernel, or with data that the reader moved, a small network trains in the page (training_here.js).

const SVG = "http://www.w3.org/2000/svg";
const SIDE = 24, SHARP = 8; // grid points along each side, and pixels for each
const ONE = [58, 147, 210], OTHER = [222, 120, 24]; // class colours, for light and dark themes
const SPEEDS = [["0", "full speed"], ["50", "50 steps/s"], ["20", "20 steps/s"], ["5", "5 steps/s"]];
const SILENCE = 3000; // ms until a kernel that does not answer counts as gone
const BODY = `
  <div class="mg-training" role="toolbar" aria-label="Training">
    <button type="button" data-do="toggle"></button>
    <button type="button" data-do="step">Train 1 step</button>
    <button type="button" data-do="reset" title="Back to the first weights, to train in this page">Reset</button>
  </div>
  <div class="mg-settings mg-drags"><p class="mg-news" role="status"></p>
    <label>pace <select aria-label="Pace">${SPEEDS.map(([value, words]) => `<option value="${value}">${words}</option>`).join("")}</select></label>
  </div>
  <div class="mg-charts">
    <figure class="mg-network"><figcaption>Weights: <b style="color: var(--mg-forward)">blue</b> adds, <b style="color: var(--mg-backward)">dashed orange</b> subtracts</figcaption></figure>
    <figure class="mg-boundary"><figcaption>Answer: blue <b>○</b>, orange <b>+</b>. </figcaption><canvas width="${SIDE * SHARP}" height="${SIDE * SHARP}" aria-hidden="true"></canvas></figure>
    <figure class="mg-loss"><figcaption>Loss</figcaption></figure>
    <figure class="mg-layers"><figcaption></figcaption><table class="mg-table"></table></figure>
  </div>`;

function draw(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
const short = (x) => (x === undefined ? "·" : number(x, 3));

function lossChart(figure, label, width, height) {
  const left = 52, right = 10, top = 14, bottom = 26;
  const all = draw("polyline", { class: "mg-curve mg-later" }), past = draw("polyline", { class: "mg-curve" });
  const dot = draw("circle", { r: 5, class: "mg-now" }), below = draw("path", { class: "mg-area-of-loss" }), told = draw("text", { class: "mg-name" });
  const rules = draw("g", {}), end = draw("text", { x: width - right, y: height - 8, "text-anchor": "end", class: "mg-dim" });
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "mg-picture", style: `max-width: ${width}px` },
    draw("path", { class: "mg-axis", d: `M${left} ${top}V${height - bottom}H${width - right}` }), rules, end, below, all, past, dot, told);
  figure.append(svg);
  return (frames, n) => {
    const known = frames.flatMap(({ curve }) => curve).filter(([, loss]) => Number.isFinite(loss)), losses = known.map(([, loss]) => loss);
    const high = Math.max(...losses, 0) || 1, low = Math.min(...losses, 0);
    const last = Math.max(frames.at(-1).step, 1);
    const place = ([step, loss]) => [left + (width - left - right) * step / last, top + (height - top - bottom) * ((high - loss) / (high - low))];
    const line = (some) => some.map((point) => place(point).map((x) => x.toFixed(1)).join(",")).join(" ");
    rules.replaceChildren(...ticksOf(low, high).flatMap((tick) => {
      const y = place([0, tick])[1];
      return [draw("path", { class: "mg-axis", "stroke-opacity": 0.3, d: `M${left} ${y}H${width - right}` }), draw("text", { x: left - 6, y: y + 4, "text-anchor": "end", class: "mg-dim" }, number(tick))];
    }));
    all.setAttribute("points", line(known));
    const seen = known.filter(([step]) => step <= frames[n].step), foot = height - bottom;
    past.setAttribute("points", line(seen));
    below.setAttribute("d", seen.length ? `M${place(seen[0])[0]} ${foot}L${line(seen)}V${foot}z` : "");
    end.textContent = `step ${grouped(last)}`;
    const here = !Number.isFinite(frames[n].loss) ? null : place([frames[n].step, frames[n].loss]);
    told.textContent = here ? short(frames[n].loss) : "";
    dot.setAttribute("visibility", here ? "visible" : "hidden");
    if (here) dot.setAttribute("transform", `translate(${here})`);
    const x = here && Math.min(here[0] + 4, width - 56), peak = here && Math.min(here[1], ...seen.map(place).filter((point) => point[0] > x - 8).map((point) => point[1]));
    if (here) told.setAttribute("transform", `translate(${x} ${Math.max(peak - 12, 12)})`);
    svg.setAttribute("aria-label", `Loss over steps, from ${short(losses[0])} to ${short(losses.at(-1))}; ${label(frames[n])}`);
  };
}

// The network's confidence over the plane, and a sample of the data.
function boundaryChart(figure, corners) {
  const svg = draw("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, role: "group", class: "mg-picture" });
  const pen = figure.querySelector("canvas").getContext("2d");
  figure.append(svg);
  return ({ heat, right }) => {
    const sure = [...heat].map((letter) => (letter.charCodeAt() - 79) / 31).map((root) => root * Math.abs(root));
    pen.putImageData(painted(sure, SIDE * SHARP), 0, 0);
    const ones = sure.filter((x) => x > 0).length, how = svg.tabIndex ? "" : ". Keys N and P choose a point, arrows move it";
    svg.setAttribute("aria-label", `Of the plane, ${Math.round(100 * ones / (SIDE * SIDE))} % is said to be the class of the rings${right === null ? "" : `; ${short(100 * right)} % of the batch is right`}${how}`);
  };
}
function drawPoints(svg, points, [x0, y0, x1, y1], chosen) {
  svg.replaceChildren(...points.map(([x, y, one], i) => {
    const transform = `translate(${SIDE * (x - x0) / (x1 - x0)} ${SIDE * (y1 - y) / (y1 - y0)})`, look = `mg-mark${i === chosen ? " mg-chosen" : ""}`;
    return one ? draw("circle", { r: 0.3, class: look, transform }) : draw("path", { d: "M-.34 0H.34M0-.34V.34", class: `${look} mg-cross`, transform });
  }));
}
// Points that are dragged, or chosen by N and P and moved by arrow keys; moved(points) when one has a new place.
function dragPoints(svg, corners, points, moved) {
  const [x0, y0, x1, y1] = corners, d = { points, chosen: -1, held: false };
  const put = (x, y) => {
    const place = [Math.min(Math.max(x, x0), x1), Math.min(Math.max(y, y0), y1), d.points[d.chosen][2]];
    d.points = d.points.map((point, i) => (i === d.chosen ? place : point));
    drawPoints(svg, d.points, corners, d.chosen);
  };
  const placeOf = ({ clientX, clientY }) => {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [x0 + x / SIDE * (x1 - x0), y1 - y / SIDE * (y1 - y0)];
  };
  const far = ([x, y], [a, b]) => Math.hypot((x - a) / (x1 - x0), (y - b) / (y1 - y0));
  svg.addEventListener("pointerdown", (event) => {
    const at = placeOf(event), nearest = d.points.map((point) => far(point, at));
    d.chosen = nearest.indexOf(Math.min(...nearest));
    d.held = nearest[d.chosen] < 0.06;
    if (d.held) svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => { if (d.held) put(...placeOf(event)); });
  svg.addEventListener("pointerup", () => { if (d.held) moved(d.points); d.held = false; });
  svg.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key], turn = { n: 1, p: -1 }[event.key.toLowerCase()];
    if (event.ctrlKey || event.metaKey || event.altKey || (!turn && !(by && d.chosen >= 0))) return;
    event.preventDefault();
    event.stopPropagation();
    if (turn) d.chosen = (d.chosen < 0 && turn < 0 ? d.points.length : d.chosen + d.points.length) + turn;
    d.chosen %= d.points.length;
    const [x, y] = d.points[d.chosen];
    put(x + (by ?? [0, 0])[0] * (x1 - x0) / 40, y + (by ?? [0, 0])[1] * (y1 - y0) / 40);
    if (by) moved(d.points);
  });
}
// Updates the squares and lines of Python's picture to a frame. A canvas below it shows each unit's output.
function networkChart(figure, { layers, picture }, corners) {
  figure.insertAdjacentHTML("beforeend", `<canvas width="370" height="300" aria-hidden="true"></canvas>${picture}`);
  const [canvas, svg] = figure.querySelectorAll("canvas, svg"), pen = canvas.getContext("2d");
  const title = svg.firstElementChild, names = [...svg.querySelectorAll(".mg-sign")].map((each) => each.textContent).join(", ");
  const columns = [...layers, []].flatMap((layer, k) => (Array.isArray(layer) ? [k] : [])); // indices of their results
  const parts = [...svg.querySelectorAll("[data-at]")].map((part) => [part, ...part.dataset.at.split(",").map(Number)]);
  return (all, n) => {
    const weights = all[n].weights.map((numbers) => numbers.map((x) => x ?? NaN)), results = resultsOf({ layers, parameters: weights.map((numbers) => ({ numbers })) }, corners);
    for (const [part, k, i] of parts) if (part.matches("rect")) {
      const values = results.map((each) => each[columns[k]][i]), most = Math.max(1, ...values.map(Math.abs));
      pen.putImageData(painted(values.map((x) => x / most), part.width.baseVal.value, 0), part.x.baseVal.value, part.y.baseVal.value);
    } else {
      const weight = weights[k][i];
      part.setAttribute("stroke-width", Math.min(0.5 + 1.4 * Math.abs(weight) || 0.5, 9)); // as in Python
      part.dataset.sign = Math.sign(weight);
      part.firstChild.textContent = short(weight);
    }
    title.textContent = `The network: ${names}; its weights and biases are from ${short(Math.min(...weights.flat()))} to ${short(Math.max(...weights.flat()))}`;
  };
}
function painted(sure, size, least = 0.12) {
  const image = new ImageData(size, size), mix = (a, b, share) => a + (b - a) * share;
  const places = Array.from({ length: size }, (_, p) => Math.min(Math.max((p + 0.5) * SIDE / size - 0.5, 0), SIDE - 1.001));
  for (let p = 0; sure.length && p < size * size; p++) {
    const x = places[p % size], y = places[Math.floor(p / size)], at = Math.floor(y) * SIDE + Math.floor(x);
    const here = mix(mix(sure[at], sure[at + 1], x % 1), mix(sure[at + SIDE], sure[at + SIDE + 1], x % 1), y % 1);
    for (let i = 0; i < 3; i++) image.data[4 * p + i] = (here > 0 ? ONE : OTHER)[i];
    image.data[4 * p + 3] = 255 * (least + 0.5 * Math.sqrt(Math.abs(here)));
  }
  return image;
}

// A histogram on the axis from −most to most.
function histogram(spread, most) {
  if (!spread) return "·";
  const [low, high] = [spread.low, spread.high].map((x) => x / (most || 1)), wide = (high - low) / 15;
  const bars = [...spread.bars].map((bar, i) => draw("rect", { x: low + i * wide, y: 27 - 3 * bar, width: Math.max(wide, 0.01), height: 3 * bar }));
  return draw("svg", { viewBox: "-1 0 2 27", preserveAspectRatio: "none", role: "img", "aria-label": `from ${short(spread.low)} to ${short(spread.high)}`, class: "mg-bars" }, draw("path", { d: "M0 0V27" }), ...bars);
}
// Weights on the same axis at all frames, gradients on that of this frame.
const layersChart = (figure, table) => (all, n) => {
  const { layers, of } = all[n], numbers = (frames, key) => frames.flatMap((frame) => frame.layers.flatMap((layer) => (layer[key] ? [layer[key].low, layer[key].high] : [])));
  const most = [["weights", all], ["gradients", [all[n]]]].map(([key, frames]) => [key, Math.max(0, ...numbers(frames, key).map(Math.abs))]);
  const ends = most.map(([, far]) => `<td><div>${far ? [-far, 0, far].map((x) => `<span>${number(x, 2)}</span>`).join("") : ""}</div></td>`).join("");
  table.innerHTML = `<tr><th></th><th>weights</th><th>gradients</th></tr>${"<tr><th scope=row></th><td></td><td></td></tr>".repeat(layers.length)}<tr><td></td>${ends}</tr>`;
  layers.forEach((layer, i) => {
    const [head, ...cells] = table.rows[i + 1].cells;
    head.append(...layer.name.split(/(?<=\.)/).flatMap((part) => [part, made("wbr")])); // a long name breaks after a dot
    cells.forEach((cell, k) => cell.append(histogram(layer[most[k][0]], most[k][1])));
  });
  figure.querySelector("figcaption").textContent = `How the numbers are spread${of > layers.length ? `: the ${layers.length} largest of ${of} parameters` : ""}`;
};

function render({ model, el }) {
  // The state: the frames on the screen, whether they come from the page's own training, and the state of the training.
  const v = { model, root: null, frames: [...model.get("frames")], charts: null, isHere: false, state: model.get("state"), kernelState: model.get("state"), silence: 0 };
  const show = (n, root) => {
    v.charts ??= chartsOf(v, root);
    for (const chart of v.charts) chart(v.frames, n);
    return { phase: "", say: v.frames[n].say, count: `${grouped(v.frames[n].step)} of ${grouped(v.frames.at(-1).step)}` };
  };
  const take = (all) => { v.frames = all; grow(all.length - 1); };
  const news = (state) => { v.state = state; take(v.frames); showState(v); };
  const fromKernel = (act) => (said) => { clearTimeout(v.silence); if (!v.isHere) act(said); };
  const onMessage = fromKernel(({ frame }) => { if (frame?.step > v.frames.at(-1).step) take([...v.frames, frame]); });
  const onFrames = fromKernel(() => take([...model.get("frames")]));
  const onState = () => {
    if (model.get("state") === "running" && v.kernelState !== "running") { v.here?.stop(); v.isHere = false; }
    v.kernelState = model.get("state");
    fromKernel(() => { v.state = v.kernelState; showState(v); })();
  };
  const onRate = () => tell(rate, model.get("rate"));
  const heard = Object.entries({ "change:frames": onFrames, "change:state": onState, "change:news": onState, "change:planned": onState, "change:rate": onRate, "msg:custom": onMessage });
  if (!model.send) model.set("index", 0); // a saved page: its reader plays the training
  const { root, grow, destroy } = stepper({ model, el, phases: [], last: v.frames.length - 1, body: BODY, show, says: () => [v.frames.at(-1).say], heard });
  v.root = root;
  v.here = model.get("program").loss ? trainer(model, (frames, state) => { v.frames = frames; news(state); }) : null;
  const rate = controlsOf(v, root);
  showState(v);
  onRate();
  return () => { clearTimeout(v.silence); v.here?.stop(); destroy(); };
}

function chartsOf(v, root) { // each draws (frames, n)
  const { model } = v, corners = model.get("corners"), program = model.get("program");
  const [network, boundary, loss, layers] = root.querySelectorAll(".mg-charts > figure");
  const charts = [lossChart(loss, ({ say }) => say, ...(corners.length ? [290, 305] : [400, 340]))];
  boundary.hidden = !corners.length;
  network.hidden = !program.layers;
  layers.hidden = !network.hidden;
  if (program.layers) charts.push(networkChart(network, program, corners));
  if (corners.length) {
    const chart = boundaryChart(boundary, corners), svg = boundary.querySelector("svg");
    drawPoints(svg, model.get("points"), corners);
    charts.push((all, n) => chart(all[n]));
    if (program.loss) {
      svg.tabIndex = 0;
      boundary.dataset.drags = "";
      boundary.querySelector("figcaption").append(made("b", { className: "mg-more", textContent: "Drag a point!" }));
      dragPoints(svg, corners, model.get("points"), (points) => movePoints(v, points));
    }
  }
  if (!layers.hidden) charts.push(layersChart(layers, layers.querySelector("table")));
  return charts;
}
function movePoints(v, points) {
  v.here.move(points);
  if (!v.isHere) startHere(v);
  v.here.run(v.model.get("planned"));
}
function startHere(v) {
  if (!v.isHere && v.state === "running") v.model.send?.({ do: "pause" });
  v.isHere = true;
  v.here.start();
}

// Do it in the kernel if that answers, otherwise in the page.
function press(v, deed) {
  const { model } = v;
  if (deed === "reset") return startHere(v);
  if (v.isHere) return v.here[deed === "step" ? "step" : { running: "pause", paused: "resume" }[v.state] ?? "run"](model.get("planned"));
  if (!model.send) {
    startHere(v);
    return press(v, deed);
  }
  model.send({ do: deed === "step" ? "step" : { running: "pause", paused: "resume" }[v.state] ?? "run" });
  clearTimeout(v.silence);
  v.silence = setTimeout(() => {
    if (v.here) { startHere(v); v.here[deed === "step" ? "step" : "run"](model.get("planned")); }
    else v.root.querySelector(".mg-news").textContent = NO_KERNEL;
  }, SILENCE);
}
const NO_KERNEL = "No kernel runs: to train, run the notebook's cells up to this one.";

function controlsOf(v, root) { // returns the slider of the learning rate
  const { model } = v, training = root.querySelector(".mg-training"), settings = root.querySelector(".mg-settings"), pace = settings.querySelector("select"), first = model.get("rate");
  training.hidden = pace.parentNode.hidden = !model.send && !v.here;
  root.classList.toggle("mg-trains", !training.hidden); // then these buttons take the place of the player's
  root.querySelector(".mg-top").prepend(training);
  root.addEventListener("keydown", (event) => {
    if (event.key === " " && event.target === root && !training.hidden) { event.preventDefault(); event.stopImmediatePropagation(); press(v, "toggle"); }
  }, true);
  training.querySelector("[data-do=reset]").hidden = !v.here;
  settings.append(slider("rate", "learning rate", "learning rate", { min: 0, max: 12 * first, step: first / 10 }));
  const rate = settings.querySelector("input");
  rate.parentNode.hidden = training.hidden || !first;
  training.addEventListener("click", ({ target }) => {
    const pressed = target.closest("[data-do]");
    if (pressed) press(v, pressed.dataset.do);
  });
  pace.addEventListener("change", () => { model.set("speed", Number(pace.value)); model.save_changes(); });
  rate.addEventListener("input", () => { model.set("rate", Number(rate.value)); model.save_changes(); });
  pace.value = String(model.get("speed"));
  return rate;
}
function newsOf({ model, isHere, here, state, frames }) {
  if (state === "running") return "Training. Pause it to look back.";
  const { step, loss } = frames.at(-1);
  const known = state !== "finished" || model.send ? model.get("news") : `A run to step ${grouped(step)} is recorded: ${here ? "the slider" : "Play"} shows it.`;
  if (!isHere) return model.send ? known : `${known} ${here ? "The buttons train again." : NO_KERNEL}`;
  if (loss !== null && !Number.isFinite(loss)) return "The loss is no longer a number. A smaller learning rate may help.";
  return { ready: `Training starts in this page, from the first weights.${model.send ? " The kernel's model does not change." : ""}`, paused: `Paused after step ${grouped(step)}.` }[state] ?? `${step === 1 ? "1 step is" : `${grouped(step)} steps are`} done, in this page.`;
}
function showState(v) {
  const { model, root, isHere, state } = v, isDead = !isHere && !model.send, planned = model.get("planned");
  root.dataset.state = state;
  root.querySelector(".mg-news").textContent = newsOf(v);
  root.querySelector("[data-do=toggle]").innerHTML = `${ICONS[state === "running" ? "pause" : "play"]} ` + ((isDead ? null : { running: "Pause", paused: "Resume" }[state]) ?? `Train ${grouped(planned)} step${planned > 1 ? "s" : ""}`);
  root.querySelector(".mg-say").setAttribute("aria-live", state === "running" ? "off" : "polite"); // too fast to read out
  for (const control of root.querySelectorAll(":is(.mg-training, .mg-settings) :is(button, select, input)")) control.disabled = state === "closed" && !v.here;
}

export default { render };
