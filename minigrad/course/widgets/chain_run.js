// Runs a program forward and backward from its leaves (id → number). Returns values and gradients by box, and [incoming, slope, outgoing] by arrow.
function runProgram(program, leaves) {
  const values = {}, grads = { [program.at(-1).id]: 1 }, shares = {};
  const at = ({ id, of }) => ({ a: values[of[0]], b: values[of[1]], y: values[id] });
  for (const node of program) values[node.id] = node.of ? calculated(node.trees[0], at(node)) : leaves[node.id] ?? node.value;
  for (const node of [...program].reverse()) node.of?.forEach((x, i) => {
    const incoming = grads[node.id], slope = calculated(node.trees[i + 1], at(node));
    shares[node.arrows[i]] = [incoming, slope, incoming * slope];
    grads[x] = (grads[x] ?? 0) + incoming * slope;
  });
  return { values, grads, shares };
}

// The width of the band of a gradient on its arrow, as in draw/svg.py.
const band = (size) => (size === 0 ? 0 : Math.min(Math.max(5.5 + Math.log2(Number.isNaN(size) ? Infinity : size), 1.5), 9.5));

// A slider for a leaf, in a range around its value.
function sliderOf({ id, value }, name) {
  const reach = 2 ** (1 + Math.ceil(Math.log2(Math.max(1, Math.abs(value)))));
  return slider(id, `${name}, dragged`, name, { min: value - reach, max: value + reach, step: reach / 80, defaultValue: value });
}
