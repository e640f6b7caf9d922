// Training: the loss, the boundary and the layers at a frame. While the kernel trains, each new frame is
// shown; without a kernel, no button.

const SVG = "http://www.w3.org/2000/svg";
const SIDE = 24, SHARP = 8; // grid points along each side, and pixels for each
const ONE = [58, 147, 210], OTHER = [222, 120, 24]; // class colours, for light and dark themes
const PLOT = { width: 420, height: 200, left: 66, right: 14, top: 14, bottom: 26 };
const SPEEDS = [["0", "full speed"], ["50", "50 steps/s"], ["20", "20 steps/s"], ["5", "5 steps/s"]];
const BODY = `
  <p class="mg-news" role="status"></p>
  <div class="mg-training mg-drags" role="toolbar" aria-label="Training">
    <button type="button" data-do="toggle"></button>
    <button type="button" data-do="step">One step</button>
    <label>pace <select aria-label="Pace">${SPEEDS.map(([value, words]) => `<option value="${value}">${words}</option>`).join("")}</select></label>
  </div>
  <div class="mg-charts">
    <figure class="mg-loss"><figcaption>Loss</figcaption></figure>
    <figure class="mg-boundary"><canvas width="${SIDE * SHARP}" height="${SIDE * SHARP}" aria-hidden="true"></canvas><figcaption>What it says where: ○ and blue one class, + and orange the other; the darker, the surer</figcaption></figure>
    <figure class="mg-layers"><figcaption>How the numbers of each layer are spread</figcaption>
      <div class="mg-view"><table class="mg-table"><thead><tr><th>layer</th><th colspan="2">weights</th><th colspan="2">gradients</th></tr></thead><tbody></tbody></table></div></figure>
  </div>`;

function draw(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
const short = (x) => (x === undefined ? "·" : number(x, 3)); // before the first step there is no loss

// The loss, bold up to the shown frame.
function lossChart(figure, label) {
  const { width, height, left, right, top, bottom } = PLOT;
  const text = (x, y, anchor) => draw("text", { x, y, "text-anchor": anchor, class: "mg-dim" });
  const all = draw("polyline", { class: "mg-curve mg-later" }), past = draw("polyline", { class: "mg-curve" });
  const dot = draw("circle", { r: 5, class: "mg-now" });
  const most = text(left - 6, top + 4, "end"), least = text(left - 6, height - bottom + 4, "end"), end = text(width - right, height - 8, "end");
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "mg-picture" },
    draw("path", { class: "mg-axis", d: `M${left} ${top}V${height - bottom}H${width - right}` }), most, least, end, all, past, dot);
  figure.append(svg);
  return (frames, n) => {
    const known = frames.flatMap(({ curve }) => curve), losses = known.map(([, loss]) => loss);
    const high = Math.max(...losses, 0) || 1, low = Math.min(...losses, 0);
    const last = Math.max(frames.at(-1).step, 1);
    const place = ([step, loss]) => [left + (width - left - right) * step / last, top + (height - top - bottom) * (high - loss) / (high - low)];
    const line = (some) => some.map((point) => place(point).map((x) => x.toFixed(1)).join(",")).join(" ");
    all.setAttribute("points", line(known));
    past.setAttribute("points", line(known.filter(([step]) => step <= frames[n].step)));
    most.textContent = short(high);
    least.textContent = short(low);
    end.textContent = `step ${last}`;
    const here = frames[n].loss === null ? null : place([frames[n].step, frames[n].loss]);
    dot.setAttribute("visibility", here ? "visible" : "hidden");
    if (here) { dot.setAttribute("cx", here[0]); dot.setAttribute("cy", here[1]); }
    svg.setAttribute("aria-label", `Loss over steps, from ${short(losses[0])} to ${short(losses.at(-1))}; ${label(frames[n])}`);
  };
}

