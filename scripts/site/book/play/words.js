const BOTH = " Both branches are in it; select passes the gradient to one, and 0 to the other.";
// The texts of the playground. For a mistake: [its line, cut to fit a phone; carets below the mistake; the message].
function pointed(text, { at: from, until, message }) {
  const first = text.lastIndexOf("\n", from - 1) + 1, start = Math.max(first, from - 16), line = text.slice(start, start + 26).split("\n")[0];
  const carets = Math.max(1, Math.min(until, start + line.length) - from), more = start > first ? "…" : "";
  return [`${more}${line}\n`, `${" ".repeat(more.length + from - start)}${"^".repeat(carets)}\n`, message];
}
function caption(view, { nodes, notes }) {
  const count = nodes.filter(({ kind, used }) => kind === "op" && used).length, operations = `${count} operation${count === 1 ? "" : "s"}`;
  const asked = notes.map(({ test, answer, taken }) => ` ${test} is ${answer}, so only ${taken} was run. The if has no box: no gradient goes through it.`);
  if (view === "eager") return `Eager: ${operations}, recorded as they ran.${asked.join("")}`;
  return `Static graph: ${operations}, written down before any of them ran.${nodes.some(({ op }) => op === "select") ? BOTH : ""}`;
}
function sentence({ nodes, result, edges }) {
  const start = `${result.name ?? "The result"} = ${shown(result.value)}.`;
  if (!result.needs) return `${start} It depends on no leaf, so there is no gradient.`;
  if (lengthOf(result.value)) return `${start} A gradient starts from one number: add a line such as sum(${result.name ?? "…"}).`;
  const gradients = nodes.filter(({ kind, grad }) => kind === "leaf" && grad !== null).map((leaf) => {
    const parts = edges.filter(({ tail, rows }) => tail === leaf && rows.length).map((edge) => edge.total).filter(sizeOf).map(shown).map((text, i) => (i ? held(text) : text));
    return `${leaf.name}: ${parts.length > 1 ? `${parts.join(" + ")} = ` : ""}${shown(leaf.grad)}`;
  });
  return `${start} Its gradients are ${gradients.join("; ")}.`;
}
