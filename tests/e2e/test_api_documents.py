"""Documents and collections over HTTP."""

from dataclasses import replace

from api_client import Api

from app.db import collections, reembeddings, spaces
from app.records import ModelIdentity, Space
from app.resources import Resources
from tests import made_files

TRAVEL = "# Travel\n\nTrains are booked in second class.\n\n# 出差\n\n出差可以坐高铁二等座,不可以坐商务舱。\n"
MARKDOWN = "text/markdown"


def test_a_document_is_added_replaced_and_left_alone(api: Api) -> None:
    body = {"source": "travel.md", "text": TRAVEL, "media_type": MARKDOWN, "metadata": {"部门": ["人事", 1, None]}}
    first = api("POST", "/documents", json=body)
    added = first.json()
    assert (first.status_code, added["outcome"], added["version"], added["chunks_reused"]) == (201, "added", 1, 0)
    again = api("POST", "/ingest", json=body)
    assert (again.status_code, again.json()["outcome"]) == (200, "unchanged")
    changed = api("POST", "/documents", json={**body, "text": TRAVEL + "\n# Hotels\n\nUp to 90 euros a night.\n"})
    assert (changed.status_code, changed.json()["outcome"], changed.json()["version"]) == (200, "updated", 2)
    stored = api("GET", f"/documents/{added['document_id']}")
    assert "部门" in stored.text
    assert stored.json()["metadata"] == body["metadata"]
    assert stored.json()["title"] == "Travel"
    assert stored.json()["version"] == 2


def test_a_name_like_a_path_is_only_a_name(api: Api) -> None:
    added = api.add("../../etc/passwd", "Nothing of the kind.")
    assert api("GET", f"/documents/{added['document_id']}").json()["source"] == "../../etc/passwd"


def test_the_pages_of_documents_and_chunks_hold_each_once(api: Api) -> None:
    ids = [api.add(f"{n}.txt", f"Paragraph number {n}. " * 100)["document_id"] for n in range(5)]
    seen: list[int] = []
    after: int | None = 0
    while after is not None:
        page = api("GET", "/documents", params={"after": after, "limit": 2}).json()
        seen += [document["id"] for document in page["documents"]]
        after = page["next_after"]
    assert seen == ids
    chunks = api("GET", f"/documents/{ids[0]}/chunks").json()
    assert chunks["next_after"] is None
    assert [chunk["ordinal"] for chunk in chunks["chunks"]] == list(range(len(chunks["chunks"])))
    content = "Paragraph number 0. " * 100
    for chunk in chunks["chunks"]:
        assert content[chunk["start_char"] : chunk["end_char"]] == chunk["text"]
    second = api("GET", f"/documents/{ids[0]}/chunks", params={"after": 0, "limit": 1}).json()["chunks"]
    assert second == chunks["chunks"][1:2]


def test_a_disabled_document_is_not_found_until_it_is_enabled_again(api: Api) -> None:
    added = api.add("travel.md", TRAVEL)
    place = f"/documents/{added['document_id']}"
    assert api("PATCH", place, json={"state": "disabled"}).json()["state"] == "disabled"
    assert api.search("second class trains")["hits"] == []
    assert api("PATCH", place, json={"state": "active"}).json()["state"] == "active"
    assert api.search("second class trains")["hits"][0]["document_id"] == added["document_id"]


def test_a_deleted_document_is_gone(api: Api) -> None:
    place = f"/documents/{api.add('travel.md', TRAVEL)['document_id']}"
    gone = api("DELETE", place)
    assert (gone.status_code, gone.content) == (204, b"")
    assert api("GET", place).status_code == 404
    assert api("GET", f"{place}/chunks").status_code == 404
    assert api("DELETE", place).status_code == 404
    assert api.search("second class trains")["hits"] == []


def test_files_are_uploaded_each_with_its_own_outcome(api: Api) -> None:
    good = ("file", ("手册.md", TRAVEL.encode()))
    utf16 = ("file", ("notes.txt", "会议在周一。".encode("utf-16")))
    bad = ("file", ("photo.txt", b"\xff\xd8\xff\xe0\x00\x10JFIF"))
    both = api("POST", "/documents", files=[good, utf16], data={"collection": "手册"})
    assert both.status_code == 201
    assert [(d["source"], d["outcome"]) for d in both.json()["documents"]] == [
        ("手册.md", "added"),
        ("notes.txt", "added"),
    ]
    assert api("POST", "/documents", files=[good], data={"collection": "手册"}).status_code == 200
    mixed = api("POST", "/ingest", files=[good, bad], data={"collection": "手册"})
    assert mixed.status_code == 207
    outcomes = mixed.json()["documents"]
    assert [outcome["outcome"] for outcome in outcomes] == ["unchanged", "failed"]
    assert "photo.txt" in outcomes[1]["reason"]
    none = api("POST", "/documents", files=[bad, ("file", ("empty.md", b""))])
    assert none.status_code == 422
    assert [error["field"] for error in none.json()["errors"]] == ["file", "file"]
    assert "photo.txt" in none.json()["errors"][0]["message"]
    assert "empty.md" in none.json()["errors"][1]["message"]
    assert api.search("会议", collection="手册")["hits"][0]["source"] == "notes.txt"


