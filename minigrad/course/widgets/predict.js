// A prediction: the form, and below it the predicted answer, the actual one and the gap.

function render({ model, el }) {
  const root = box(el, `${model.get("confidences").length > 1 ? "Prediction" : "Guess"}: ${model.get("label")}`);
  let alone = null;
  const { el: asked, show, stop } = form(model.get("question"), model.get("confidences"), sender(model, (given) => { alone = given; refresh(); }));
  const result = make("dl", { className: "mg-result" });
  root.append(asked, result);

  function refresh() {
    const outcome = model.get("outcome");
    const known = "came" in outcome;
    show(alone ? { locked: alone, say: ALONE, closed: false } : { locked: model.get("locked"), say: model.get("say"), closed: known });
    const rows = known && outcome.predicted ? [["predicted", outcome.predicted], ["came", outcome.came]] : [];
    result.replaceChildren(...rows.map(([term, words]) => make("div", {}, make("dt", {}, term), make("dd", {}, words))));
    root.dataset.phase = known ? "revealed" : "answer" in model.get("locked") ? "locked" : "open";
  }
  const watched = ["change:locked", "change:say", "change:outcome"];
  for (const event of watched) model.on(event, refresh);
  refresh();
  return () => { for (const event of watched) model.off(event, refresh); stop(); root.remove(); };
}

export default { render };
