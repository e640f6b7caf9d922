// The own answer and the true one on a number line: ▼ with how sure it was, ● and the gap between both. Before the true one
// is known, the own one stands alone; before that is, an empty line. A line of numbers of which one is 8 times the other is logarithmic.

function ticksOf(low, high, isLog) {
  const rough = (high - low) / 5, ten = 10 ** Math.floor(Math.log10(rough || 1));
  const step = isLog ? Math.ceil(rough) : ten * [1, 2, 5, 10].find((times) => ten * times >= rough);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => (first + i) * step);
}

function inShort(v) {
  const words = { maximumSignificantDigits: 6, notation: Math.abs(v) >= 1e5 ? "compact" : "standard" };
  return (v && Math.abs(v) < 1e-4 ? v.toExponential(0) : v.toLocaleString("en", words)).replaceAll("-", "−");
}

function numberLine({ unit, tolerance }, own, level, came, isRight) {
  const known = came !== undefined, isEmpty = own === undefined, isLog = known && own > 0 && came > 0 && Math.max(own / came, came / own) >= 8, at = isLog ? Math.log10 : (v) => v;
  const ends = known ? [own, came] : [isEmpty ? 0 : 2 * own], bounds = ends.map(at);
  const [low, high] = isLog ? [Math.floor(Math.min(...bounds)), Math.ceil(Math.max(...bounds))] : [Math.min(0, ...bounds), Math.max(0, ...bounds)];
  const place = (v) => 20 + (360 * (v - low)) / (high - low || 1), [x, y] = isEmpty ? [200, 200] : [own, known ? came : own].map((v) => place(at(v)));
  const [from, to] = [-1, 1].map((sign) => Math.min(Math.max(place(at(Math.max(came + sign * tolerance, isLog ? 10 ** low : -Infinity))), 8), 392));
  const isNear = known && tolerance > 0 && to - from > 6; // wide enough to be seen
  const named = (v) => `${inShort(v)} ${unit}`.trim(), words = known ? `result: ${named(came)}` + (isNear ? ` (±${inShort(tolerance)} is right)` : "") : "", half = 4 * words.length;
  const told = Math.min(Math.max(y, half), 400 - half), isFree = (v) => !known || Math.abs(place(v) - told) > half + 20;
  const ticks = isEmpty ? [] : ticksOf(low, high, isLog).map((v) => `<path class="mg-axis" d="M${place(v)},40v6"/>${isFree(v) ? `<text x="${place(v)}" y="62">${inShort(isLog ? 10 ** v : v)}</text>` : ""}`);
  const bars = [4, 8, 12].map((tall, i) => `<rect class="${i > level ? "mg-empty" : "mg-bar"}" x="${x - 8 + 6 * i}" y="${18 - tall}" width="4" height="${tall}"/>`);
  const line = make("div", { className: "mg-number-line", "aria-hidden": "true" });
  if (known) line.dataset.right = isRight;
  line.innerHTML = `<svg viewBox="0 0 400 68" width="400">${isNear ? `<rect class="mg-near-enough" fill-opacity="0.18" x="${from}" y="32" width="${to - from}" height="16"/>` : ""}
    <path class="mg-axis" d="M8,40H392"/>${ticks.join("")}${known ? `<path class="mg-gap" d="M${x},40H${y}"/><circle cx="${y}" cy="40" r="7"/><text class="mg-came" x="${told}" y="63"></text>` : ""}
    <path class="mg-own" data-empty="${isEmpty}" d="M${x - 7},22h14l-7,12z"/>${bars.join("")}<text class="mg-yours" x="${x + (x > 200 ? -14 : 16)}" y="17" data-end="${x > 200}"></text></svg>`;
  if (known) line.querySelector(".mg-came").textContent = words;
  line.querySelector(".mg-yours").textContent = `you: ${isEmpty ? `? ${unit}` : named(own)}${known ? (isRight ? " ✓" : " ✗") : ""}`;
  return line;
}
