// A quiz: a form for each question, and feedback on each answer once the kernel has sent it.

function render({ model, el }) {
  const root = box(el, `Quiz: ${model.get("label")}`);
  const alone = {};
  const score = make("p", { className: "mg-score", "aria-live": "polite" });
  root.append(score);
  const send = sender(model, (given) => { alone[given.name] = given; refresh(); });
  const asked = model.get("questions").map((question) => {
    const part = form(question, model.get("confidences"), send);
    const feedback = make("div", { className: "mg-feedback" });
    const section = make("div", { className: "mg-asked" }, part.el, feedback);
    root.append(section);
    return { ...part, name: question.name, feedback, section };
  });

  function refresh() {
    const locked = model.get("locked"), says = model.get("says"), results = model.get("results");
    const lone = Object.keys(alone).length;
    score.textContent = lone ? `${lone + Object.keys(locked).length} of ${asked.length} locked. ${ALONE}` : model.get("score");
    for (const { name, show, feedback, section } of asked) {
      const result = results[name];
      show(alone[name] ? { locked: alone[name], say: ALONE } : { locked: locked[name] ?? {}, say: says[name] ?? "", result });
      if (result) section.dataset.right = result.right;
      feedback.replaceChildren(...(result?.says ?? []).map((words) => make("p", {}, ...marked(words))));
    }
    root.dataset.phase = Object.keys(results).length ? "revealed" : "open";
  }
  const watched = ["change:locked", "change:says", "change:results", "change:score"];
  for (const event of watched) model.on(event, refresh);
  refresh();
  return () => {
    for (const event of watched) model.off(event, refresh);
    for (const { stop } of asked) stop();
    root.remove();
  };
}

export default { render };
