"""The few words of JSON Schema that our own documents use; an unknown word is an error."""
import re

TYPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict, "null": type(None)}
KNOWN = {"type", "properties", "required", "additionalProperties", "items", "enum", "pattern", "minimum", "maximum",
         "minLength", "maxLength", "minItems", "maxItems", "format", "description", "$ref", "$schema", "$id", "$defs", "title", "const"}


def problems(schema, value, root, where="$"):
    """What is wrong with value, as a list of sentences."""
    if schema is True:
        return []
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        return problems(target, value, root, where)
    if unknown := set(schema) - KNOWN:
        return [f"{where}: the schema uses {sorted(unknown)}"]
    wanted = schema.get("type")
    if isinstance(wanted, list):
        if not any(not problems({"type": one}, value, root) for one in wanted):
            return [f"{where}: is none of {wanted}"]
    elif wanted and (not isinstance(value, TYPES[wanted]) or (wanted == "integer" and isinstance(value, bool))):
        return [f"{where}: is no {wanted}"]
    out = []
    if "const" in schema and value != schema["const"]:
        out.append(f"{where}: is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        out.append(f"{where}: is none of {schema['enum']}")
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            out.append(f"{where}: does not match {schema['pattern']}")
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 1 << 30):
            out.append(f"{where}: has a wrong length")
    if isinstance(value, int) and not isinstance(value, bool):
        if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            out.append(f"{where}: is out of range")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 1 << 30):
            out.append(f"{where}: has a wrong number of elements")
        for i, item in enumerate(value):
            out += problems(schema.get("items", {}), item, root, f"{where}[{i}]")
    if isinstance(value, dict):
        props = schema.get("properties", {})
        out += [f"{where}.{name}: is missing" for name in schema.get("required", []) if name not in value]
        for name, item in value.items():
            if name in props:
                out += problems(props[name], item, root, f"{where}.{name}")
            elif schema.get("additionalProperties") is False:
                out.append(f"{where}.{name}: is not described")
    return out
