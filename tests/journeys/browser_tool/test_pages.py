"""What a model does with pages that mean well."""

import hashlib

import pytest

from ostiary.adapters.browser.browser import Browser
from ostiary.adapters.browser.records import Limits
from ostiary.contracts.content import Trust
from ostiary.contracts.errors import ToolError
from tests.journeys.browser_tool.conftest import Desk, browsing
from tests.journeys.browser_tool.internet import Internet

SHOP = """<title>Shop</title><h1>Bread</h1><p>Fresh every day.</p><a href="/docs">Docs: all</a>
<form action="/buy"><input aria-label="Name" name="n"><select aria-label="Size" name="s"><option>small<option>large</select>
<button>Buy</button></form><p id="said"></p><button onclick="said.textContent='clicked it'">Press</button>"""


async def test_a_page_is_read_as_an_outline_with_refs(desk: Desk) -> None:
    result = await desk.show(SHOP)
    lines = [line.strip() for line in result.text.split("\n")]
    assert lines[0].endswith("] Shop")
    assert 'heading 1 "Bread"' in lines
    assert "Fresh every day." in lines
    assert any(line.startswith("e") and line.endswith('link "Docs: all" -> /docs') for line in lines)


async def test_what_a_page_says_is_untrusted_and_named_after_its_host(desk: Desk) -> None:
    result = await desk.show(SHOP)
    assert result.label is not None
    assert (result.label.trust, result.label.sources) == (Trust.UNTRUSTED, ("web:site.example",))
    assert result.details["title"] == "Shop"


async def test_a_click_does_what_the_page_says(desk: Desk) -> None:
    await desk.show(SHOP)
    result = await desk.do("click", ref=await desk.ref('"Press"'))
    assert "clicked it" in result.text


async def test_text_is_typed_chosen_and_sent(desk: Desk, internet: Internet) -> None:
    await desk.show(SHOP)
    await desk.do("type", ref=await desk.ref('combobox "Size"'), text="large")
    result = await desk.do("type", ref=await desk.ref('textbox "Name"'), text="Ann", submit=True)
    assert "/buy?n=Ann&s=large" in result.text
    assert "not here." in result.text


async def test_back_returns_to_the_page_before(desk: Desk) -> None:
    await desk.show("<title>First</title>one")
    await desk.show("<title>Second</title>two")
    assert "First" in (await desk.do("back")).text


async def test_a_screenshot_is_a_small_picture_with_its_digest(desk: Desk) -> None:
    await desk.show(SHOP)
    result = await desk.do("screenshot")
    digest = result.images[0].digest
    assert result.details["screenshot"] == digest == hashlib.sha256(result.blobs[digest]).hexdigest()
    assert result.blobs[digest].startswith(b"\xff\xd8")
    assert len(result.blobs[digest]) <= 1024 * 1024


async def test_a_long_page_is_read_in_parts_without_gap(desk: Desk) -> None:
    first = await desk.show("".join(f"<p>paragraph number {number} of many</p>" for number in range(1000)))
    assert "read on with page=2" in first.text
    assert len(first.text.encode()) < 7000
    parts = [(await desk.do("read", page=page)).text for page in range(1, 6)]
    assert all(f"paragraph number {number} of many" in "\n".join(parts) for number in range(900))


async def test_an_approval_is_bound_to_the_page_and_the_element(desk: Desk, internet: Internet) -> None:
    await desk.show(SHOP)
    ref = await desk.ref('button "Buy"')
    bound = await desk.tool.bind({"action": "click", "ref": ref}, desk.context)
    assert bound["element"] == 'button "Buy"'
    assert bound["leads to"] == "http://site.example/buy"
    assert bound["page"].startswith("http://site.example/")


async def test_a_button_that_was_renamed_is_neither_bound_nor_clicked(desk: Desk) -> None:
    await desk.show("""<button id=b>Cancel</button><button onclick="b.textContent='Pay 900'">Turn</button>""")
    cancel, turn = await desk.ref('"Cancel"'), await desk.ref('"Turn"')
    outcome = await desk.tool.bind({"action": "click", "ref": cancel}, desk.context)
    assert outcome["element"] == 'button "Cancel"'
    await desk.do("click", ref=turn)
    with pytest.raises(ToolError, match="read it again"):
        await desk.tool.bind({"action": "click", "ref": cancel}, desk.context)
    with pytest.raises(ToolError, match="read it again"):
        await desk.do("click", ref=cancel)


async def test_a_ref_of_another_page_is_worth_nothing(desk: Desk) -> None:
    await desk.show("<button>One</button>")
    ref = await desk.ref('"One"')
    await desk.show("<button>Two</button>")
    with pytest.raises(ToolError, match="read it again"):
        await desk.do("click", ref=ref)


async def test_a_new_tab_is_followed_and_left_again(desk: Desk, internet: Internet) -> None:
    other = internet.page("<title>Other</title><p>in the new tab</p>")
    await desk.show(f'<title>Start</title><a target="_blank" href="{other}">Go</a>')
    result = await desk.do("click", ref=await desk.ref('"Go"'))
    assert "in the new tab" in result.text
    assert "[tab 2 of 2]" in result.text
    assert "Start" in (await desk.do("back")).text


COOKIE = "<script>document.cookie='who=ann; max-age=999'; localStorage.who='ann'</script>"
WHO = "<p id=p></p><script>p.textContent='knows: ' + document.cookie + ' ' + localStorage.who</script>"


async def test_conversations_share_nothing(browser: Browser, internet: Internet) -> None:
    ann, ben = Desk(browser, internet), Desk(browser, internet)
    await ann.show(COOKIE)
    assert "knows: who=ann ann" in (await ann.show(WHO)).text
    assert "knows: undefined" in (await ben.show(WHO)).text


async def test_a_guest_of_the_same_chat_does_not_get_the_owners_pages(browser: Browser, internet: Internet) -> None:
    owner = Desk(browser, internet)
    await owner.show(COOKIE)
    guest = Desk(browser, internet, owner.session, role="guest")
    with pytest.raises(ToolError, match="No page is open"):
        await guest.do("read")
    assert "knows: undefined" in (await guest.show(WHO)).text


async def test_nothing_is_kept_once_it_is_closed(desk: Desk) -> None:
    await desk.show(COOKIE)
    await desk.do("close")
    assert "knows: undefined" in (await desk.show(WHO)).text


@pytest.mark.parametrize("action", ["read", "back", "screenshot"])
async def test_without_a_page_there_is_nothing_to_do(desk: Desk, action: str) -> None:
    with pytest.raises(ToolError, match="No page is open"):
        await desk.do(action)


async def test_frames_are_read_too(desk: Desk, internet: Internet) -> None:
    inner = internet.page("<button>Inside</button>", host="other.example")
    await desk.show(f'<iframe src="{inner}"></iframe>')
    assert 'button "Inside"' in (await desk.do("read")).text


async def test_a_page_of_a_hundred_thousand_elements_is_shown_by_its_words(internet: Internet) -> None:
    # Drawing it takes as long as it takes: the limits are those of a slow machine.
    async with browsing(internet, Limits(settle=0.8, load=60, look=30, order=100)) as browser:
        desk = Desk(browser, internet)
        items = "".join(f"<li><a href=/{number}>item {number}</a>" for number in range(50_000))
        result = await desk.show(f"<ul>{items}</ul>")
        assert "too large to be used" in result.text
        assert "item 0\n" in result.text
        assert "item" in (await desk.do("read", page=2)).text
