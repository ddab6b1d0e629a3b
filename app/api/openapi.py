"""`/openapi.json`: the document made from the models that validate."""

from http import HTTPStatus
from typing import Any

from flask import Response, json
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.schema import Schema
from flask_openapi3.models.tag import Tag
from flask_openapi3.openapi import OpenAPI
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode

from app.api.problems import documented

_ALWAYS = (HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.SERVICE_UNAVAILABLE)


def blueprint(name: str, module: str) -> APIBlueprint:
    """A blueprint whose operations all document their problems."""
    return APIBlueprint(
        name, module, abp_tags=[Tag(name=name)], abp_responses=documented(*_ALWAYS), operation_id_callback=_operation_id
    )


def either_body(api: APIBlueprint, json_model: type[BaseModel], form_model: type[BaseModel]) -> dict[str, Any]:
    """The request body of an operation that takes JSON or a form, which flask-openapi3 has no word for."""
    models = {"application/json": json_model, "multipart/form-data": form_model}
    content = {media_type: {"schema": _component(api, model, "validation")} for media_type, model in models.items()}
    return {"requestBody": {"required": True, "content": content}}


def either_reply(api: APIBlueprint, *models: type[BaseModel]) -> dict[str, Any]:
    """A reply that is one of several."""
    schema = {"anyOf": [_component(api, model, "serialization") for model in models]}
    return {"content": {"application/json": {"schema": schema}}}


def register(app: OpenAPI) -> None:
    """Serve the document."""

    def document() -> Response:
        return Response(json.dumps(app.api_doc), content_type="application/json")

    app.add_url_rule("/openapi.json", "openapi", document)


def _component(api: APIBlueprint, model: type[BaseModel], mode: JsonSchemaMode) -> dict[str, str]:
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}", mode=mode)
    for name, part in {**schema.pop("$defs", {}), model.__name__: schema}.items():
        api.components_schemas[name] = Schema(**part)
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _operation_id(*, bp_name: str, name: str, path: str, method: str) -> str:  # noqa: ARG001  (the caller's names)
    return f"{bp_name}_{name}"
