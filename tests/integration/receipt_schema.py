"""Judges receipts by schemas/files/receipt.schema.json, with the few keywords that it uses. Stricter than it in one thing: a
member that the schema does not describe is a fault, because what is written and what is published would have come apart.
Standard library only.
"""
import json
import pathlib

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "schemas/files/receipt.schema.json").read_text())
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
KNOWN = {"$schema", "title", "description", "type", "required", "properties", "additionalProperties", "items", "enum", "minimum",
         "minLength", "maxLength", "minItems", "$ref", "definitions"}


def faults(value, schema=None, at=""):
    """What is wrong, as `pointer: words`."""
    schema = SCHEMA if schema is None else schema
    if "$ref" in schema:
        return faults(value, SCHEMA["definitions"][schema["$ref"].rsplit("/", 1)[1]], at)
    if not KNOWN.issuperset(schema):
        raise AssertionError("the schema uses %s, which is not judged here" % (set(schema) - KNOWN))
    found = []
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (kind == "integer" and isinstance(value, bool))):
        return ["%s: is no %s" % (at, kind)]
    if "enum" in schema and value not in schema["enum"]:
        found.append("%s: %r is none of %s" % (at, value, schema["enum"]))
    if isinstance(value, str) and not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        found.append("%s: %r has the wrong length" % (at, value))
    if kind == "integer" and value < schema.get("minimum", value):
        found.append("%s: %d is too small" % (at, value))
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            found.append("%s: has too few items" % at)
        for number, item in enumerate(value):
            found += faults(item, schema.get("items", {}), "%s/%d" % (at, number))
    if isinstance(value, dict):
        found += ["%s: lacks %s" % (at, name) for name in schema.get("required", []) if name not in value]
        for name, member in value.items():
            described = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if described is None:
                found.append("%s: `%s` is not described" % (at, name))
            else:
                found += faults(member, described, "%s/%s" % (at, name))
    return found
