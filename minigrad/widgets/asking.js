// Questions: what gradient arrives here? A step that asks shows nothing of itself until there is an answer, or a skip.
// Answers are { step: { guess, right, gap, close } }, which Python reads; a guess of null was skipped.

const ASK = `
  <form class="mg-ask" hidden novalidate>
    <label>your answer <input type="number" step="any" autocomplete="off"></label>
    <button type="submit" data-check>Check</button>
    <span class="mg-options" role="group" aria-label="your answer"></span>
    <button type="button" data-skip>Skip and reveal</button>
  </form>`;
const shown = (x) => String(Number(x.toPrecision(4))).replace("-", "−");

function asking(model, steps) {
  const isOpen = (n) => model.get("asks") && Boolean(steps[n].question) && !(n in model.get("answers"));
  const limit = () => {
    const open = steps.findIndex((_, n) => isOpen(n));
    return open < 0 ? Infinity : open;
  };

  function answer(n, guess) {
    const { right } = steps[n].question;
    const isNumber = typeof guess === "number";
    const gap = isNumber ? guess - right : null;
    const close = guess === null ? null : isNumber ? Math.abs(gap) <= model.get("near") * Math.abs(right) + 1e-9 : guess === right;
    model.set("answers", { ...model.get("answers"), [n]: { guess, right, gap, close } });
    model.save_changes();
  }

  // What became of the question of step n, in words.
  function verdict(n) {
    if (!model.get("asks") || !steps[n].question || isOpen(n)) return "";
    const { shown: right } = steps[n].question, { guess, gap, close, right: exact } = model.get("answers")[n];
    if (guess === null) return `Skipped: it is ${right}. `;
    const said = typeof guess === "number" ? shown(guess) : guess;
    if (close) return `You said ${said}: right${gap ? `, for it is within ${model.get("near") * 100} % of ${right}` : ""}. `;
    const percent = exact ? `, ${shown(Math.abs((100 * gap) / exact))} % of it` : "";
    return `You said ${said}; it is ${right}${gap ? `: ${shown(Math.abs(gap))} too ${gap > 0 ? "high" : "low"}${percent}` : ""}. `;
  }

  // The form for the question of step n, if that is open.
  function ask(n, root) {
    const form = root.querySelector(".mg-ask");
    const had = form.contains(document.activeElement);
    form.hidden = !isOpen(n);
    if (form.hidden) { if (had) root.focus(); return; }
    if (form.dataset.step !== String(n)) form.reset();
    form.dataset.step = n;
    const { choices = [] } = steps[n].question;
    for (const part of [form.querySelector("label"), form.querySelector("[data-check]")]) part.hidden = choices.length > 0;
    form.querySelector(".mg-options").replaceChildren(...choices.map((words) =>
      Object.assign(document.createElement("button"), { type: "button", textContent: words, value: words, className: "mg-option" })));
    if (root.contains(document.activeElement)) focus(root);
  }
  const focus = (root) => root.querySelector(".mg-option, .mg-ask label:not([hidden]) input")?.focus();

  function listen(root) {
    const form = root.querySelector(".mg-ask");
    const now = () => Number(form.dataset.step);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { valueAsNumber } = form.querySelector("input");
      if (Number.isFinite(valueAsNumber)) answer(now(), valueAsNumber);
      else root.querySelector(".mg-say").textContent = `Write a number, or skip. ${steps[now()].question.ask}`;
    });
    form.addEventListener("click", ({ target }) => {
      if (target.matches(".mg-option")) answer(now(), target.value);
      if (target.matches("[data-skip]")) answer(now(), null);
    });
  }
  return { isOpen, limit, verdict, ask, focus, listen };
}
