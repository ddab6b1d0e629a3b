"""`/lexicon`: user words and stop words, of a collection or of all."""

from http import HTTPStatus

from flask import Response

from app.api import openapi
from app.api.context import resources, retokenizer
from app.api.models import LexiconBody, LexiconPage, LexiconPath
from app.api.problems import documented
from app.api.replies import AddedWordsReply, LexiconEntryReply, LexiconReply, no_content, reply
from app.db import collections
from app.db import lexicon as stored
from app.ingest import lexicon

blueprint = openapi.blueprint("lexicon", __name__)

_MISSING = documented(HTTPStatus.NOT_FOUND)
_LATER = "Searches see it when the index has been made anew, in the background; `GET /lexicon` says what is pending."


@blueprint.post(
    "/lexicon",
    description=_LATER,
    responses={HTTPStatus.ACCEPTED: AddedWordsReply, **documented(HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)},
)
def add(body: LexiconBody) -> Response:
    """Add words of a collection, or of all."""
    name = None if body.all_collections else body.collection or resources().settings.collection
    new = lexicon.add(body.kind, body.terms, name, resources())
    retokenizer().wake()
    return reply(AddedWordsReply(added=new), HTTPStatus.ACCEPTED)


@blueprint.get("/lexicon", responses={HTTPStatus.OK: LexiconReply, **_MISSING})
def listed(query: LexiconPage) -> Response:
    """A page of the words, by id: of a collection and of all, or without a collection of every one."""
    with resources().database.read() as connection:
        collection_id = collections.get(connection, query.collection).id if query.collection else None
        found = stored.listed(connection, collection_id, after=query.after, limit=query.limit + 1)
    page = [LexiconEntryReply.model_validate(entry) for entry in found[: query.limit]]
    next_after = page[-1].id if len(found) > query.limit else None
    return reply(LexiconReply(entries=page, next_after=next_after, pending=list(lexicon.pending(resources()))))


@blueprint.delete("/lexicon/<entry_id>", description=_LATER, responses={HTTPStatus.NO_CONTENT: None, **_MISSING})
def delete(path: LexiconPath) -> Response:
    """Remove a word."""
    lexicon.remove_entry(path.entry_id, resources())
    retokenizer().wake()
    return no_content()
