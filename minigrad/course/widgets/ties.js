// Lines behind a film's panels: from the code that runs to the boxes it makes.

const placeOf = (part) => (part.querySelector(".mg-frame") ?? part).getBoundingClientRect();

function pairs(root) {
  const from = root.querySelector(".mg-code .mg-hot");
  return from ? [...root.querySelectorAll(".mg-hot:is(.mg-op, .mg-said)")].map((part) => [from, part]) : [];
}

// A curve between the nearer sides of two parts; to a part below (on a phone), a line around its right side.
function tie([from, to]) {
  const a = placeOf(from), b = placeOf(to), sign = a.left + a.right < b.left + b.right ? 1 : -1;
  const [x, near, far] = sign > 0 ? [a.right, b.left, b.right] : [a.left, b.right, b.left];
  const y = (a.top + a.bottom) / 2, down = (b.top + b.bottom) / 2, half = (x + near) / 2, isBelow = (near - x) * sign < 0;
  const [end, dx] = isBelow ? [far, -sign] : [near, sign], aside = (sign > 0 ? Math.max : Math.min)(x, far) + 6 * sign;
  const path = isBelow ? `M${x},${y}H${aside}V${down}H${far}` : `M${x},${y}C${half},${y} ${half},${down} ${near},${down}`;
  return `<path pathLength="1" d="${path}"/><polygon points="${end},${down} ${end - 9 * dx},${down - 4 * dx} ${end - 9 * dx},${down + 4 * dx}"/>`;
}
function decorate(f, n, root) {
  if (!f.web) {
    root.insertAdjacentHTML("beforeend", '<svg class="mg-ties" aria-hidden="true"></svg>');
    f.web = root.lastElementChild;
    new ResizeObserver(() => drawTies(f, root)).observe(root);
    root.addEventListener("scroll", () => drawTies(f, root), true);
  }
  for (const [, part] of pairs(root)) follow(part.closest(".mg-view"), part);
  drawTies(f, root);
}
function drawTies(f, root) {
  const { left, top, width, height } = f.web.getBoundingClientRect(), ties = pairs(root).map(tie).join("");
  f.web.setAttribute("viewBox", `${left} ${top} ${width} ${height}`);
  if (ties !== f.ties) f.web.innerHTML = f.ties = ties;
}
