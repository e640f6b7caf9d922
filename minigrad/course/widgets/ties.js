// Lines behind a film's panels, between the `pairs` of parts that a widget's own file finds.

const placeOf = (part) => (part.querySelector(".mg-frame") ?? part).getBoundingClientRect();

// A curve between the nearer sides of two parts; to a part below (on a phone), a line around its right side.
function tie([from, to, look = ""]) {
  const a = placeOf(from), b = placeOf(to), sign = a.left + a.right < b.left + b.right ? 1 : -1;
  const [x, near, far] = sign > 0 ? [a.right, b.left, b.right] : [a.left, b.right, b.left];
  const y = (a.top + a.bottom) / 2, down = (b.top + b.bottom) / 2, half = (x + near) / 2, isBelow = (near - x) * sign < 0;
  const [end, dx] = isBelow ? [far, -sign] : [near, sign], aside = (sign > 0 ? Math.max : Math.min)(x, far) + 6 * sign;
  const path = isBelow ? `M${x},${y}H${aside}V${down}H${far}` : `M${x},${y}C${half},${y} ${half},${down} ${near},${down}`;
  const tip = `${end},${down} ${end - 9 * dx},${down - 4 * dx} ${end - 9 * dx},${down + 4 * dx}`;
  return `<path class="${look}" pathLength="1" d="${path}"/><polygon class="${look}" points="${tip}"/>`;
}
function decorate(f, n, root) {
  if (!f.web) {
    root.insertAdjacentHTML("beforeend", '<svg class="mg-ties" aria-hidden="true"></svg>');
    f.web = root.lastElementChild;
    new ResizeObserver(() => drawTies(f, root)).observe(root);
    root.addEventListener("scroll", () => drawTies(f, root), true);
  }
  for (const [, part] of pairs(root)) follow(part?.closest?.(".mg-view"), part);
  drawTies(f, root);
}
function drawTies(f, root) {
  const { left, top, width, height } = f.web.getBoundingClientRect(), ties = pairs(root).map((pair) => (pair.map ? tie(pair) : pair)).join("");
  f.web.setAttribute("viewBox", `${left} ${top} ${width} ${height}`);
  if (ties !== f.ties) f.web.innerHTML = f.ties = ties;
}
