// Runs the statements and differentiates the last one, by the rules of minigrad/engine/ops.
//   recorded(text, given, isStatic) → { nodes, result, edges, notes }
//     given    name → value of a leaf that the text does not assign
//     nodes    { kind: leaf, constant or op; sign, name, of: indices, value, needs: whether it gets a gradient, grad }
//     edges    [{ tail, head, port, rows: [incoming, slope, outgoing] for each number, total }]
//
// A value is a number, an array of numbers, or a boolean. Eagerly, a condition is computed at once, and only the chosen branch is recorded.
const MOST_BOXES = 40, START = { x: 2, y: -3, w: 4, pi: Math.PI, e: Math.E }; // other leaves start at 1
// NumPy's power: JavaScript's 1 ** NaN and (-1) ** Infinity are NaN.
const power = (a, b) => (a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : a ** b);
// [sign, value, slope for each operand]; a slope that is true or false passes or stops a gradient, infinite ones too
const OPS = {
  "+": ["+", (a, b) => a + b, () => 1, () => 1],
  "-": ["−", (a, b) => a - b, () => 1, () => -1],
  "*": ["×", (a, b) => a * b, (a, b) => b, (a) => a],
  "/": ["÷", (a, b) => a / b, (a, b) => 1 / b, (a, b) => -(a / b) / b],
  "**": ["^", power, (a, b) => b * power(a || b ? a : 1, b - 1), (a, b) => power(a, b) * Math.log(a !== 0 || b < 0 ? a : 1)],
  neg: ["−", (a) => -a, () => -1],
  sin: ["sin", Math.sin, Math.cos],
  cos: ["cos", Math.cos, (a) => -Math.sin(a)],
  tanh: ["tanh", Math.tanh, (a) => 1 - Math.tanh(a) ** 2],
  exp: ["exp", Math.exp, Math.exp],
  log: ["log", Math.log, (a) => 1 / a],
  sqrt: ["√", Math.sqrt, (a) => 0.5 / Math.sqrt(a)],
  relu: ["relu", (a) => Math.max(a, 0), (a) => !(a <= 0)],
  select: ["select", (test, a, b) => (test ? a : b), null, (test) => test, (test) => !test],
  "<": ["<", (a, b) => a < b], ">": [">", (a, b) => a > b], "<=": ["≤", (a, b) => a <= b],
  ">=": ["≥", (a, b) => a >= b], "==": ["=", (a, b) => a === b], "!=": ["≠", (a, b) => a !== b],
};
const total = (numbers) => numbers.reduce((a, b) => a + b, 0);
const REDUCTIONS = { // [sign, value, slope of each number for each operand]
  sum: ["sum", total, () => 1],
  mean: ["mean", (a) => total(a) / a.length, (a) => 1 / a.length],
  dot: ["dot", (a, b) => total(a.map((x, i) => x * b[i])), (a, b) => b, (a) => a],
};
const isLiteral = ({ kind }) => kind === "number" || kind === "list";
const literal = ({ items, value }) => items?.map((item) => item.value) ?? value;
const at = (value, i) => (Array.isArray(value) ? value[i] : value);
const lengthOf = (value) => (Array.isArray(value) ? value.length : 0);
function each(f, ...values) { // f of numbers, or of each number of arrays
  const length = Math.max(...values.map(lengthOf));
  return length ? Array.from({ length }, (_, i) => f(...values.map((value) => at(value, i)))) : f(...values);
}
class Recorder {
  constructor(text, given, isStatic) {
    Object.assign(this, { text, given, isStatic, nodes: [], names: new Map(), notes: [], leaves: 0 });
  }
  add(node, place) {
    if (this.nodes.length >= MOST_BOXES) throw mistake(`This graph has more than ${MOST_BOXES} boxes.`, place);
    const depth = 1 + Math.max(-1, ...(node.of ?? []).map((i) => this.nodes[i].depth));
    return this.nodes.push({ id: this.nodes.length, depth, of: [], grad: null, name: null, used: false, ...node }) - 1;
  }
  statement({ name, tree }) {
    const places = (tree.items ?? [tree]).map(({ from, to }) => [from, to]); // of numbers in the text
    const index = name !== null && isLiteral(tree) ? this.leaf(name, literal(tree), tree, places) : this.value(tree);
    if (name === null) return index;
    if (this.nodes[index].kind === "op") this.nodes[index].name ??= name;
    this.names.set(name, index);
    return index;
  }
  leaf(name, value, place, places = null) {
    return this.add({ kind: "leaf", leaf: this.leaves++, name, value, needs: true, places }, place);
  }
  // A leaf for each name that the text does not assign before it uses it, also in a branch that will not be run.
  freeLeaves(statements) {
    const assigned = new Set(), visit = (tree) => {
      if (tree.kind === "name" && !assigned.has(tree.name) && !this.names.has(tree.name)) {
        const start = Object.hasOwn(START, tree.name) ? START[tree.name] : 1;
        this.names.set(tree.name, this.leaf(tree.name, this.given.get(tree.name) ?? start, tree));
      }
      for (const part of tree.of ?? (tree.kind === "if" ? [tree.yes, tree.test, tree.no] : [])) visit(part);
    };
    for (const { name, tree } of statements) { visit(tree); assigned.add(name); }
  }
  value(tree) {
    if (isLiteral(tree)) return this.add({ kind: "constant", value: literal(tree), needs: false }, tree);
    if (tree.kind === "if") return this.branch(tree);
    if (tree.kind === "op") return this.apply(tree.op, tree.of.map((part) => this.value(part)), tree);
    return this.names.get(tree.name);
  }
  branch({ test, yes, no, ...place }) {
    const asked = this.value(test);
    if (lengthOf(this.nodes[asked].value)) throw mistake("A condition compares single numbers, and this is an array.", test);
    if (this.isStatic) return this.apply("select", [asked, this.value(yes), this.value(no)], place);
    const taken = this.nodes[asked].value ? yes : no, source = ({ from, to }) => this.text.slice(from, to).trim();
    this.notes.push({ test: source(test), answer: this.nodes[asked].value, taken: source(taken) });
    return this.value(taken);
  }
  apply(op, of, place) {
    const operands = of.map((i) => this.nodes[i]), lengths = operands.map(({ value }) => lengthOf(value));
    const [sign, f] = REDUCTIONS[op] ?? OPS[op], isReduction = op in REDUCTIONS;
    const fail = (message) => { throw mistake(message, place); };
    if (isReduction && lengths.includes(0)) fail(`${op} takes an array, such as [1, 2, 3], and this is one number.`);
    const different = [...new Set(lengths)].filter((length) => length);
    if (different.length > 1) fail(`These arrays have ${different.join(" and ")} numbers: they must be equally long.`);
    const values = operands.map(({ value }) => value), value = isReduction ? f(...values) : each(f, ...values);
    const needs = operands.some((operand) => operand.needs) && !COMPARISONS.includes(op);
    return this.add({ kind: "op", op, sign, of, value, needs }, place);
  }
}
function recorded(text, given = new Map(), isStatic = false) {
  const recorder = new Recorder(text, given, isStatic), statements = new Parser(text).program(), { nodes, notes } = recorder;
  recorder.freeLeaves(statements);
  const result = statements.map((statement) => recorder.statement(statement)).at(-1);
  nodes[result].used = true;
  for (const node of [...nodes].reverse()) if (node.used) for (const i of node.of) nodes[i].used = true;
  return { nodes, notes, result: nodes[result], edges: backward(nodes, nodes[result]) };
}
// Backpropagates from the result. Returns the gradients that travelled along each edge.
function backward(nodes, result) {
  const edgesOf = (head) => head.of.map((tail, port) => ({ tail: nodes[tail], head, port, rows: [], total: null }));
  const edges = nodes.filter(({ used }) => used).flatMap(edgesOf);
  if (!result.needs || lengthOf(result.value)) return edges;
  result.grad = 1;
  for (const node of [...nodes].reverse()) {
    for (const edge of edges) if (edge.head === node && node.grad !== null && edge.tail.needs) flow(edge, nodes);
  }
  return edges;
}
function flow(edge, nodes) {
  const { tail, head, port } = edge, values = head.of.map((i) => nodes[i].value), reduction = REDUCTIONS[head.op];
  const slopes = reduction ? reduction[port + 2](...values) : each(OPS[head.op][port + 2], ...values);
  const send = (incoming, slope) => (typeof slope === "boolean" ? (slope ? incoming : 0) : incoming * slope);
  const rows = each((_, incoming, slope) => [incoming, Number(slope), send(incoming, slope)], tail.value, head.grad, slopes);
  edge.rows = lengthOf(rows[0]) ? rows : [rows];
  const outgoing = edge.rows.map((row) => row[2]);
  edge.total = lengthOf(tail.value) ? outgoing : total(outgoing);
  tail.grad = tail.grad === null ? edge.total : each((a, b) => a + b, tail.grad, edge.total);
}
