// A prediction: the form, then the predicted answer and the actual one, and the gap in a sentence.

function render({ model, el }) {
  const root = box(el, `${model.get("confidences").length > 1 ? "Prediction" : "Guess"}: ${model.get("label")}`);
  let alone = null, unfolded = false;
  const { el: asked, show, stop } = form(model.get("question"), model.get("confidences"), sender(model, (given) => { alone = given; refresh(); }));
  const skip = make("button", { type: "button", hidden: true }, "Show the result");
  skip.addEventListener("click", () => model.send?.({ do: "skip" }));
  const result = make("dl", { className: "mg-result" });
  asked.querySelector(".mg-controls").before(result);
  asked.querySelector(".mg-say").before(skip);
  root.append(asked);

  function refresh() {
    const outcome = model.get("outcome"), locked = model.get("locked");
    const known = "came" in outcome;
    const late = known && !("answer" in locked);
    skip.hidden = !model.get("held");
    const came = JSON.parse(outcome.answer ?? "null"), right = outcome.right === "true", isKept = known && outcome.predicted;
    const inPlace = isKept && ["option", "truth", "order"].includes(model.get("question").kind); // marked where they stand
    const rows = isKept && !inPlace ? [["predicted", outcome.predicted], ["result", outcome.came]] : [];
    show(alone ? { locked: alone, say: ALONE } : { locked, say: model.get("say") || (model.send ? "" : ALONE), late, result: inPlace ? { answer: came, right } : null });
    result.replaceChildren(...rows.map(([term, words]) => make("div", {}, make("dt", {}, term), make("dd", {}, ...marked(words)))));
    result.dataset.right = right;
    result.querySelector("dd")?.append(mark(right));
    root.dataset.phase = known ? "revealed" : "answer" in locked ? "locked" : "open";
    sketch(model, asked, isKept && typeof came === "number" ? came : undefined, right);
    if (!unfolded && (alone || (known && !late))) unfolded = unfold(model, el);
  }

  asked.addEventListener("input", () => sketch(model, asked));
  const watched = ["change:locked", "change:say", "change:outcome", "change:held"];
  for (const event of watched) model.on(event, refresh);
  refresh();
  return () => { for (const event of watched) model.off(event, refresh); stop(); root.remove(); };
}

// A number on a line: while it is typed, when it is locked, and with the result.
function sketch(model, asked, came, right) {
  const question = model.get("question"), sure = asked.querySelector(".mg-sure :checked")?.value ?? model.get("locked").confidence;
  asked.querySelector(".mg-number-line")?.remove();
  if (question.kind !== "number" || (came === undefined && "came" in model.get("outcome"))) return;
  const own = typedNumber(question, asked.querySelector("input[type=text]").value), level = model.get("confidences").indexOf(sure);
  asked.querySelector(".mg-result").after(numberLine(question, own, level, came, right));
}

// Opens the answer that scripts/notebooks/answer_folding.py folded; only once, so that the reader can close it.
function unfold(model, el) {
  const kind = `mg-answer-${model.get("label").toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`;
  const notebook = el.closest(".jp-Notebook") ?? document; // other notebooks may ask a question of the same name
  for (const answer of notebook.getElementsByClassName(kind)) answer.open = true;
  return true;
}

export default { render };
