"""`/documents`: add, list, read, disable, delete. `POST /ingest` is a short name of `POST /documents`."""

from collections.abc import Collection
from functools import partial
from http import HTTPStatus

from flask import Response, request
from flask_openapi3.types import ResponseDict

from app.api import openapi
from app.api.bodies import form, parsed
from app.api.context import resources
from app.api.models import ChunkPage, DocumentBody, DocumentPatch, DocumentPath, Page, Upload, VersionRange
from app.api.problems import documented, failed_files
from app.api.replies import (
    ChangesReply,
    ChunkReply,
    ChunksReply,
    DocumentOutcome,
    DocumentReply,
    DocumentsReply,
    UploadReply,
    VersionReply,
    VersionsReply,
    no_content,
    reply,
)
from app.db import collections, documents
from app.db.pool import Db
from app.ingest import history, store, uploads
from app.records import Chunk, Document

blueprint = openapi.blueprint("documents", __name__)

_STATUSES = (
    "201: something was added; 200: only updated or unchanged; 202: something waits for an embedder and is not found "
    "yet; 207: some files failed; 422: all failed."
)
_BODY = openapi.either_body(blueprint, DocumentBody, Upload)
_ADDED: ResponseDict = {
    HTTPStatus.OK: openapi.either_reply(blueprint, DocumentOutcome, UploadReply),
    HTTPStatus.CREATED: openapi.either_reply(blueprint, DocumentOutcome, UploadReply),
    HTTPStatus.ACCEPTED: openapi.either_reply(blueprint, DocumentOutcome, UploadReply),
    HTTPStatus.MULTI_STATUS: UploadReply,
    **documented(HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
}
_MISSING = documented(HTTPStatus.NOT_FOUND)


@blueprint.post("/documents", description=_STATUSES, responses=_ADDED, openapi_extensions=_BODY)
@blueprint.post("/ingest", operation_id="ingest", description=_STATUSES, responses=_ADDED, openapi_extensions=_BODY)
def add() -> Response:
    """Add or replace a document given as JSON, or files given as multipart/form-data."""
    if request.mimetype == "multipart/form-data":
        return _add_files(parsed(Upload, form()))
    return _add_text(parsed(DocumentBody, request.get_json()))


def _add_text(body: DocumentBody) -> Response:
    outcome = uploads.ingest_text(body.to_source(), body.collection or resources().settings.collection, resources())
    return reply(DocumentOutcome.of(outcome), _status({outcome.outcome}))


def _add_files(upload: Upload) -> Response:
    files = [(file.filename or "", file.read()) for file in upload.file]
    outcomes = uploads.ingest_files(files, upload.collection or resources().settings.collection, resources())
    kinds = {outcome.outcome for outcome in outcomes}
    if kinds == {"failed"}:
        return failed_files(outcomes)
    return reply(UploadReply(documents=[DocumentOutcome.of(outcome) for outcome in outcomes]), _status(kinds))


def _status(kinds: Collection[str]) -> HTTPStatus:
    if "failed" in kinds:
        return HTTPStatus.MULTI_STATUS
    if "pending" in kinds:
        return HTTPStatus.ACCEPTED
    return HTTPStatus.CREATED if "added" in kinds else HTTPStatus.OK


@blueprint.get("/documents", responses={HTTPStatus.OK: DocumentsReply, **_MISSING})
def listed(query: Page) -> Response:
    """A page of a collection's documents, by id."""

    def read(connection: Db) -> list[Document]:
        collection = collections.get(connection, query.collection or resources().settings.collection)
        return documents.listed(connection, collection.id, after=query.after, limit=query.limit + 1)

    found = resources().database.read_anywhere(read)
    page = [DocumentReply.model_validate(document) for document in found[: query.limit]]
    return reply(DocumentsReply(documents=page, next_after=page[-1].id if len(found) > query.limit else None))


@blueprint.get("/documents/<document_id>", responses={HTTPStatus.OK: DocumentReply, **_MISSING})
def get(path: DocumentPath) -> Response:
    """One document."""
    found = resources().database.read_anywhere(partial(documents.get, document_id=path.document_id))
    return reply(DocumentReply.model_validate(found))


@blueprint.get("/documents/<document_id>/chunks", responses={HTTPStatus.OK: ChunksReply, **_MISSING})
def chunks(path: DocumentPath, query: ChunkPage) -> Response:
    """A page of a document's chunks, in order."""

    def read(connection: Db) -> list[tuple[int, Chunk]]:
        documents.get(connection, path.document_id)
        return documents.chunk_page(connection, path.document_id, after=query.after, limit=query.limit + 1)

    found = resources().database.read_anywhere(read)
    page = [ChunkReply.of(chunk_id, chunk) for chunk_id, chunk in found[: query.limit]]
    return reply(ChunksReply(chunks=page, next_after=page[-1].ordinal if len(found) > query.limit else None))


@blueprint.get("/documents/<document_id>/versions", responses={HTTPStatus.OK: VersionsReply, **_MISSING})
def versions(path: DocumentPath) -> Response:
    """The versions of a document that are kept, newest first."""
    _, found = resources().database.read_anywhere(partial(history.of_document, document_id=path.document_id))
    return reply(VersionsReply(versions=[VersionReply.model_validate(version) for version in found]))


@blueprint.get("/documents/<document_id>/changes", responses={HTTPStatus.OK: ChangesReply, **_MISSING})
def changes(path: DocumentPath, query: VersionRange) -> Response:
    """The chunks that a version has and an earlier one has not, and the other way round."""
    asked = partial(history.changes, document_id=path.document_id, since=query.since, until=query.until)
    return reply(ChangesReply.model_validate(resources().database.read_anywhere(asked)))


@blueprint.patch("/documents/<document_id>", responses={HTTPStatus.OK: DocumentReply, **_MISSING})
def patch(path: DocumentPath, body: DocumentPatch) -> Response:
    """Disable a document, or enable it again. Searches see it at once."""
    return reply(DocumentReply.model_validate(store.set_state(path.document_id, body.state, resources())))


@blueprint.delete("/documents/<document_id>", responses={HTTPStatus.NO_CONTENT: None, **_MISSING})
def delete(path: DocumentPath) -> Response:
    """Delete a document. Searches and cached answers forget it at once."""
    store.delete(path.document_id, resources())
    return no_content()
