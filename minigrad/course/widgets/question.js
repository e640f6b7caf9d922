// A question as a form, with keyboard support, for Predict and Quiz.
//
//   form(question, confidences, send, gone)  →  { el, show, stop }
//     question    { name, text, kind, options, unit }
//     send        called with { name, answer, confidence } by the button; the kernel replies through the traits
//     show        ({ locked: { answer, confidence } or {}, say, late, result }): a locked answer cannot be changed
//                 late: the answer has been shown; result: { answer, right } of a quiz, for the marks ✓ and ✗
//     stop        stops waiting for the kernel's reply
//     gone        what is shown when there is no reply
//
// Every word of a question is set as text, never as HTML; words in `backquotes` are set as code. Only the kernel checks
// and keeps an answer. The form has the kernel's rules for numbers and shapes (course/question.py), to name a slip early.

const PATIENCE = 5000; // ms without a reply until the kernel counts as gone
const FORMS = { // whole answers; what may still become one while it is typed; the same in words
  number: [/^[+-]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(e[+-]?\d[\d_]*)?$/i, /^[+-]?[\d_]*\.?[\d_]*(e[+-]?[\d_]*)?$/i, "a number, such as 12 or 0.25"],
  shape: [/^[(\[]?[\d\s,x×]*[)\]]?$/, /^$/, "a shape, such as (2, 3), (4,) or ()"],
};
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

