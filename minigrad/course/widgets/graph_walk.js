// Opening groups, choosing and searching boxes, going from box to box. The state `g`: see graph_view.js.

const MOST_OPEN = 2000; // boxes at once

function toggle(g, i) {
  if (!g.inner.has(i)) return;
  if (!g.open.delete(i)) g.open.add(i);
  redrawAround(g, i);
  if (g.now >= 0) goTo(g, i);
  tell(g, `${title(g.items[i])} is ${g.open.has(i) ? "open" : "closed"}: ${showing(g)}`);
}
function reveal(g, i) {
  for (let group = g.items[i].in; group !== ROOT; group = g.items[group].in) g.open.add(group);
  drawGraph(g);
  centre(g, i);
}
function openAll(g) {
  const n = g.items.length - g.inner.size + 1;
  if (n > MOST_OPEN + 1) return tell(g, `${counted(n, "box", "boxes")} at once are too many to be read or drawn: open groups one by one, or search.`);
  setOpen(g, [...g.inner.keys()].filter((i) => i !== ROOT), "open");
}
function setOpen(g, groups, word) {
  g.now = -1;
  wrap(g, groups);
  keepTo(g, begin);
  tell(g, `All groups are ${word}: ${showing(g)}`);
}

function choose(g, i) {
  g.model.set("chosen", i);
  g.model.save_changes();
}
function onChosen(g) {
  const i = g.model.get("chosen");
  if (i >= 0 && g.screen.box[i] !== i) reveal(g, i);
  mark(g);
  tell(g, i < 0 ? "Nothing is selected." : `Selected: ${described(g.items[i])}.`);
  explain(g);
}
function find(g) {
  const text = g.search.value.trim(), words = text.toLowerCase();
  const own = (item) => (isGroup(item) ? item.spec.replace(/ · .*/, "") : item.spec); // not the op in a module: it is found itself
  const having = (texts) => g.items.flatMap((item, i) => (texts(item).join("\n").toLowerCase().includes(words) ? [i] : []));
  const named = having((item) => [item.sign, item.name, own(item), item.trouble]);
  g.matches = !words ? [] : named.length ? named : having((item) => [item.sign && item.line]);
  g.match = -1;
  mark(g);
  if (!words) return tell(g, whole(g));
  const hidden = g.matches.filter((i) => g.screen.box[i] !== i).length, inside = hidden ? `, ${hidden.toLocaleString("en")} of them in closed groups` : "";
  tell(g, `${counted(g.matches.length, "match", "matches")} for “${text}”${inside}. ${g.matches.length ? "Enter goes to the next." : ""}`);
}
function nextMatch(g, by) {
  const n = g.matches.length;
  if (!n) return find(g);
  g.match = g.match < 0 && by < 0 ? n - 1 : (g.match + by + n) % n;
  g.now = g.matches[g.match];
  reveal(g, g.now);
  explain(g);
  tell(g, `Match ${g.match + 1} of ${n.toLocaleString("en")}: ${described(g.items[g.now])}.`);
}

function tell(g, sentence) {
  g.say.textContent = sentence;
}
function showing(g) {
  const isAll = !g.svg.clientWidth || fitting(g) >= READABLE, rest = isAll ? "" : " Drag, or press the arrow keys, for the rest.";
  return `${counted(+g.root.dataset.shown, "box is", "boxes are")} shown.${rest}`;
}
function whole(g) {
  const { items, inner, model } = g, nodes = counted(items.length - inner.size + 1, "node", "nodes"), groups = counted(inner.size - 1, "group", "groups");
  return [`${model.get("label")}: ${nodes}, ${groups}; ${showing(g)}`, ...model.get("notes")].join(" ");
}
const endsAt = (links, i, n) => links.filter((link) => link[n] === i).map((link) => link[1 - n]); // n: 0 readers, 1 operands
function explain(g, i = g.now >= 0 ? g.now : g.model.get("chosen")) {
  const around = g.items[g.items[i]?.in];
  const { links, wires } = g.screen, wire = wires[g.wire], names = (ends) => ends.map((each) => title(g.items[each]));
  const rows = i < 0 ? [] : facts(g.items[i], around ? heading(around, title(around)) : "");
  rows.push(["reads", names(endsAt(links, i, 1)).join(", ")], ["feeds", names(endsAt(links, i, 0)).join(", ")]);
  if (wire) rows.splice(0, 9, ["", names(wire).join(" → ")], ["carries", counted(wire.values.size, "value", "values")]);
  g.details.innerHTML = rows.filter(([, text]) => text).map(([term, text]) => `<li><span>${term && `${term} `}</span>${escaped(text)}</li>`).join("");
}

function goTo(g, i) {
  g.now = i;
  g.made.get(i).focus({ preventScroll: true });
  bringIntoView(g, i);
}
function goToNeighbour(g, key) {
  const { links, place, isOpen } = g.screen, end = { ArrowRight: 0, ArrowLeft: 1 }[key], way = key === "ArrowUp" ? -1 : 1;
  const down = (i) => place.get(i).y + place.get(i).h / 2 - place.get(g.now).y - place.get(g.now).h / 2;
  const across = (i) => (end >= 0 ? 0 : Math.abs(place.get(i).x + place.get(i).w / 2 - place.get(g.now).x - place.get(g.now).w / 2));
  const candidates = end >= 0 ? endsAt(links, g.now, end) : [...place.keys()].filter((i) => !isOpen(i) && down(i) * way > 1);
  const far = (i) => Math.abs(down(i)) + 3 * across(i);
  if (candidates.length) goTo(g, candidates.reduce((a, b) => (far(b) < far(a) ? b : a)));
}
