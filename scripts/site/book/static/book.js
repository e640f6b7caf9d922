// The script of a book page: it loads widgets when the reader scrolls near, explains glossary words, and lets keys
// scroll wide blocks. modelOf, which stands in for a kernel, is in model.js.

const shelf = (window.shelf = {});
const files = new URL("files/", document.currentScript.src);
const loaded = {};

function load(tag, name, attributes) {
  return (loaded[`${tag} ${name}`] ??= new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement(tag), attributes, { onload: resolve, onerror: reject });
    document.head.append(element);
  }));
}
const script = (name) => load("script", name, { src: new URL(`${name}.js`, files) });
const sheet = (name) => load("link", name, { rel: "stylesheet", href: new URL(`${name}.css`, files) });

async function open(place) {
  const { widget, module, sheet: looks, scope } = place.dataset;
  await Promise.all([script(widget), script(module), sheet(looks)]);
  const el = Object.assign(document.createElement("div"), { className: scope });
  place.replaceChildren(el);
  shelf[module].render({ model: modelOf(shelf[widget]), el });
  reachable();
}
const near = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) {
    if (isIntersecting) { near.unobserve(target); open(target); }
  }
}, { rootMargin: "600px" });

// Keys scroll only elements that can have the focus.
function reachable() {
  for (const box of document.querySelectorAll("pre, .output, .table-wrapper, .scrolls, .math-wrapper")) {
    if (box.scrollWidth > box.clientWidth && !box.closest(".mg-widget")) box.tabIndex = 0;
  }
}

// A page opened from disk may not load the files of the browser edition.
if (location.protocol === "file:") {
  for (const link of document.querySelectorAll('[target="run"]')) {
    link.removeAttribute("href");
    link.title = "Shown by a web server, as of python -m http.server in this folder, it runs";
  }
  document.querySelector(".ways")?.append("What runs needs a web server: python -m http.server in this folder is one.");
}

// The playground starts at once on the first page, and on a lesson's page when it is opened, or when a link holds its
// state. `playground` is in play.js.
const ground = document.querySelector(".play");
async function play() {
  await Promise.all([script("../play"), sheet("../play")]);
  playground(ground);
}
if (ground?.matches("details")) {
  let playing;
  ground.addEventListener("toggle", async () => {
    await (playing ??= play());
    if (ground.open) ground.scrollIntoView({ block: "nearest" });
  });
  const follow = () => {
    if (!location.hash.startsWith("#play=")) return;
    ground.open = true;
    ground.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  follow();
} else if (ground) play();

// Widgets read JupyterLab's theme attribute: the book sets it.
const dark = matchMedia("(prefers-color-scheme: dark)");
function theme() {
  const { theme: chosen } = document.body.dataset;
  document.body.dataset.jpThemeLight = String(chosen === "auto" ? !dark.matches : chosen !== "dark");
}

// Glossary words show their meaning on hover and on focus; the browser places it next to the word, where there is room.
// Escape hides it.
const note = Object.assign(document.createElement("div"), { id: "meaning", role: "tooltip", popover: "manual" });
document.body.append(note);
function explain({ type, target, key = "Escape" }) {
  if (target === note || key !== "Escape") return;
  note.hidePopover();
  const word = ["pointerover", "focusin"].includes(type) && target.closest?.(".term");
  if (!word) return;
  note.textContent = word.dataset.meaning;
  word.setAttribute("aria-describedby", note.id);
  note.showPopover({ source: word });
}
for (const event of ["pointerover", "focusin", "focusout", "keydown"]) addEventListener(event, explain);

// An answer that is opened opens the output above it too: what the cell with the reveal printed.
addEventListener("toggle", ({ target }) => {
  if (target.open && target.matches(".mg-answer")) target.previousElementSibling?.querySelector("details.hide")?.setAttribute("open", "");
}, true);

theme();
dark.addEventListener("change", theme);
new MutationObserver(theme).observe(document.body, { attributeFilter: ["data-theme"] });
for (const place of document.querySelectorAll(".widget")) near.observe(place);
reachable();
addEventListener("resize", reachable);

// The page's address is a link to what the playground shows.
addEventListener("click", async ({ target }) => {
  if (!target.matches?.("[data-copy]")) return;
  const isCopied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false), say = target.nextElementSibling;
  say.textContent = isCopied ? "Copied." : "The browser blocked copying: copy the address of this page.";
  setTimeout(() => { say.textContent = ""; }, 5000);
});