// Text as nodes: words in `backquotes` as code.
function marked(text) {
  return String(text).split(/(`[^`]+`)/).filter(Boolean).map((part) => (/^`.+`$/s.test(part) ? make("code", {}, part.slice(1, -1)) : part));
}
const bare = (text) => String(text).replaceAll("`", "");

// The sign of a right or a wrong answer, with a word for those who do not see it.
function mark(right) {
  return make("span", { className: "mg-mark", "data-right": right }, make("span", { "aria-hidden": "true" }, right ? " ✓" : " ✗"),
    make("span", { className: "mg-heard" }, right ? " (right)" : " (wrong)"));
}

// A typed number as Python writes it: "24,000 bytes" is 24000, and "7/4" is 1.75. question.py has the same rule: the word
// after a number must occur in the question. While a number is typed, its last part may be missing.
function numeral(text, { unit, text: asked }, isFinished) {
  let value = text.trim().replaceAll("−", "-");
  const words = `${unit} ${asked}`.toLowerCase().match(/%|\p{L}+/gu) ?? [];
  if (words.includes("percent")) words.push("%");
  const last = value.match(/^(.*\d[\d_.,]*)\s*(%|\p{L}+)$/u), word = last?.[2].toLowerCase();
  if (last && words.some((known) => (isFinished ? known === word : known.startsWith(word)))) value = last[1];
  if (/^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(value)) return value.replaceAll(",", "");
  if (!isFinished && /^[+-]?[1-9]\d{0,2}(,\d{3})*,\d{0,2}$/.test(value)) return value.replaceAll(",", "");
  const fraction = value.match(/^([+-]?\d+)\s*\/\s*(\d*)$/);
  if (fraction && Number(fraction[2])) return String(fraction[1] / fraction[2]);
  return fraction && !isFinished ? fraction[1] : value;
}

function typedNumber(question, text) {
  const value = numeral(text, question, true);
  return FORMS.number[0].test(value) ? Number(value.replaceAll("_", "")) : undefined;
}

// What is wrong with a typed answer, in a sentence; "" for a valid one, or for one that is not finished yet.
function slip(question, text, isFinished) {
  const { kind } = question, [whole, begun, words] = FORMS[kind];
  const value = kind === "number" ? numeral(text, question, isFinished) : text.trim();
  if (!value || whole.test(value) || (!isFinished && begun.test(value))) return "";
  const point = kind === "number" && /^-?\d+,\d+$/.test(value) ? ` A decimal fraction has a point: ${value.replace(",", ".")}.` : "";
  return `'${text.trim()}' is not ${words}.${point}`;
}

function radios(legend, options, group) {
  const inputs = options.map((value) => make("input", { type: "radio", name: group, value }));
  const el = make("div", { className: "mg-radios", role: "radiogroup", "aria-label": legend },
    make("span", { className: "mg-asks", "aria-hidden": "true" }, legend),
    ...inputs.map((input, i) => make("label", {}, input, make("span", { className: "mg-option" }, ...marked(options[i])))));
  return {
    el,
    mark: ({ answer }) => inputs.forEach((input) => input.parentElement.append(mark(input.value === String(answer)))),
    get: () => inputs.find((input) => input.checked)?.value ?? null,
    set: (value) => { for (const input of inputs) input.checked = input.value === String(value); },
  };
}

function typed(question) {
  const { kind, unit } = question;
  const input = make("input", { type: "text", inputMode: kind === "number" ? "decimal" : "text", autocomplete: "off", size: 12, maxLength: 60 });
  const sentence = make("p", { className: "mg-slip", "aria-live": "polite" });
  const label = make("label", { className: "mg-typed" }, "Your answer ", input, unit ? ` ${unit} ` : " ", make("small", {}, FORMS[kind][2]));
  const el = make("div", {}, label, sentence);
  const asText = (value) => (Array.isArray(value) ? `(${value.join(", ")}${value.length === 1 ? "," : ""})` : String(value));
  const check = (isFinished) => {
    const words = slip(question, input.value, isFinished);
    if (sentence.textContent !== words) sentence.textContent = words;
    input.setAttribute("aria-invalid", String(Boolean(words)));
    input.setAttribute("aria-description", words);
    return words;
  };
  input.addEventListener("input", () => check(false));
  input.addEventListener("change", () => check(true));
  return {
    el,
    slip: () => check(true) && (input.focus(), true),
    get: () => input.value.trim() || null,
    set: (value) => { input.value = asText(value); check(true); },
    mark: ({ right }) => input.after(mark(right)),
  };
}

// Items with two buttons each; the button keeps the focus while its item moves.
function sortable({ options }) {
  const el = make("ol", { className: "mg-order", "aria-label": "Your order" });
  const button = (item, way, words, face) => {
    const pressed = make("button", { type: "button", "aria-label": `Move ${bare(item)} ${words}` }, face);
    pressed.addEventListener("click", () => {
      const row = pressed.closest("li"), other = way < 0 ? row.previousElementSibling : row.nextElementSibling;
      if (!other) return;
      way < 0 ? other.before(row) : other.after(row);
      pressed.focus();
    });
    return pressed;
  };
  const fill = (items) => el.replaceChildren(...items.map((item) => {
    const row = make("li", {}, button(item, -1, "up", "↑"), button(item, 1, "down", "↓"), make("span", { className: "mg-option" }, ...marked(item)));
    row.dataset.item = item;
    return row;
  }));
  fill(options);
  const inPlace = ({ answer }) => [...el.children].forEach((row, i) => row.append(mark(row.dataset.item === answer[i])));
  return { el, get: () => [...el.children].map((row) => row.dataset.item), set: fill, mark: inPlace };
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

function form(question, confidences, send, gone = "The kernel does not answer, so nothing is locked. Run this cell again.") {
  const group = `mg-question-${serial++}`;
  const answer = answering(question, `${group}-answer`);
  const sure = radios("How sure are you?", confidences, `${group}-sure`);
  sure.el.classList.add("mg-sure");
  const button = make("button", { type: "submit" }, "Lock");
  const say = make("p", { className: "mg-say", "aria-live": "polite", "aria-atomic": "true" });
  if (confidences.length === 1) { // a guess is not counted
    sure.set(confidences[0]);
    sure.el.replaceChildren(make("small", {}, "A guess: it is not counted."));
    sure.el.removeAttribute("role");
  }
  const fields = make("fieldset", { className: "mg-fields" }, make("legend", {}, ...marked(question.text)), answer.el, sure.el);
  const el = make("form", { className: "mg-question", noValidate: true }, fields, make("div", { className: "mg-controls" }, button, say));
  el.dataset.name = question.name;
  const f = { el, answer, sure, button, say, gone, waiting: 0 }; // waiting for the kernel's reply: the timer's id
  el.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(f, { name: question.name, answer: answer.get(), confidence: sure.get() }, send);
  });
  return { el, show: (state) => show(f, state), stop: () => clearTimeout(f.waiting) };
}

function submit(f, given, send) {
  const gone = () => {
    clearTimeout(f.waiting);
    f.say.textContent = f.gone;
  };
  if (f.answer.slip?.()) f.say.textContent = "";
  else if (given.answer === null) f.say.textContent = "There is no answer yet.";
  else if (given.confidence === null) f.say.textContent = "Say how sure you are.";
  else {
    f.say.textContent = "";
    clearTimeout(f.waiting);
    f.waiting = setTimeout(gone, PATIENCE);
    try { send(given); } catch { gone(); } // throws if the kernel was shut down
  }
}

function show(f, { locked, say, late, result }) {
  clearTimeout(f.waiting);
  const done = "answer" in locked;
  if (done) {
    f.answer.set(locked.answer);
    f.sure.set(locked.confidence);
  }
  const focused = f.el.contains(document.activeElement) ? document.activeElement : null;
  for (const control of f.el.querySelectorAll("input, button")) control.disabled = done;
  f.button.textContent = done ? "Locked" : late ? "Lock late" : "Lock";
  f.el.dataset.locked = done;
  f.say.textContent = say;
  f.el.querySelectorAll(".mg-mark").forEach((old) => old.remove());
  if (result) f.answer.mark(result);
  if (focused?.disabled) { f.say.tabIndex = -1; f.say.focus(); } // keeps the keyboard focus in this form
}

// The root element of a widget of questions.
function box(el, label) {
  const root = make("div", { className: "mg-widget mg-asking", role: "group", "aria-label": label });
  // Else JupyterLab takes our keys for its commands; it checks only the focused element for this attribute.
  root.addEventListener("focusin", ({ target }) => { target.dataset.lmSuppressShortcuts = "true"; });
  root.addEventListener("keydown", (event) => event.stopPropagation());
  el.append(root);
  return root;
}

// A page without a kernel only locks an answer: it does not know the right one.
function sender(model, locked) {
  if (model.send) return (given) => model.send(given);
  return (given) => locked(given);
}
const ALONE = "This page compares no answers: run the notebook to see what is right.";
