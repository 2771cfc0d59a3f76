#!/usr/bin/env python3
"""A stand-in for the services that coding agents talk to: TLS, with an access log.

    model_api.py --log FILE --secret-file FILE --cert PEM --key PEM [--git DIR]

It prints its port on standard output once it listens, and speaks for every host that is resolved to it:

    POST /v1/messages                                  Anthropic's Messages API, streamed or not
    POST /v1/responses, /v1/chat/completions           OpenAI's two
    POST /v1beta/models/M:generateContent, ...:streamGenerateContent    Gemini's
    GET /user, /repos/o/r, /repos/o/r/issues; POST /graphql             GitHub's, as far as gh asks
    ... /git/REPO.git/...                              git (see upstream.py)
    POST /mcp                                          an MCP server of one tool (JSON-RPC)

The "model" does what the prompt says: of [[COMMAND]] in a user's message it makes one call of the tool that
runs commands, and once the tool's result is there it answers "tool said: RESULT".  Else it answers "hello".
With [[slow N]] it streams N deltas, 50 ms apart.  A request without the right credential gets 401.
"""
import base64
import hmac
import json
import os
import re
import time
import urllib.parse

import upstream

SHELLS = ("Bash", "bash", "shell", "shell_command", "exec_command", "run_shell_command", "local_shell", "exec")


def tools_below(value):
    """The tools of a Responses request by name: at the top, in namespaces, among the input."""
    if isinstance(value, list):
        return {name: tool for one in value for name, tool in tools_below(one).items()}
    if not isinstance(value, dict):
        return {}
    if value.get("type") in ("function", "custom", "local_shell"):
        return {value.get("name", value["type"]): value}
    return tools_below(value.get("tools"))


def texts(part):
    """Every text below a part of a conversation, whatever the API calls its members."""
    if isinstance(part, str):
        return [part]
    if isinstance(part, list):
        return [t for one in part for t in texts(one)]
    if isinstance(part, dict):
        return [t for key in ("text", "content", "parts", "output", "response", "functionResponse") if key in part for t in texts(part[key])]
    return []


class Turn:
    """What the conversation asks for next: .command and .tool, or .text."""

    def __init__(self, messages, tools):
        said = result = None
        for one in messages:
            parts = one.get("content") or one.get("parts") or []
            if one.get("role") == "tool" or one.get("type", "").endswith("_output") or any(
                    isinstance(p, dict) and (p.get("type") == "tool_result" or "functionResponse" in p) for p in parts):
                result = "\n".join(texts(one)).strip()
            elif one.get("role") == "user" and (asked := re.findall(r"\[\[(.+?)\]\]", "\n".join(texts(one)), re.S)):
                said, result = asked[-1], None      # what was said before is done
        slow = re.fullmatch(r"slow (\d+)", said or "")
        self.tool = next((name for name in tools if name in SHELLS), None)
        self.command = said if self.tool and said and not slow and result is None else None
        self.text = "hello" if result is None else "tool said: " + result
        self.pieces = [self.text[i:i + 9] for i in range(0, len(self.text), 9)]
        self.pause = 0
        if slow:
            self.pieces, self.pause = [f"{i} " for i in range(int(slow.group(1)))], 0.05
            self.text = "".join(self.pieces)

    def arguments(self, schema):
        """For the tool's own schema: a string, or a list of words."""
        name = next((n for n in ("command", "cmd", "script") if n in schema.get("properties", {})), "command")
        wants_list = schema.get("properties", {}).get(name, {}).get("type") == "array"
        out = {name: ["sh", "-c", self.command] if wants_list else self.command}
        for key in schema.get("required", []):
            out.setdefault(key, "as asked")
        return out


