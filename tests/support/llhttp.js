// Reads lines of "Q HEX" or "S HEX" and says what node's own parser (llhttp) makes
// of them, a JSON array of messages a line: each with method, url, status, minor,
// fields, keep, upgrade, body (bytes), done; then the error code, if any.
'use strict';
const { HTTPParser, methods } = process.binding('http_parser');
const ON = { fields: HTTPParser.kOnHeaders, head: HTTPParser.kOnHeadersComplete,
  body: HTTPParser.kOnBody, done: HTTPParser.kOnMessageComplete };

function parse(kind, bytes) {
  const found = [];
  let early = [], url = '';
  const parser = new HTTPParser();
  parser.initialize(kind === 'S' ? HTTPParser.RESPONSE : HTTPParser.REQUEST, {});
  parser[ON.fields | 0] = (fields, part) => { early = early.concat(fields); url += part; };
  parser[ON.head | 0] = (major, minor, fields, method, target, status, text, upgrade, keep) => {
    found.push({ method: methods[method], url: url || target || '', status, minor,
      fields: early.concat(fields || []), keep, upgrade, body: 0, done: false });
    early = [];
    url = '';
    return 0;
  };
  parser[ON.body | 0] = (block) => { found[found.length - 1].body += block.length; };
  parser[ON.done | 0] = () => { if (found.length > 0) found[found.length - 1].done = true; };
  const result = parser.execute(bytes);
  return [found, result instanceof Error ? result.code : null];
}

const out = [];
for (const line of require('fs').readFileSync(0, 'latin1').split('\n'))
  if (line !== '')
    out.push(JSON.stringify(parse(line[0], Buffer.from(line.slice(2), 'hex'))));
process.stdout.write(out.join('\n') + '\n');
