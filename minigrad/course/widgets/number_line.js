// The own answer and the true one on a number line: ▽ with how sure it was, ● and the gap between both. A line of numbers
// of which one is 8 times the other is logarithmic.

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

function numberLine(own, came, level, isRight) {
  const isLog = own > 0 && came > 0 && Math.max(own / came, came / own) >= 8, at = isLog ? Math.log10 : (v) => v;
  const [low, high] = isLog ? [Math.floor(at(Math.min(own, came))), Math.ceil(at(Math.max(own, came)))] : [Math.min(0, own, came), Math.max(0, own, came)];
  const place = (v) => 20 + (360 * (v - low)) / (high - low || 1), [x, y] = [place(at(own)), place(at(came))];
  const ticks = ticksOf(low, high, isLog).map((v) => `<path class="mg-axis" d="M${place(v)},40v6"/><text x="${place(v)}" y="60">${inShort(isLog ? 10 ** v : v)}</text>`);
  const bars = [4, 8, 12].map((tall, i) => `<rect class="${i > level ? "mg-empty" : "mg-bar"}" x="${x - 8 + 6 * i}" y="${18 - tall}" width="4" height="${tall}"/>`);
  const line = make("div", { className: "mg-number-line", "aria-hidden": "true" });
  line.dataset.right = isRight;
  line.innerHTML = `<svg viewBox="0 0 400 64" width="400"><path class="mg-axis" d="M8,40H392"/>${ticks.join("")}
    <path class="mg-gap" d="M${x},40H${y}"/><circle cx="${y}" cy="40" r="7"/><path class="mg-own" d="M${x - 7},22h14l-7,12z"/>${bars.join("")}</svg>`;
  return line;
}
