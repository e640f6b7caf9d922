// The language of the playground: a few lines of Python, as { name, tree } for each statement. Mistakes say where they are.
//   statement   [NAME =] value          value   sum [if sum < sum else value]
//   sum, product, power                 with + - * / **, as in Python
//   atom        NUMBER  NAME  (value)  [NUMBER, …]  function(value, …)

const LONGEST = 400, MOST_NUMBERS = 6; // characters of a text, numbers of an array
const FUNCTIONS = { sin: 1, cos: 1, tanh: 1, exp: 1, log: 1, relu: 1, sqrt: 1, sum: 1, mean: 1, dot: 2 }; // arguments
const STRENGTH = { "+": 1, "-": 1, "*": 2, "/": 2, "**": 4 }, SIGN = 3; // SIGN is that of −x: −x ** 2 is −(x ** 2)
const COMPARISONS = ["<", ">", "<=", ">=", "==", "!="];
const TOKEN = /(?<blank>(?:[^\S\n]|\u200b)+|#[^\n]*)|(?<line>\n|;)|(?<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?<name>[\p{L}_][\p{L}\p{Nd}_]*)|(?<sign>\*\*|[<>=!]=|[-+*/()[\],<>=])/yu;
const INSTEAD = { "^": "**", "×": "*", "·": "*", "÷": "/", "−": "-", "≤": "<=", "≥": ">=", "≠": "!=", "–": "-", "²": "** 2", "³": "** 3", "√": "sqrt(…)" };
const mistake = (message, { at, until = at + 1 }) => Object.assign(new Error(message), { at, until });
function tokensOf(text) {
  if (text.length > LONGEST) throw mistake(`This is longer than ${LONGEST} characters.`, { at: LONGEST });
  const tokens = [];
  let depth = 0; // of brackets, in which a line may end
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length;) {
    const at = TOKEN.lastIndex, match = TOKEN.exec(text);
    if (!match) throw strange(String.fromCodePoint(text.codePointAt(at)), at);
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    depth = Math.max(0, depth + "([".includes(match[0]) - ")]".includes(match[0]));
    if (kind !== "blank" && !(match[0] === "\n" && depth)) tokens.push({ kind, text: match[0].normalize("NFKC"), at, until: TOKEN.lastIndex });
  }
  return [...tokens, { kind: "end", text: "the end", at: text.length, until: text.length + 1 }];
}
const strange = (sign, at) => mistake(INSTEAD[sign] ? `Write ${INSTEAD[sign]} instead of ${sign}.` : `${sign} has no meaning here.`,
  { at, until: at + sign.length });

