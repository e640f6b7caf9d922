// A question as a form, keyboard and all: what Predict and Quiz have in common.
//
//   form(question, confidences, send)  →  { el, show, stop }
//     question    { name, text, kind, options, unit }
//     send        ({ name, answer, confidence }) is called by the button; the kernel says what becomes of it
//     show        ({ locked: { answer, confidence } or {}, say, closed }): what is locked cannot be changed
//     stop        forgets the kernel whose word it waits for
//
// Every word of a question is set as text, never as HTML. An answer is checked and kept by the kernel alone.

const PATIENCE = 5000; // ms until a kernel that says nothing is taken for gone
const HOW = { number: "a number; a decimal fraction has a point", shape: "a shape, such as (2, 3)" };
let serial = 0;

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function radios(legend, options, group) {
  const inputs = options.map((value) => make("input", { type: "radio", name: group, value }));
  const el = make("div", { className: "mg-radios", role: "radiogroup", "aria-label": legend },
    make("span", { className: "mg-asks", "aria-hidden": "true" }, legend),
    ...inputs.map((input, i) => make("label", {}, input, make("span", { className: "mg-option" }, options[i]))));
  return {
    el,
    get: () => inputs.find((input) => input.checked)?.value ?? null,
    set: (value) => { for (const input of inputs) input.checked = input.value === String(value); },
  };
}

function typed({ kind, unit }) {
  const input = make("input", { type: "text", inputMode: kind === "number" ? "decimal" : "text", autocomplete: "off", size: 12, maxLength: 60 });
  const el = make("label", { className: "mg-typed" }, "Your answer ", input, unit ? ` ${unit} ` : " ", make("small", {}, HOW[kind]));
  const asText = (value) => (Array.isArray(value) ? `(${value.join(", ")}${value.length === 1 ? "," : ""})` : String(value));
  return { el, get: () => input.value.trim() || null, set: (value) => { input.value = asText(value); } };
}

// Items with two buttons each; the button keeps the focus while its item moves.
function sortable({ options }) {
  const el = make("ol", { className: "mg-order", "aria-label": "Your order" });
  const button = (item, way, words, face) => {
    const pressed = make("button", { type: "button", "aria-label": `Move ${item} ${words}` }, face);
    pressed.addEventListener("click", () => {
      const row = pressed.closest("li"), other = way < 0 ? row.previousElementSibling : row.nextElementSibling;
      if (!other) return;
      way < 0 ? other.before(row) : other.after(row);
      pressed.focus();
    });
    return pressed;
  };
  const fill = (items) => el.replaceChildren(...items.map((item) => {
    const row = make("li", {}, button(item, -1, "up", "↑"), button(item, 1, "down", "↓"), make("span", {}, item));
    row.dataset.item = item;
    return row;
  }));
  fill(options);
  return { el, get: () => [...el.children].map((row) => row.dataset.item), set: fill };
}

function answering(question, group) {
  if (question.kind === "order") return sortable(question);
  if (question.kind === "option") {
    const choice = radios("Your answer", question.options, group);
    choice.el.classList.add("mg-column");
    return choice;
  }
  if (question.kind === "truth") return radios("Your answer", ["true", "false"], group);
  return typed(question);
}

function form(question, confidences, send) {
  const group = `mg-question-${serial++}`;
  const answer = answering(question, `${group}-answer`);
  const sure = radios("How sure are you?", confidences, `${group}-sure`);
  const button = make("button", { type: "submit" }, "Lock");
  const say = make("p", { className: "mg-say", "aria-live": "polite", "aria-atomic": "true" });
  const fields = make("fieldset", { className: "mg-fields" }, make("legend", {}, question.text), answer.el, sure.el);
  const el = make("form", { className: "mg-question", noValidate: true }, fields, make("div", { className: "mg-controls" }, button, say));
  el.dataset.name = question.name;
  let waiting = 0;

  function gone() {
    clearTimeout(waiting);
    say.textContent = "The kernel does not answer, so nothing is locked. Run this cell again.";
  }
  el.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = { name: question.name, answer: answer.get(), confidence: sure.get() };
    if (given.answer === null) say.textContent = "There is no answer yet.";
    else if (given.confidence === null) say.textContent = "Say how sure you are.";
    else {
      say.textContent = "";
      clearTimeout(waiting);
      waiting = setTimeout(gone, PATIENCE);
      try { send(given); } catch { gone(); } // it throws where the kernel was shut down
    }
  });
  function show({ locked, say: words, closed }) {
    clearTimeout(waiting);
    const done = "answer" in locked;
    if (done) {
      answer.set(locked.answer);
      sure.set(locked.confidence);
    }
    const had = el.contains(document.activeElement) && document.activeElement === button;
    for (const control of el.querySelectorAll("input, button")) control.disabled = done || Boolean(closed);
    button.textContent = done ? "Locked" : "Lock";
    el.dataset.locked = done;
    say.textContent = words;
    if (had && button.disabled) { say.tabIndex = -1; say.focus(); } // the keyboard stays where it was
  }
  return { el, show, stop: () => clearTimeout(waiting) };
}

// The box that a widget of questions lives in.
function box(el, label) {
  const root = make("div", { className: "mg-widget mg-asking", role: "group", "aria-label": label });
  // Else JupyterLab takes our keys for its own commands; it looks at what has the focus, and no further.
  root.addEventListener("focusin", ({ target }) => { target.dataset.lmSuppressShortcuts = "true"; });
  root.addEventListener("keydown", (event) => event.stopPropagation());
  el.append(root);
  return root;
}

// A page without a kernel keeps an answer as it was locked, and has nothing to compare it with.
function sender(model, locked) {
  if (model.send) return (given) => model.send(given);
  return (given) => locked(given);
}
const ALONE = "Locked in this page, and compared only where the notebook runs.";
