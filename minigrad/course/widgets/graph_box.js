// One item of a graph: its box, its frame when it is open, and its description in words.

const ROW = 17, MARGIN = 8, LONGEST = 26; // pixels, pixels, characters
const QUIET = `data-lm-suppress-shortcuts="true"`; // on every focusable element: else JupyterLab handles our keys

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const counted = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
const short = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
const measuring = document.createElement("canvas").getContext("2d"), widths = new Map();
function width(text, font) {
  const key = font + text;
  if (!widths.has(key)) {
    measuring.font = `${font} Arimo, Arial, Helvetica, "Liberation Sans", sans-serif`;
    widths.set(key, measuring.measureText(text).width);
  }
  return widths.get(key);
}

const isGroup = (item) => item.ops !== undefined;
const known = (item) => (item.value === "·" ? "" : item.value);
const title = (item) => [item.sign, item.name].filter(Boolean).join(isGroup(item) ? " " : " → ") || item.value || item.kind;
const described = (item) => [title(item), item.spec, known(item) !== title(item) && known(item), item.trouble, item.kept ? "saved for backward" : ""].filter(Boolean).join(", ");
const bytes = (n) => (n < 0 ? "known when it runs" : `${n.toLocaleString("en")} B`);
const shapeOf = (spec) => spec.replace(/\w+\[(.*?)\]/g, (_, lengths) => (/^[^,]+$/.test(lengths) ? `(${lengths},)` : `(${lengths})`));
const typeOf = (spec) => spec.replace(/\[.*?\]/g, "");

const KINDS = { module: "a call of a module", scope: "a name scope", repeat: "equal blocks", block: "one of equal blocks", line: "made by a line of code", stretch: "ops that follow each other" };
const facts = (item, around) =>
  [["", title(item)], ...(isGroup(item) ? ofGroup(item) : ofNode(item)), ["in", around]].filter(([, text]) => text);
const ofGroup = (item) => [["what", KINDS[item.kind]], ["holds", item.spec]];
function ofNode(item) {
  return [
    ["shape", item.spec && shapeOf(item.spec)],
    ["dtype", item.spec && typeOf(item.spec)],
    ["bytes", item.spec && bytes(item.bytes)],
    ["value", known(item) !== title(item) && known(item)],
    ["look out", item.trouble],
    ["for backward", item.kept && "saved"],
    ["from", item.line],
    ...(item.facts ?? []).map((fact) => ["also", fact]),
  ];
}

// A closed box: its size and its SVG. The box of a group has a button in place of the op's symbol. A dense box is narrower:
// it has the op's symbol above, without the value and without the type of a module: they are read on hover.
function shape(item, i, name, dense = false) {
  const group = isGroup(item), above = dense && !group, sign = group ? "+" : above ? "" : item.sign ?? "", signSize = sign.length <= 3 ? 18 : 14;
  const texts = textsOf(item, above ? [item.sign, name].filter(Boolean).join(" → ") : name, dense);
  const chip = sign ? Math.max(26, width(sign, `${signSize}px`) + 10) : 0, h = texts.length * ROW + MARGIN;
  const w = Math.ceil(chip + 2 * MARGIN + Math.max(...texts.map(([css, text]) => width(text, css === "mg-name" ? "bold 13px" : "12px"))));
  const tag = (right, words, css) => `<g class="mg-kept ${css}"><rect x="${w - right}" y="-6" width="40" height="13" rx="6"/><text x="${w - right + 20}" y="4">${words}</text></g>`;
  const markup = () => `<g class="mg-box mg-${group ? "group" : item.kind}" data-item="${i}" tabindex="-1" role="button" ${QUIET} aria-label="${escaped(described(item))}"${group ? ' aria-expanded="false"' : ""}>` +
    `<title>${escaped(described(item))}</title>` +
    (group ? `<rect class="mg-frame" x="4" y="4" width="${w}" height="${h}" rx="8"/>` : "") +
    `<rect class="mg-frame" width="${w}" height="${h}" rx="${item.kind === "leaf" || item.kind === "constant" ? 0 : 8}"/>` +
    (chip ? `<g class="${group ? "mg-toggle" : ""}"><rect class="mg-chip" x="1" y="1" width="${chip}" height="${h - 2}" rx="7"/><text class="mg-sign" style="font-size:${signSize}px" x="${chip / 2}" y="${h / 2 + 6}">${escaped(sign)}</text></g>` : "") +
    texts.map(([css, text], n) => `<text class="${css}" x="${chip + MARGIN}" y="${ROW * (n + 1)}">${escaped(text)}</text>`).join("") +
    (item.kept ? tag(44, "saved", "") : "") + (item.trouble ? tag(item.kept ? 88 : 44, item.trouble.includes("NaN") ? "NaN" : "inf", "mg-trouble") : "") + "</g>";
  return { size: [w, h], markup };
}
function textsOf(item, name, dense) { // [class, words] of each line
  const value = known(item), numbers = dense ? [["mg-dim", isGroup(item) ? item.spec.replace(/^.* · |, .*$/, "") : item.spec || value]] :
    item.name ? [["mg-dim", [item.spec, value].filter(Boolean).join(" · ")]] : [["mg-dim", item.spec], ["mg-value", value]];
  return [...inTwo(name).map((part) => ["mg-name", part]), ...numbers].filter(([, text]) => text).map(([css, text]) => [css, short(text)]);
}
const inTwo = (name) => // two lines of a long name
  (name.length > LONGEST && name.match(`^(.{${Math.floor(name.length * 0.4)},}?) (.+)`)?.slice(1)) || [name];

const heading = (item, name) => `${name.replace(/:$/, "")}: ${item.spec}`;

// An open group: a frame around its contents; the layout sets its size.
function frame(item, i, name) {
  return `<g class="mg-open" data-item="${i}" tabindex="-1" role="button" ${QUIET} aria-expanded="true" aria-label="${escaped(`${title(item)}, ${item.spec}, open`)}">` +
    `<rect class="mg-frame" rx="10"/><g class="mg-toggle"><rect class="mg-chip" x="3" y="3" width="24" height="24" rx="7"/><text class="mg-sign" style="font-size:18px" x="15" y="21">−</text></g>` +
    `<text class="mg-name" x="33" y="20">${escaped(heading(item, name))}</text></g>`;
}