// The network's confidence over the plane, interpolated between the grid points, and a sample of the data.
function boundaryChart(figure, points, [x0, y0, x1, y1]) {
  const marks = points.map(([x, y, one]) => {
    const at = `translate(${SIDE * (x - x0) / (x1 - x0)} ${SIDE * (y1 - y) / (y1 - y0)})`;
    return one ? draw("circle", { r: 0.22, class: "mg-mark", transform: at }) : draw("path", { d: "M-.26 0H.26M0-.26V.26", class: "mg-mark mg-cross", transform: at });
  });
  const svg = draw("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, role: "img", class: "mg-picture" }, ...marks);
  const pen = figure.querySelector("canvas").getContext("2d");
  figure.append(svg);
  return ({ heat, right }) => {
    const sure = [...heat].map((letter) => (letter.charCodeAt() - 79) / 31).map((root) => root * Math.abs(root));
    pen.putImageData(painted(sure, SIDE * SHARP), 0, 0);
    const ones = sure.filter((x) => x > 0).length;
    svg.setAttribute("aria-label", `Of the plane, ${Math.round(100 * ones / (SIDE * SIDE))} % is said to be the class of the rings${right === null ? "" : `; ${short(100 * right)} % of the batch is right`}`);
  };
}
function painted(sure, size) {
  const image = new ImageData(size, size), mix = (a, b, share) => a + (b - a) * share;
  const places = Array.from({ length: size }, (_, p) => Math.min(Math.max((p + 0.5) / SHARP - 0.5, 0), SIDE - 1.001));
  for (let p = 0; sure.length && p < size * size; p++) {
    const x = places[p % size], y = places[Math.floor(p / size)], at = Math.floor(y) * SIDE + Math.floor(x);
    const here = mix(mix(sure[at], sure[at + 1], x % 1), mix(sure[at + SIDE], sure[at + SIDE + 1], x % 1), y % 1);
    for (let i = 0; i < 3; i++) image.data[4 * p + i] = (here > 0 ? ONE : OTHER)[i];
    image.data[4 * p + 3] = 255 * (0.12 + 0.5 * Math.sqrt(Math.abs(here)));
  }
  return image;
}

function histogram(spread) {
  if (!spread) return ["·", ""];
  const bars = [...spread.bars].map((bar, i) => draw("rect", { x: 5 * i, y: 27 - 3 * bar, width: 4, height: 3 * bar }));
  const [low, high] = [spread.low, spread.high].map(short);
  const svg = draw("svg", { viewBox: `0 0 ${5 * bars.length} 28`, width: 75, height: 28, role: "img", "aria-label": `from ${low} to ${high}`, class: "mg-bars" }, ...bars);
  return [svg, made("span", { textContent: `${low} … ${high}` })];
}
function layerRow({ name, weights, gradients }) {
  const row = made("tr");
  row.append(made("th", { scope: "row", textContent: name }));
  for (const content of [...histogram(weights), ...histogram(gradients)]) row.insertCell().append(content);
  return row;
}

function render({ model, el }) {
  let frames = [...model.get("frames")], charts = null;
  const show = (n, root) => {
    charts ??= chartsOf(model, root);
    for (const chart of charts) chart(frames, n);
    return { phase: "", say: frames[n].say };
  };
  const { root, grow, destroy } = stepper({ model, el, phases: [], last: frames.length - 1, body: BODY, show });
  const take = (all) => { frames = all; grow(all.length - 1); };
  const onMessage = ({ frame }) => { if (frame?.step > frames.at(-1).step) take([...frames, frame]); };
  const onFrames = () => take([...model.get("frames")]);
  const rate = controlsOf(model, root), onState = () => showState(model, root), onRate = () => tell(rate, model.get("rate"));
  const watched = { "change:frames": onFrames, "change:state": onState, "change:news": onState, "change:planned": onState, "change:rate": onRate, "msg:custom": onMessage };
  const each = (how) => Object.entries(watched).forEach(([event, heard]) => model[how](event, heard));
  each("on");
  onState();
  onRate();
  return () => { each("off"); destroy(); };
}

function chartsOf(model, root) { // each draws (frames, n)
  const layers = root.querySelector(".mg-layers tbody"), boundary = root.querySelector(".mg-boundary"), corners = model.get("corners");
  const charts = [lossChart(root.querySelector(".mg-loss"), ({ say }) => say)];
  boundary.hidden = !corners.length;
  if (corners.length) {
    const chart = boundaryChart(boundary, model.get("points"), corners);
    charts.push((all, n) => chart(all[n]));
  }
  charts.push((all, n) => layers.replaceChildren(...all[n].layers.map(layerRow)));
  return charts;
}

function controlsOf(model, root) { // returns the slider of the learning rate
  const training = root.querySelector(".mg-training"), pace = training.querySelector("select"), first = model.get("rate");
  training.hidden = !model.send;
  training.append(slider("rate", "learning rate", "learning rate", { min: 0, max: 12 * first, step: first / 10 }));
  const rate = training.querySelector("input"), deeds = { running: "pause", paused: "resume" };
  rate.parentNode.hidden = !first;
  training.addEventListener("click", ({ target }) => {
    const pressed = target.closest("[data-do]");
    if (pressed) model.send({ do: pressed.dataset.do === "step" ? "step" : deeds[model.get("state")] ?? "run" });
  });
  pace.addEventListener("change", () => { model.set("speed", Number(pace.value)); model.save_changes(); });
  rate.addEventListener("input", () => { model.set("rate", Number(rate.value)); model.save_changes(); });
  pace.value = String(model.get("speed"));
  return rate;
}
function showState(model, root) {
  const state = model.get("state");
  root.dataset.state = state;
  root.querySelector(".mg-news").textContent = state === "running" ? "Training. Pause it to look back." : model.get("news");
  root.querySelector("[data-do=toggle]").textContent = { running: "Pause", paused: "Resume" }[state] ?? `Train ${model.get("planned")} steps`;
  root.querySelector(".mg-say").setAttribute("aria-live", state === "running" ? "off" : "polite"); // too fast to read out
  for (const control of root.querySelectorAll(".mg-training :is(button, select, input)")) control.disabled = state === "closed";
}

export default { render };
