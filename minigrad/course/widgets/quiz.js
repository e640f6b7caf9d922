// A quiz: one question at a time, with a form for each, and a last page with the result. Every question can be opened at
// any time, by its number, by Back and Next, or by the arrow keys where they are not needed for an answer.

function render({ model, el }) {
  const root = box(el, `Quiz: ${model.get("label")}`);
  const q = { model, root, alone: {}, at: 0 };
  const send = sender(model, (given) => { q.alone[given.name] = given; refresh(q); });
  q.score = make("p", { className: "mg-score", "aria-live": "polite" });
  q.asked = model.get("questions").map((question, n) => asked(question, n, model, send));
  q.result = make("div", { className: "mg-asked mg-ends" });
  q.tabs = [...q.asked.map((_, n) => tab(q, n)), tab(q, q.asked.length)];
  const [back, next] = [["← Back", -1], ["Next →", 1]].map(([words, way]) => {
    const button = make("button", { type: "button", className: "mg-turn" }, words);
    button.addEventListener("click", () => open(q, q.at + way));
    return button;
  });
  Object.assign(q, { back, next, count: make("span", { className: "mg-count", "aria-hidden": "true" }) });
  root.append(
    make("nav", { className: "mg-tabs", "aria-label": "Questions" }, ...q.tabs, back, q.count, next), q.score,
    ...q.asked.map(({ section }) => section), q.result,
  );
  root.addEventListener("keydown", (event) => turn(q, event));
  const onChange = () => refresh(q);
  const watched = ["change:locked", "change:says", "change:results", "change:score"];
  for (const event of watched) model.on(event, onChange);
  refresh(q);
  open(q, firstOpen(q));
  return () => {
    for (const event of watched) model.off(event, onChange);
    for (const { stop } of q.asked) stop();
    root.remove();
  };
}

function asked(question, n, model, send) {
  const part = form(question, model.get("confidences"), send);
  const feedback = make("div", { className: "mg-feedback" });
  const section = make("section", { className: "mg-asked", "aria-label": `Question ${n + 1}` }, part.el, feedback);
  return { ...part, question, name: question.name, text: question.text, feedback, section };
}

function tab(q, n) {
  const button = make("button", { type: "button", className: "mg-tab" });
  button.addEventListener("click", () => open(q, n));
  return button;
}

const isLocked = (q, name) => Boolean(q.alone[name] ?? q.model.get("locked")[name]);
const firstOpen = (q) => {
  const n = q.asked.findIndex(({ name }) => !isLocked(q, name));
  return n < 0 ? q.asked.length : n;
};

// Show question n, or the result after the last one.
function open(q, n) {
  const last = q.asked.length;
  q.at = Math.min(Math.max(n, 0), last);
  q.asked.forEach(({ section }, i) => { section.hidden = i !== q.at; });
  q.result.hidden = q.at !== last;
  q.tabs.forEach((button, i) => { button.ariaCurrent = i === q.at ? "true" : null; });
  q.back.disabled = q.at === 0;
  q.next.disabled = q.at === last;
  q.count.textContent = q.at < last ? `${q.at + 1} of ${last}` : "result";
  if (q.root.contains(document.activeElement) && document.activeElement.disabled) q.tabs[q.at].focus();
}

function turn(q, event) {
  const way = { ArrowRight: 1, ArrowLeft: -1, PageDown: 1, PageUp: -1 }[event.key];
  const isTaken = event.key.startsWith("Arrow") && event.target.matches("input");
  if (!way || isTaken || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  open(q, q.at + way);
  q.tabs[q.at].focus();
}

function refresh(q) {
  const { model, asked } = q, locked = model.get("locked"), says = model.get("says"), results = model.get("results");
  const lone = Object.keys(q.alone).length, wasOpen = q.root.dataset.phase !== "revealed";
  const all = asked.length, isDone = Object.keys(results).length > 0;
  q.score.textContent = lone || !(model.send || isDone) ? `${lone + Object.keys(locked).length} of ${all} locked. ${ALONE}` : model.get("score");
  for (const { question, name, show, feedback, section } of asked) {
    const result = results[name], alone = q.alone[name];
    show(alone ? { locked: alone, say: "It can no longer be changed." } : { locked: locked[name] ?? {}, say: says[name] ?? "", result });
    if (result) section.dataset.right = result.right;
    feedback.replaceChildren(...(result?.says ?? []).map((words) => make("p", {}, ...marked(words))));
    const { answer, confidence } = locked[name] ?? {};
    if (typeof answer === "number") feedback.prepend(numberLine(question, answer, model.get("confidences").indexOf(confidence), result?.answer, result?.right));
  }
  q.root.dataset.phase = isDone ? "revealed" : "open";
  asked.forEach(({ name }, n) => label(q.tabs[n], n + 1, all, isLocked(q, name), results[name]));
  q.tabs[all].replaceChildren("Result");
  q.result.replaceChildren(...verdicts(q, results));
  if (isDone && wasOpen) open(q, all);
}

// A question's number and state: right, wrong, locked or open.
function label(button, n, all, locked, result) {
  const [sign, words] = result ? (result.right ? ["✓", "right"] : ["✗", "wrong"]) : locked ? ["locked", "locked"] : ["", "open"];
  button.replaceChildren(`${n}${sign && ` ${sign}`}`);
  button.ariaLabel = `Question ${n} of ${all}, ${words}`;
  button.title = button.ariaLabel;
}

// The last page: every question with its verdict, to be opened again.
function verdicts(q, results) {
  const rows = q.asked.map(({ name, text }, n) => {
    const result = results[name];
    const link = make("button", { type: "button", className: "mg-again" }, `${n + 1}. `, ...marked(text));
    link.addEventListener("click", () => { open(q, n); q.tabs[n].focus(); });
    const state = result ? (result.right ? "✓ right" : "✗ wrong") : isLocked(q, name) ? "locked" : "open";
    return make("li", {}, make("span", { className: "mg-verdict", "data-right": result?.right ?? "" }, state), link);
  });
  const list = make("ol", { className: "mg-verdicts" }, ...rows);
  return Object.keys(results).length ? [certainty(q, results), list] : [list];
}

// How sure each answer was, from left to right: right ones are stacked above a line, wrong ones hang below it.
function certainty({ model, asked }, results) {
  const levels = model.get("confidences"), locked = model.get("locked");
  const stack = (level, isRight) => asked.flatMap(({ name }, n) =>
    (results[name].right === isRight && locked[name].confidence === level ? [make("span", { className: "mg-answered" }, `${n + 1}`)] : []));
  const row = (words, isRight) => make("tr", {}, make("th", { scope: "row" }, words),
    ...levels.map((level) => make("td", {}, make("div", {}, ...stack(level, isRight)))));
  const head = make("tr", {}, make("td", {}), ...levels.map((level) => make("th", { scope: "col", className: "mg-level" }, level)));
  return make("table", { className: "mg-certainty", "aria-label": "How sure you were" }, make("caption", {}, "How sure you were of each question"), row("✓ right", true), row("✗ wrong", false), head);
}

export default { render };