class Parser {
  n = 0;
  constructor(text) { this.tokens = tokensOf(text); }
  get next() { return this.tokens[this.n]; }
  is(...texts) { return texts.includes(this.next.text) && this.next.kind !== "end"; }
  take(...texts) { return this.is(...texts) ? this.tokens[this.n++] : null; }
  fail(message, place = this.next) { throw mistake(message, place); }
  close(text, open) {
    if (["end", "line"].includes(this.next.kind)) this.fail("This bracket is never closed.", open);
    return (this.take(text) ?? this.fail(this.surprise())).until;
  }
  program() {
    const statements = [];
    while (this.next.kind !== "end") if (!this.take("\n", ";")) statements.push(this.statement());
    if (!statements.length) this.fail("Type an expression, such as z = (x * y + w) * x.");
    return statements;
  }
  statement() {
    const { kind, text } = this.next, isNamed = kind === "name" && this.tokens[this.n + 1].text === "=";
    if (isNamed && [...Object.keys(FUNCTIONS), "if", "else"].includes(text)) this.fail(`${text} has a meaning already: choose another name.`);
    if (isNamed) this.n += 2;
    const tree = this.value();
    if (!["line", "end"].includes(this.next.kind)) this.fail(this.surprise());
    return { name: isNamed ? text : null, tree };
  }
  surprise() {
    const { kind, text } = this.next;
    if (text === "=") return "“=” names a value, at the start of a line. To compare, write “==”.";
    if (text === ")" || text === "]") return `“${text}” closes no bracket.`;
    if (COMPARISONS.includes(text)) return "Only an if has a comparison, and only one: a if x > 0 else b.";
    return ["number", "name"].includes(kind) || "([".includes(text)
      ? `An operator is missing before “${text}”, such as *.` : `“${text}” cannot stand here.`;
  }
  value() {
    const yes = this.sum(), word = this.take("if");
    if (!word) return yes;
    const test = this.comparison();
    if (this.is(...COMPARISONS)) this.fail("An if has one comparison here.");
    if (!this.take("else")) this.fail("This if has no else: write a if x > 0 else b.");
    const no = this.value();
    return { kind: "if", test, yes, no, at: word.at, until: word.until, from: yes.from, to: no.to };
  }
  comparison() {
    const a = this.sum(), sign = this.take(...COMPARISONS);
    if (!sign) this.fail(this.is("=") ? "To compare, write “==”." : "A condition compares two numbers, as in x > 0.");
    return this.binary(sign, a, this.sum());
  }
  binary({ text, at, until }, a, b) { return { kind: "op", op: text, of: [a, b], at, until, from: a.from, to: b.to }; }
  sum(least = 1) { // all operators that bind at least this strongly
    let tree = this.factor();
    for (let sign = this.next; STRENGTH[sign.text] >= least; sign = this.next) {
      this.n++;
      tree = this.binary(sign, tree, this.sum(sign.text === "**" ? SIGN : STRENGTH[sign.text] + 1));
    }
    return tree;
  }
  factor() {
    const sign = this.take("-", "+");
    if (!sign) return this.atom();
    const tree = this.sum(SIGN), from = sign.at;
    if (sign.text === "+") return { ...tree, from };
    if (tree.kind === "number") return { ...tree, value: -tree.value, from };
    return { kind: "op", op: "neg", of: [tree], at: sign.at, until: sign.until, from, to: tree.to };
  }
  atom() {
    const token = this.next, { kind, text, at, until } = token, place = { at, until, from: at, to: until };
    const before = { end: "the end", line: "the end of the line" }[kind] ?? `“${text}”`;
    if (["if", "else"].includes(text)) this.fail(`“${text}” stands between two values: a if x > 0 else b.`);
    if (!["number", "name"].includes(kind) && !this.is("(", "[")) this.fail(`A number, a name or a bracket is missing before ${before}.`);
    this.n++;
    if (kind === "number") return { kind, value: Number(text), ...place };
    if (text === "(") return { ...this.value(), from: at, to: this.close(")", token) };
    if (text === "[") return this.list(token, place);
    if (this.is("(")) return this.call(token);
    if (Object.hasOwn(FUNCTIONS, text)) this.fail(`${text} is a function: write ${text}(…).`, token);
    return { kind: "name", name: text, ...place };
  }
  list(open, place) {
    const items = [];
    do {
      const item = this.factor();
      if (item.kind !== "number") this.fail("Only numbers stand in a list, as in [1, 2, 3].", { at: item.from, until: item.to });
      items.push(item);
    } while (this.take(","));
    if (items.length > MOST_NUMBERS) this.fail(`A list has at most ${MOST_NUMBERS} numbers here.`, { at: place.at, until: items.at(-1).to });
    return { kind: "list", items, ...place, to: this.close("]", open) };
  }
  call(token) {
    const { text, at, until } = token, wants = FUNCTIONS[text], of = [];
    if (!Object.hasOwn(FUNCTIONS, text)) this.fail(`There is no function ${text}. There are ${Object.keys(FUNCTIONS).join(", ")}.`, token);
    const open = this.take("(");
    if (!this.is(")")) do of.push(this.value()); while (this.take(","));
    const to = this.close(")", open);
    if (of.length !== wants) this.fail(`${text} takes ${wants === 1 ? "one value" : "two values"}; here it has ${of.length}.`, token);
    return { kind: "op", op: text, of, at, until, from: at, to };
  }
}
