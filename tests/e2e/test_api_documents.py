"""Documents and collections over HTTP."""

from api_client import Api

TRAVEL = "# Travel\n\nTrains are booked in second class.\n\n# 出差\n\n出差可以坐高铁二等座,不可以坐商务舱。\n"


def test_a_document_is_added_found_updated_and_left_alone(api: Api) -> None:
    first = api("POST", "/documents", json={"source": "travel.md", "text": TRAVEL, "media_type": "text/markdown"})
    assert first.status_code == 201
    added = first.json()
    assert (added["outcome"], added["version"], added["source"]) == ("added", 1, "travel.md")
    assert api.search("Which class for trains?")["hits"][0]["source"] == "travel.md"
