"""Holds events against the OCSF schema's own description of classes and objects."""
import json
import os

NUMBERS = {"integer_t", "long_t", "timestamp_t", "port_t"}
PROFILE_ATTRIBUTES = {"security_control": {"action", "action_id", "disposition", "disposition_id", "firewall_rule", "attacks", "malware",
                                           "authorizations", "policy", "is_alert", "risk_details", "confidence", "confidence_id"}}


class Schema:
    def __init__(self, folder):
        self.classes, self.objects = {}, {}
        for kind, into in (("classes", self.classes), ("objects", self.objects)):
            for name in os.listdir(os.path.join(folder, kind)):
                with open(os.path.join(folder, kind, name), encoding="utf-8") as f:
                    value = json.load(f)
                into[value["uid"] if kind == "classes" else name.removesuffix(".json")] = value

    def problems(self, event):
        if event.get("class_uid") not in self.classes:
            return [f"no class {event.get('class_uid')}"]
        description = self.classes[event["class_uid"]]
        profiles = event.get("metadata", {}).get("profiles", [])
        out = [f"profile {p} is not the class's" for p in profiles if p not in description["profiles"] and p != "record_integrity"]
        out += self.members(event, description, "event", set(profiles) | {None})
        if event.get("type_uid") != event["class_uid"] * 100 + event.get("activity_id", -1):
            out.append("type_uid is not class_uid * 100 + activity_id")
        if event.get("category_uid") != description["category_uid"]:
            out.append("category_uid is not the class's")
        used = set(event) & {"action_id", "disposition_id"}
        if used and "security_control" not in profiles:
            out.append(f"{sorted(used)} without the profile security_control")
        return out

    def members(self, value, description, where, profiles):
        attributes = description["attributes"]
        out = []
        for name, attribute in attributes.items():
            if attribute.get("requirement") == "required" and name not in value and attribute.get("profile") in profiles and \
                    name not in ("osint", "cloud"):
                out.append(f"{where}: {name} is missing")
        for name, item in value.items():
            if name == "attestation" and where == "event":
                continue        # of 1.9, not in this schema
            if name not in attributes:
                out.append(f"{where}: {name} is not in the schema")
            else:
                out += self.value(item, attributes[name], f"{where}.{name}")
        wanted = (description.get("constraints") or {}).get("at_least_one")
        if wanted and not set(wanted) & set(value):
            out.append(f"{where}: none of {wanted}")
        return out

    def value(self, value, attribute, where):
        if attribute.get("is_array"):
            if not isinstance(value, list):
                return [f"{where}: no array"]
            one = {k: v for k, v in attribute.items() if k != "is_array"}
            return [p for i, item in enumerate(value) for p in self.value(item, one, f"{where}[{i}]")]
        kind = attribute["type"]
        name = attribute.get("object_type")
        if name:
            if not isinstance(value, dict):
                return [f"{where}: no object"]
            return self.members(value, self.objects[name], where, {None}) if name in self.objects else []
        if kind in NUMBERS and (not isinstance(value, int) or isinstance(value, bool)):
            return [f"{where}: no integer"]
        if kind == "boolean_t" and not isinstance(value, bool):
            return [f"{where}: no boolean"]
        if kind.endswith("_t") and kind not in NUMBERS | {"boolean_t", "float_t", "json_t", "object_t"} and not isinstance(value, str):
            return [f"{where}: no text"]
        if attribute.get("enum") and str(value) not in attribute["enum"]:
            return [f"{where}: {value} is not in its list"]
        return []