class Handler(upstream.Handler):
    def credential(self):
        for name in ("x-api-key", "x-goog-api-key", "api-key"):
            if self.headers.get(name):
                return self.headers[name]
        value = self.headers.get("Authorization", "")
        kind, _, rest = value.partition(" ")
        if kind.lower() == "basic":
            try:
                return base64.b64decode(rest).decode().partition(":")[2]
            except ValueError:
                return value
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        return rest or query.get("key", [""])[0]

    def events(self, pieces, named=True):
        """pieces: (event, data), or a number of seconds to wait."""
        def lines():
            for one in pieces:
                if isinstance(one, float):
                    time.sleep(one)
                    continue
                name, data = one
                text = data if isinstance(data, str) else json.dumps(data)
                yield (f"event: {name}\n" if named else "").encode() + f"data: {text}\n\n".encode()
        self.chunked(lines(), "text/event-stream; charset=utf-8")

    def json(self, value, status=200, extra=()):
        self.answer(status, json.dumps(value).encode(), extra=extra)

    # -- Anthropic -----------------------------------------------------------
    def messages(self, ask):
        tools = {t["name"]: t.get("input_schema", {}) for t in ask.get("tools", [])}
        turn = Turn(ask["messages"], tools)
        use = {"input_tokens": 10, "output_tokens": 5}
        base = {"id": "msg_01", "type": "message", "role": "assistant", "model": ask["model"], "content": [], "stop_reason": None,
                "stop_sequence": None, "usage": use}
        if turn.command:
            block = {"type": "tool_use", "id": "toolu_01", "name": turn.tool, "input": turn.arguments(tools[turn.tool])}
            deltas, why = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}], "tool_use"
        else:
            block = {"type": "text", "text": turn.text}
            deltas, why = [{"type": "text_delta", "text": p} for p in turn.pieces], "end_turn"
        if not ask.get("stream"):
            return self.json({**base, "content": [block], "stop_reason": why})

        def pieces():
            yield "message_start", {"type": "message_start", "message": base}
            empty = {**block, **({"input": {}} if turn.command else {"text": ""})}
            yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": empty}
            for delta in deltas:
                if turn.pause:
                    yield turn.pause
                yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
            yield "content_block_stop", {"type": "content_block_stop", "index": 0}
            yield "message_delta", {"type": "message_delta", "delta": {"stop_reason": why, "stop_sequence": None}, "usage": use}
            yield "message_stop", {"type": "message_stop"}
        return self.events(pieces())

    # -- OpenAI --------------------------------------------------------------
    def model_response(self, ask):
        given = ask["input"] if isinstance(ask["input"], list) else [{"role": "user", "content": ask["input"]}]
        tools = {**tools_below(given), **tools_below(ask)}
        turn = Turn(given, tools)
        if turn.command and tools[turn.tool]["type"] == "custom":   # Codex: a script that calls tools
            item = {"type": "custom_tool_call", "id": "ctc_01", "call_id": "call_01", "name": turn.tool, "status": "completed",
                    "input": f"text(await tools.exec_command({json.dumps({'cmd': turn.command})}))"}
        elif turn.command:
            item = {"type": "function_call", "id": "fc_01", "call_id": "call_01", "name": turn.tool, "status": "completed",
                    "arguments": json.dumps(turn.arguments(tools[turn.tool].get("parameters", {})))}
        else:
            item = {"type": "message", "id": "msg_01", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": turn.text, "annotations": []}]}
        whole = {"id": "resp_01", "object": "response", "created_at": 1, "status": "completed", "model": ask["model"], "output": [item],
                 "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "input_tokens_details": {"cached_tokens": 0},
                           "output_tokens_details": {"reasoning_tokens": 0}}}
        if not ask.get("stream"):
            return self.json(whole)

        def pieces():
            n = 0

            def event(name, **members):
                nonlocal n
                n += 1
                return name, {"type": name, "sequence_number": n, **members}
            yield event("response.created", response={**whole, "status": "in_progress", "output": [], "usage": None})
            yield event("response.output_item.added", output_index=0, item={**item, "status": "in_progress", **({} if turn.command else {"content": []})})
            for p in [] if turn.command else turn.pieces:
                if turn.pause:
                    yield turn.pause
                yield event("response.output_text.delta", item_id="msg_01", output_index=0, content_index=0, delta=p)
            yield event("response.output_item.done", output_index=0, item=item)
            yield event("response.completed", response=whole)
        return self.events(pieces())

    def completions(self, ask):
        tools = {t["function"]["name"]: t["function"].get("parameters", {}) for t in ask.get("tools", [])}
        turn = Turn(ask["messages"], tools)
        base = {"id": "chatcmpl-01", "created": 1, "model": ask["model"]}
        use = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        call = {"index": 0, "id": "call_01", "type": "function", "function": {"name": turn.tool, "arguments": json.dumps(
            turn.arguments(tools[turn.tool]))}} if turn.command else None
        why = "tool_calls" if call else "stop"
        said = {"role": "assistant", "content": None, "tool_calls": [call]} if call else {"role": "assistant", "content": turn.text}
        if not ask.get("stream"):
            return self.json({**base, "object": "chat.completion", "usage": use, "choices": [{"index": 0, "message": said, "finish_reason": why}]})

        def chunk(delta, finish=None):
            return "", {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

        def pieces():
            for p in [] if call else turn.pieces:
                if turn.pause:
                    yield turn.pause
                yield chunk({"role": "assistant", "content": p})
            if call:
                yield chunk(said)
            yield chunk({}, why)
            yield "", {**base, "object": "chat.completion.chunk", "choices": [], "usage": use}
            yield "", "[DONE]"
        return self.events(pieces(), named=False)

    # -- Google --------------------------------------------------------------
    def generate(self, ask, streamed):
        tools = {f["name"]: f.get("parametersJsonSchema") or f.get("parameters") or {} for t in ask.get("tools", [])
                 for f in t.get("functionDeclarations", [])}
        turn = Turn(ask["contents"], tools)
        use = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}

        def candidate(part, finish=None):
            one = {"content": {"role": "model", "parts": [part]}, "index": 0, **({"finishReason": finish} if finish else {})}
            return {"candidates": [one], "usageMetadata": use, "modelVersion": "m"}
        if (ask.get("generationConfig") or {}).get("responseMimeType") == "application/json":
            return self.json(candidate({"text": json.dumps({"reasoning": "short", "next_speaker": "user", "model_choice": "flash",
                                                            "complexity_reasoning": "short", "complexity_score": 1})}, "STOP"))
        if turn.command:
            parts = [{"functionCall": {"id": "c1", "name": turn.tool, "args": turn.arguments(tools[turn.tool])}}]
        else:
            parts = [{"text": p} for p in turn.pieces]
        if not streamed:
            return self.json(candidate(parts[0] if turn.command else {"text": turn.text}, "STOP"))

        def pieces():
            for i, part in enumerate(parts):
                if turn.pause:
                    yield turn.pause
                yield "", candidate(part, "STOP" if i == len(parts) - 1 else None)
        return self.events(pieces(), named=False)

    # -- GitHub --------------------------------------------------------------
    def graphql(self, ask):
        repo = {"id": "R_1", "name": "r", "owner": {"id": "U_1", "login": "o"}, "nameWithOwner": "o/r", "description": "a repository", "hasIssuesEnabled": True,
                "issue": None, "issues": {"totalCount": 1, "nodes": [{"number": 7, "title": "an issue", "state": "OPEN", "labels": {"nodes": [], "totalCount": 0},
                                                                      "url": "https://github.com/o/r/issues/7", "updatedAt": "2026-01-01T00:00:00Z"}],
                                          "pageInfo": {"hasNextPage": False, "endCursor": ""}},
                "defaultBranchRef": {"name": "main"}, "viewerPermission": "WRITE", "url": "https://github.com/o/r", "isPrivate": False, "parent": None}
        self.json({"data": {"viewer": {"login": "agent", "id": "U_2"}, "repository": repo}})

    def github(self, path):
        if path == "/user":
            return self.json({"login": "agent", "id": 2}, extra=[("X-OAuth-Scopes", "repo, read:org, gist")])
        if path in ("/", ""):
            return self.json({}, extra=[("X-OAuth-Scopes", "repo, read:org, gist")])
        if path.endswith("/issues"):
            if self.command == "POST":
                return self.json({"number": 8, "html_url": "https://github.com/o/r/issues/8"}, 201)
            return self.json([{"number": 7, "title": "an issue"}])
        return self.json({"full_name": "o/r", "name": "r", "owner": {"login": "o"}, "default_branch": "main"})

    # -- MCP -----------------------------------------------------------------
    def mcp(self, ask):
        if "id" not in ask:
            return self.answer(202)
        results = {
            "initialize": {"protocolVersion": ask.get("params", {}).get("protocolVersion", "2025-06-18"), "capabilities": {"tools": {}},
                           "serverInfo": {"name": "stand-in", "version": "1"}},
            "tools/list": {"tools": [{"name": "add", "description": "adds", "inputSchema": {"type": "object", "properties": {
                "a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}}]},
        }
        if ask["method"] == "tools/call":
            given = ask["params"]["arguments"]
            result = {"content": [{"type": "text", "text": str(given["a"] + given["b"])}], "isError": False}
        else:
            result = results.get(ask["method"], {})
        return self.events([("message", {"jsonrpc": "2.0", "id": ask["id"], "result": result})])

    # -- all -----------------------------------------------------------------
    def serve(self):
        path = urllib.parse.urlsplit(self.path).path
        if path.startswith("/git/"):
            return self.git(path, urllib.parse.urlsplit(self.path).query)
        body, n, _ = self.read_body()
        if path.endswith("/hello"):     # what Claude Code asks before its first session: is anybody there?
            self.note(n, 200)
            return self.json({"message": "hello"})
        good = hmac.compare_digest(self.credential().encode(), self.server.secret.encode())
        self.note(n, 200 if good else 401)
        if not good:
            return self.json({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key", "code": 401,
                                                         "status": "UNAUTHENTICATED"}, "message": "Bad credentials"}, 401)
        if os.environ.get("SHOW"):
            open("/tmp/agents/last-" + path.replace("/", "_"), "wb").write(body)
        ask = json.loads(body or "{}") if "json" in self.headers.get("Content-Type", "json") else {}
        if path.endswith("/messages"):
            return self.messages(ask)
        if path.endswith("/responses"):
            return self.model_response(ask)
        if path.endswith("/chat/completions"):
            return self.completions(ask)
        if path.endswith("count_tokens"):
            return self.json({"input_tokens": 10})
        if path.endswith(":countTokens"):
            return self.json({"totalTokens": 10})
        if path.endswith(":generateContent") or path.endswith(":streamGenerateContent"):
            return self.generate(ask, "stream" in path)
        if path == "/graphql":
            return self.graphql(ask)
        if path == "/mcp":
            return self.mcp(ask) if self.command == "POST" else self.json({}, 405)
        if path.endswith("/models"):
            return self.json({"object": "list", "data": [], "models": [], "has_more": False})
        if self.headers.get("Host", "").startswith("api.github.com"):
            return self.github(path)
        return self.json({"error": {"type": "not_found_error", "message": "no such path"}}, 404)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = serve


if __name__ == "__main__":
    upstream.main(Handler)
