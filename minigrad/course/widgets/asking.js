// Questions: a step with a question is not shown until it has an answer, { guess, right, gap, close }; guess is null if
// it was skipped.

const ASK = `
  <div class="mg-ask" hidden>
    <span class="mg-options" role="group" aria-label="choices"></span>
    <label>your answer <input type="number" step="any" autocomplete="off"></label>
    <button type="button" data-check>Check</button>
    <button type="button" data-skip>Skip and reveal</button>
  </div>`;

function asking(model, steps) {
  const isOpen = (n) => model.get("asks") && Boolean(steps[n].question) && !(n in model.get("answers"));
  const q = { model, steps, isOpen };
  return {
    isOpen, focus: focusAnswer, listen: (root) => listen(q, root), ask: (n, root) => ask(q, n, root), verdict: (n) => verdict(q, n),
    limit: () => (steps.findIndex((_, n) => isOpen(n)) + steps.length) % steps.length, // the last step if none is open
  };
}

function answer({ model, steps }, n, guess) {
  const { right } = steps[n].question;
  const gap = typeof guess === "number" ? guess - right : null;
  const isClose = gap === null ? guess === right : Math.abs(gap) <= model.get("near") * Math.abs(right) + 1e-9;
  const countsAsRight = guess === null ? null : isClose;
  model.set("answers", { ...model.get("answers"), [n]: { guess, right, gap, close: countsAsRight } });
  model.save_changes();
}

// The result of the question of step n, in words.
function verdict({ model, steps, isOpen }, n) {
  if (!model.get("asks") || !steps[n].question || isOpen(n)) return "";
  const { shown: right } = steps[n].question, { guess, gap, close: countsAsRight } = model.get("answers")[n];
  if (guess === null) return `Skipped: it is ${right}. `;
  const said = `You said ${typeof guess === "number" ? number(guess) : guess}`;
  if (countsAsRight) return `${said}: right${gap ? `, for it is within ${model.get("near") * 100} % of ${right}` : ""}. `;
  if (!gap) return `${said}; it is ${right}. `;
  return `${said}; it is ${right}: ${number(Math.abs(gap))} too ${gap > 0 ? "high" : "low"}. `;
}

// Show the form for the question of step n if it is open, else hide it.
function ask({ steps, isOpen }, n, root) {
  const form = root.querySelector(".mg-ask");
  const hadFocus = form.contains(document.activeElement);
  form.hidden = !isOpen(n);
  if (form.hidden && hadFocus) root.focus();
  if (form.hidden) return;
  if (form.dataset.step !== String(n)) form.querySelector("input").value = "";
  form.dataset.step = n;
  const { choices } = steps[n].question;
  form.classList.toggle("mg-chooses", choices.length > 0);
  form.querySelector(".mg-options").replaceChildren(...choices.map((words) =>
    made("button", { type: "button", textContent: words, value: words, className: "mg-option" })));
  if (root.contains(document.activeElement)) focusAnswer(root);
}
const focusAnswer = (root) => root.querySelector(".mg-option, .mg-ask input").focus();

function listen(q, root) {
  const form = root.querySelector(".mg-ask"), field = form.querySelector("input");
  const now = () => Number(form.dataset.step);
  function check() {
    if (Number.isFinite(field.valueAsNumber)) answer(q, now(), field.valueAsNumber);
    else root.querySelector(".mg-say").textContent = `Write a number, or skip. ${q.steps[now()].question.ask}`;
  }
  form.addEventListener("click", ({ target }) => {
    if (target.matches("[data-check]")) check();
    if (target.matches("[data-skip]")) answer(q, now(), null);
    if (target.matches(".mg-option")) answer(q, now(), target.value);
  });
  field.addEventListener("keydown", ({ key }) => { if (key === "Enter") check(); }); // JupyterLab blocks form submission
}
