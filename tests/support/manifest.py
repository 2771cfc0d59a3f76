"""A bundle's manifest, after its files were changed."""
import hashlib
import json
import os


def rewrite_manifest(folder):
    """What somebody does who adds a file: the manifest is signed by nobody."""
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as f:
        manifest = json.load(f)
    files = []
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.relpath(os.path.join(at, name), folder)
            if path != "manifest.json":
                with open(os.path.join(at, name), "rb") as f:
                    data = f.read()
                files.append({"path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    manifest["files"] = sorted(files, key=lambda f: f["path"].encode())
    with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as f:
        f.write(json.dumps(manifest, separators=(",", ":")) + "\n")
