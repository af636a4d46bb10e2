"""Whatever text is put into an element is text in it, and nothing else."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as some

from doctor.views.html.page import _data
from doctor.views.markup import Markup, el, lines, text
from doctor.views.safe import visible

MARKED = some.text() | some.sampled_from(
    ["</p>", "<script>x</script>", "&amp;", "&lt;", "\"'>", "<!--", "]]>", "\x00<"]
)


class Read(HTMLParser):
    """Elements, attributes and text as a parser sees them."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words += data


@given(MARKED, MARKED)
def test_text_and_attributes_come_out_as_they_went_in_made_visible(content: str, title: str) -> None:
    found = Read(el("p", content, title=title))
    assert found.tags == ["p"]
    assert found.words == visible(content)
    assert found.attributes == [("title", visible(title))]


@given(some.lists(MARKED))
def test_lines_stay_lines(contents: list[str]) -> None:
    assert Read(lines(contents)).words == "\n".join(map(visible, contents))


@given(MARKED)
def test_nothing_ends_the_block_of_data(content: str) -> None:
    block = _data(f'{{"text": "{content}"}}')
    assert block.count("<") == 2 and block.count(">") == 2


def test_elements_are_nested_and_attributes_left_out_where_there_is_none() -> None:
    inner = el("b", "1 < 2")
    assert el("a", inner, [" and ", None, [inner]], href="#x", open_=True, title=None, hidden=False) == (
        '<a href="#x" open><b>1 &lt; 2</b> and <b>1 &lt; 2</b></a>'
    )
    assert el("input", type="radio", checked=True, aria_label="x") == '<input type="radio" checked aria-label="x">'
    assert text(Markup("<i>"), "<i>") == "<i>&lt;i&gt;"
