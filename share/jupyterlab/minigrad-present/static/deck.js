// Which cells make which page, by the metadata that all of Jupyter uses: `slideshow.slide_type`.
//
//   slide, subslide    begins a page
//   fragment           comes with the next press, on the same page
//   skip               is for readers, and on no page
//   notes              is for whoever speaks; so is the text `slideshow.notes` of any cell
//   none               goes with what is above it
//
// What is under a folded heading is on no page, nor is that heading: a lecturer who wants it unfolds it.
//
// What is below a question, Predict(…) or Guess(…), comes with the next press too: no answer is on the screen before it.
// In a notebook without such metadata each heading of the first and second level begins a page.

const BEGINS = new Set(["slide", "subslide"]);
const ASKS = /^(Predict|Guess)\(/m;
const HEADING = /^#{1,2} +(.+)$/m;
const FENCED = /^```[^]*?^```/gm;
const NO_HEADING = 7;

// cells    [{ kind, source, slideshow, folded }]
// returns  [{ steps: [[index of a cell]], notes: [text], title }]
export function deck(cells) {
  const marked = cells.some(({ slideshow }) => BEGINS.has(slideshow?.slide_type));
  const begins = ({ kind, source, slideshow }) =>
    marked ? BEGINS.has(slideshow?.slide_type) : kind === "markdown" && HEADING.test(source);
  const pages = [];
  let asked = false;
  let fold = 0; // level of the folded heading that this cell is under
  cells.forEach((cell, index) => {
    const type = cell.slideshow?.slide_type;
    const level = levelOf(cell);
    if (level <= fold) fold = 0;
    if (cell.folded) fold ||= level;
    if (type === "skip" || fold) return;
    if (type === "notes") return void pages.at(-1)?.notes.push(cell.source);
    if (begins(cell) || !pages.length) pages.push({ steps: [[]], notes: [], title: "" });
    const page = pages.at(-1);
    if ((type === "fragment" || asked) && page.steps.at(-1).length) page.steps.push([]);
    asked = cell.kind === "code" && ASKS.test(cell.source);
    page.steps.at(-1).push(index);
    if (cell.slideshow?.notes) page.notes.push(cell.slideshow.notes);
    page.title ||= (cell.kind === "markdown" && /^#{1,6} +(.+)$/m.exec(cell.source)?.[1]) || "";
  });
  return pages;
}

// Of the highest heading of a cell, as JupyterLab counts.
function levelOf({ kind, source }) {
  const marks = kind === "markdown" ? [...source.replace(FENCED, "").matchAll(/^(#{1,6}) /gm)] : [];
  return Math.min(NO_HEADING, ...marks.map(([, mark]) => mark.length));
}
