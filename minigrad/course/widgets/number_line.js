// An answer on a number line: ▼ with how sure it was, ● the result, and the gap between both. Before the result is known the
// answer stands alone; before an answer is typed the line is empty. It is logarithmic if one number is 8 times the other.

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

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

const withUnit = (v, unit) => `${inShort(v)} ${unit}`.trim();

// number → its place on the line, and the numbers of the ticks
function scaleOf(own, came) {
  const isLog = own > 0 && came > 0 && Math.max(own / came, came / own) >= 8, at = isLog ? (v) => Math.log10(Math.max(v, 1e-300)) : (v) => v;
  const ends = (came === undefined ? [2 * own] : [own, came]).map(at), all = isLog ? ends : [0, ...ends];
  const [low, high] = isLog ? [Math.floor(Math.min(...all)), Math.ceil(Math.max(...all))] : [Math.min(...all), Math.max(...all)];
  const place = (v) => 20 + (360 * (at(v) - low)) / (high - low || 1);
  return { place, ticks: ticksOf(low, high, isLog).map((v) => (isLog ? 10 ** v : v)) };
}

// The result: the range that is right, the gap, the dot, and its words, which hide the numbers of ticks that they cover
function resultOn(place, { unit, tolerance }, own, came) {
  const y = place(came), [low, high] = [-1, 1].map((sign) => clamp(place(came + sign * tolerance), 8, 392));
  const isNear = tolerance > 0 && high - low > 6; // wide enough to be seen
  const words = `result: ${withUnit(came, unit)}${isNear ? ` (±${inShort(tolerance)} is right)` : ""}`, half = 4 * words.length, middle = clamp(y, half, 400 - half);
  const near = isNear ? `<rect class="mg-near-enough" fill-opacity="0.18" x="${low}" y="32" width="${high - low}" height="16"/>` : "";
  const marks = `${near}<path class="mg-gap" d="M${place(own)},40H${y}"/><circle cx="${y}" cy="40" r="7"/><text class="mg-came" x="${middle}" y="63"></text>`;
  return { marks, words, covers: (x) => Math.abs(x - middle) < half + 20 };
}

function numberLine(question, own, level, came, isRight) {
  const isEmpty = own === undefined, known = came !== undefined, { place, ticks } = isEmpty ? { place: () => 200, ticks: [] } : scaleOf(own, came);
  const result = known && resultOn(place, question, own, came), x = place(own), toLeft = x > 200;
  const numbers = ticks.map((v) => `<path class="mg-axis" d="M${place(v)},40v6"/><text x="${place(v)}" y="62">${known && result.covers(place(v)) ? "" : inShort(v)}</text>`);
  const bars = [4, 8, 12].map((tall, i) => `<rect class="${i > level ? "mg-empty" : "mg-bar"}" x="${x - 8 + 6 * i}" y="${18 - tall}" width="4" height="${tall}"/>`);
  const line = make("div", { className: "mg-number-line", "aria-hidden": "true" });
  line.innerHTML = `<svg viewBox="0 0 400 68" width="400"><path class="mg-axis" d="M8,40H392"/>${numbers.join("")}${known ? result.marks : ""}
    <path class="mg-own" data-empty="${isEmpty}" d="M${x - 7},22h14l-7,12z"/>${bars.join("")}<text class="mg-yours" x="${x + (toLeft ? -14 : 16)}" y="17" data-end="${toLeft}"></text></svg>`;
  line.querySelector(".mg-yours").textContent = `you: ${isEmpty ? `? ${question.unit}` : withUnit(own, question.unit)}`;
  if (!known) return line;
  line.dataset.right = isRight;
  line.querySelector(".mg-came").textContent = result.words;
  line.querySelector(".mg-yours").textContent += isRight ? " ✓" : " ✗";
  return line;
}