def test_files_of_other_formats_are_uploaded_and_found_by_page_and_line(api: Api) -> None:
    manual = made_files.pdf(["The grinder has eleven settings."], ["铜壶的容量是十二升。"], title="Manual")
    gbk = "这是我们的一台机器，可以在家里使用，也可以在办公室里使用。".encode("gbk")
    files = [("file", ("manual.pdf", manual)), ("file", ("gbk.txt", gbk)), ("file", ("cut.docx", b"PK\x03\x04"))]
    replied = api("POST", "/documents", files=files)
    assert replied.status_code == 207
    pdf, text, word = replied.json()["documents"]
    assert (pdf["outcome"], pdf["warnings"], text["outcome"], word["outcome"]) == ("added", [], "added", "failed")
    assert "gb18030" in text["warnings"][0]
    assert "damaged or cut short" in word["reason"]
    assert api("GET", f"/documents/{pdf['document_id']}").json()["title"] == "Manual"
    [chunk] = api("GET", f"/documents/{pdf['document_id']}/chunks").json()["chunks"]
    assert (chunk["page"], chunk["line"]) == (1, 1)
    hit = api.search("grinder settings")["hits"][0]
    assert (hit["source"], hit["page"], hit["line"]) == ("manual.pdf", 1, 1)
    api("POST", "/documents", json={"source": "t", "text": "bean,minutes\nSidamo,11\n", "media_type": "text/csv"})
    assert api.search("Sidamo minutes")["hits"][0]["text"] == "- bean: Sidamo; minutes: 11"


def test_a_change_of_a_collections_model_is_shown(api: Api, resources: Resources) -> None:
    api.add("travel.md", TRAVEL, collection="k")
    assert api("GET", "/collections/k").json()["model_change"] is None
    identity = ModelIdentity("ollama", "bge-m3", 1_024, "", "")
    with resources.database.write() as connection:
        collection = collections.get(connection, "k")
        space = spaces.ensure(connection, Space(0, identity), state="building")
        reembeddings.begin(connection, replace(collection, space=space))
    change = api("GET", "/collections/k").json()["model_change"]
    assert (change["model"]["model"], change["model"]["dim"]) == ("bge-m3", 1_024)
    assert (change["embedded"], change["chunks"]) == (
        0,
        api("GET", "/documents?collection=k").json()["documents"][0]["chunks"],
    )
    assert api("GET", "/collections/k").json()["model"]["dim"] == 384


def test_collections_are_listed_shown_and_deleted_whatever_their_names(api: Api) -> None:
    for name, path in (
        ("手册/2024", "/collections/手册/2024"),
        ("a//b", "/collections/a//b"),
        ("50%?", "/collections/50%25%3F"),
    ):
        api.add("travel.md", TRAVEL, collection=name)
        shown = api("GET", path).json()
        assert shown["name"] == name
        assert shown["model"]["dim"] == 384
        assert shown["splitting"]["splitter"] == "semantic"
    names = [collection["name"] for collection in api("GET", "/collections").json()["collections"]]
    assert sorted(names) == sorted(["手册/2024", "a//b", "50%?"])
    assert api("DELETE", "/collections/手册/2024").status_code == 204
    assert api("GET", "/collections/手册/2024").status_code == 404
    assert api("POST", "/ask", json={"question": "trains", "collection": "手册/2024"}).status_code == 404


def test_what_the_versions_of_a_document_changed_is_listed(api: Api) -> None:
    part = "# Part {0}\n\n{1}\n\n"
    parts = [part.format(n, f"What part {n} says of the kettle. " * 30) for n in range(4)]
    place = f"/documents/{api.add('kettle.md', ''.join(parts[:3]), media_type=MARKDOWN)['document_id']}"
    only = api("GET", f"{place}/changes")
    assert (only.status_code, only.json()["detail"]) == (404, "kettle.md has one version only")
    api.add("kettle.md", parts[0] + parts[3] + parts[2], media_type=MARKDOWN)
    newest, first = api("GET", f"{place}/versions").json()["versions"]
    assert (newest["version"], newest["chunks"], newest["added"], newest["removed"]) == (2, 3, 1, 1)
    assert (newest["changed"], first["changed"]) == (["content"], [])
    found = api("GET", f"{place}/changes").json()
    assert (found["since"], found["until"], found["changed"]) == (1, 2, ["content"])
    removed, added = found["chunks"]
    assert (removed["kind"], removed["section"], removed["line"]) == ("removed", "Part 1", 5)
    assert (added["kind"], added["section"], added["text"].strip()) == ("added", "Part 3", parts[3].strip())
    wrong = api("GET", f"{place}/changes", params={"since": 2})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "since")
    assert api("GET", "/documents/999999/versions").status_code == 404
    assert api("GET", "/documents/999999/changes").status_code == 404
