// MemoryTimeline: the cursor and the numbers of the step, and whose bytes the reader points at.
//
//   names    consumer → its name
//   live     for each moment, the bytes of each consumer, from the bottom up
//   held     [maker, bytes, the moment at which it was freed, [[moment, consumer], …]] of each array
//   makers   the ops and lines that made arrays, by number
//   since    moment → an earlier moment: arrays saved for backward until the earlier one live to the end of this one
//   numbers  the moments shown, if they are not all
//   runs     [words, checkpointing, micro-batches, planned, peak] of each combination of the switches; `way`, the words
//            of this one
//   plot     left, top and bottom of the plot, and the bytes at its top

const FEW = 2; // makers of arrays that are named
const sum = (numbers) => numbers.reduce((all, each) => all + each, 0);
const bytes = (n) => n.toLocaleString("en-US");

function decorate(f, n, root) {
  const { live, plot: [left, top, bottom, most] } = f.film, svg = root.querySelector("svg.mg-chart"), right = rightOf(svg);
  const x = left + (right - left) * (n + 0.5) / live.length, y = bottom - (bottom - top) / most * sum(live[n]);
  if (svg.querySelector("[data-series]:not([d])")) drawAreas(f.film, svg);
  const cursor = root.querySelector(".mg-cursor"), [line, ball] = cursor.children;
  cursor.style.transform = `translateX(${x}px)`;
  line.setAttribute("d", `M0,${y}V${bottom + 24}`);
  ball.setAttribute("cy", y);
  const future = root.querySelector(".mg-future");
  future.setAttribute("x", x);
  future.setAttribute("width", right - x);
  for (const [place, html] of [[".mg-numbers", numbersHTML], [".mg-runs", runsHTML]]) {
    const empty = root.querySelector(`${place}:empty`);
    if (empty) empty.innerHTML = html(f);
  }
  for (const cell of root.querySelectorAll("[data-now]")) {
    cell.textContent = bytes(cell.dataset.now === "total" ? sum(live[n]) : live[n][cell.dataset.now]);
  }
  f.at = n;
  f.root ??= listenToPointers(f, root);
  point(f, f.consumer, n);
}

const rightOf = (svg) => Number(svg.dataset.right ??= svg.querySelector(".mg-future").getAttribute("x")); // the end of the plot
function drawAreas({ live, plot: [left, top, bottom, most] }, svg) {
  const wide = (rightOf(svg) - left) / live.length, high = (bottom - top) / most;
  for (const part of svg.querySelectorAll("[data-series]")) {
    const tops = live.map((each) => bottom - high * sum(each.slice(0, Number(part.dataset.series) + 1)));
    part.setAttribute("d", `M${left},${bottom}${tops.map((y, k) => `V${y}H${left + wide * (k + 1)}`).join("")}V${bottom}z`);
  }
}

// The bytes of each consumer now and at the peak; it is the legend of the chart.
function numbersHTML({ film: { names, live } }) {
  const peak = live.reduce((most, each) => (sum(each) > sum(most) ? each : most));
  const row = (head, id, n) => `<tr><th scope="row">${head}</th><td data-now="${id}"></td><td>${bytes(n)}</td></tr>`;
  const rows = Object.entries(names).reverse().map(([i, name]) => row(`<button type="button" data-who="${i}">${swatch(i)}${name}</button>`, i, peak[i]));
  return `<table class="mg-table"><thead><tr><th scope="col">bytes</th><th scope="col">now</th><th scope="col">at peak</th></tr></thead>
    <tbody>${rows.join("")}${row("all", "total", sum(peak))}</tbody></table>`;
}
const swatch = (i) => `
  <svg class="mg-picture" width="18" height="14" viewBox="0 0 18 14" aria-hidden="true">
    <path class="mg-area mg-s${i}" d="M0,-1h18v16h-18z"/></svg>`;

// The peak of each run: bars that choose it, in a row for each number of micro-batches.
function runsHTML({ film: { runs, way } }) {
  const most = Math.max(...runs.map((run) => run.at(-1))), counts = [...new Set(runs.map((run) => run[2]))];
  const cell = ([says, , , , peak], n) => `
    <td><button type="button" data-run="${n}" aria-label="${says}: ${bytes(peak)} bytes"${says === way ? ' aria-current="true"' : ""}
      style="--share: ${100 * peak / most}%">${bytes(peak)}</button></td>`;
  const rows = counts.map((micro) => `<tr><th scope="row">${micro > 1 ? `in ${micro}` : "whole"}</th>
    ${runs.map((run, n) => (run[2] === micro ? cell(run, n) : "")).join("")}</tr>`);
  const heads = (...words) => words.map((each) => `<th scope="col">${each}</th>`).join("");
  const above = runs.some((run) => run[1]) ? '<tr><td></td><th scope="colgroup" colspan="2">no checkpoints</th><th scope="colgroup" colspan="2">checkpoints</th></tr>' : "";
  return runs.length ? `<p class="mg-title">The peak of each run</p><table class="mg-table"><thead>${above}
    <tr><th scope="col">batch</th>${heads("eager", "planned").repeat(above ? 2 : 1)}</tr></thead><tbody>${rows.join("")}</tbody></table>` : "";
}

function listenToPointers(f, root) {
  const panels = root.querySelector(".mg-panels"), release = () => point(f, undefined, f.at);
  for (const event of ["pointermove", "pointerdown"]) panels.addEventListener(event, ({ target, clientX }) => {
    const row = target.closest("[data-who]"), { series } = target.dataset;
    if (row) point(f, Number(row.dataset.who), f.at);
    else if (series) point(f, Number(series), momentAt(f.film, target.closest("svg"), clientX));
    else release();
  });
  panels.addEventListener("pointerleave", release);
  panels.addEventListener("focusin", ({ target }) => { if (target.dataset.who !== undefined) point(f, Number(target.dataset.who), f.at); });
  panels.addEventListener("focusout", release);
  panels.addEventListener("click", ({ target }) => {
    const run = target.closest("[data-run]");
    if (!run) return;
    const [, checkpointing, micro, planned] = f.film.runs[run.dataset.run], counts = f.model.get("choices")[1].options;
    f.model.set("choice", [Number(checkpointing), counts.indexOf(String(micro)), Number(planned)]);
    f.model.save_changes();
    root.querySelector("[data-run][aria-current]").focus();
  });
  return root;
}

// The moment at a horizontal position in the window.
function momentAt({ live, plot: [left] }, svg, clientX) {
  const frame = svg.getBoundingClientRect(), x = svg.viewBox.baseVal.width / frame.width * (clientX - frame.left);
  return Math.floor((x - left) / (rightOf(svg) - left) * live.length);
}

// Mark a consumer and say who holds its bytes; without a consumer, say nothing.
function point(f, consumer, moment) {
  const { film, root } = f, live = film.live[moment];
  f.consumer = consumer;
  if (!live) return; // the panels of a longer run are just taken away
  for (const part of root.querySelectorAll(".mg-pointed")) part.classList.remove("mg-pointed");
  for (const part of root.querySelectorAll(`[data-series="${consumer}"], tr:has([data-who="${consumer}"])`)) part.classList.add("mg-pointed");
  const say = consumer === undefined ? "" : who(film, consumer, moment), line = root.querySelector(".mg-who");
  if (line.textContent !== say) line.textContent = say;
}

function who(film, consumer, moment) {
  const k = film.numbers[moment] ?? moment, found = new Map(), total = film.live[moment][consumer];
  for (const [maker, size, died, story] of film.held) {
    if (consumerOf(died, story, k, film.since[moment]) === consumer) found.set(maker, [...(found.get(maker) ?? []), size]);
  }
  const largest = [...found].sort(([, a], [, b]) => sum(b) - sum(a)).slice(0, FEW);
  const makers = largest.map(([maker, sizes]) => `${bytes(sum(sizes))} of ${film.makers[maker]}${sizes.length > 1 ? ` (${sizes.length} arrays)` : ""}`);
  const rest = total - sum(largest.flatMap(([, sizes]) => sizes)), name = film.names[consumer] ?? "nothing";
  if (makers.length && rest > 0) makers.push(`${bytes(rest)} of others`);
  return `Moment ${moment}, ${name}: ${bytes(total)} bytes${makers.length ? ` = ${makers.join(" + ")}` : ""}.`;
}

// The consumer of an array at moment k; undefined if it is not alive.
function consumerOf(died, story, k, since) {
  if (since !== undefined && consumerOf(died, story, since - 1) === SAVED) return SAVED;
  if (died !== null && k >= died) return undefined;
  return story.findLast(([moment]) => moment <= k)?.[1];
}
const SAVED = 4; // the number of "saved for backward"
