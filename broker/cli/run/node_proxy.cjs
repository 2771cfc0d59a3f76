// Preloaded into Node by `countersign run`: makes http, https and fetch go
// through the proxy of the environment in versions that do not do so
// themselves (before 24.5 and 22.21).  It adds nothing else and holds nothing
// that the environment does not.
'use strict';

(() => {
  if (process.allowedNodeEnvironmentFlags.has('--use-env-proxy')) return;
  const env = process.env.https_proxy || process.env.HTTPS_PROXY;
  if (!env) return;

  const http = require('http');
  const https = require('https');
  const net = require('net');
  const tls = require('tls');
  const proxy = new URL(env);
  const authorization = 'Basic ' + Buffer.from(
    decodeURIComponent(proxy.username) + ':' + decodeURIComponent(proxy.password)).toString('base64');
  const direct = new Set((process.env.no_proxy || '').split(',').map((s) => s.trim()).filter(Boolean));
  const HEAD_MAX = 65536;

  const authority = (host, port) => (host.includes(':') && !host.startsWith('[') ? `[${host}]` : host) + ':' + port;
  const bare = (host) => host.replace(/^\[|\]$/g, '');

  // A socket to host:port through CONNECT; done(error, socket) is called once.
  function tunnel(host, port, done) {
    const name = authority(host, port);
    const socket = net.connect({ host: proxy.hostname, port: Number(proxy.port) });
    let head = Buffer.alloc(0);
    const fail = (error) => {
      socket.removeAllListeners();
      socket.on('error', () => {});
      socket.destroy();
      done(error);
    };
    socket.once('error', fail);
    socket.once('end', () => fail(new Error(`the proxy closed the connection to ${name}`)));
    socket.once('connect', () => socket.write(
      `CONNECT ${name} HTTP/1.1\r\nHost: ${name}\r\nProxy-Authorization: ${authorization}\r\n\r\n`));
    socket.on('data', (piece) => {
      head = Buffer.concat([head, piece]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return head.length > HEAD_MAX ? fail(new Error('the proxy sent no head')) : undefined;
      const status = Number(head.toString('latin1', 9, 12));
      if (status !== 200) {
        const error = new Error(`the broker refused ${name} with status ${status}: ` +
          head.toString('utf8', end + 4, end + 1024));
        error.code = 'ERR_PROXY_TUNNEL';
        return fail(error);
      }
      socket.removeAllListeners();
      socket.pause();
      if (head.length > end + 4) socket.unshift(head.subarray(end + 4));
      return done(null, socket);
    });
  }

  function secure(options, host, port, done) {
    tunnel(host, port, (error, socket) => {
      if (error) return done(error);
      const name = options.servername || bare(host);
      const out = tls.connect({ ...options, socket, path: undefined, host: undefined, port: undefined,
        servername: net.isIP(name) ? '' : name });
      const early = (e) => done(e);
      out.once('error', early);
      out.once('secureConnect', () => {
        out.removeListener('error', early);
        done(null, out);
      });
      return undefined;
    });
  }

  // --- https and http ---------------------------------------------------
  class SecureAgent extends https.Agent {
    createConnection(options, done) {
      const host = options.host || options.hostname || 'localhost';
      if (options.socketPath || direct.has(host)) return super.createConnection(options, done);
      secure({ ...options, ALPNProtocols: ['http/1.1'] }, host, options.port || 443, done);
      return undefined;
    }
  }

  class PlainAgent extends http.Agent {
    addRequest(req, options, ...rest) {
      const host = options.host || options.hostname || 'localhost';
      if (options.socketPath || direct.has(host)) return super.addRequest(req, options, ...rest);
      const port = Number(options.port) || 80;
      if (!/^https?:/.test(req.path)) {
        req.path = 'http://' + (port === 80 ? authority(host, port).slice(0, -3) : authority(host, port)) + req.path;
      }
      req._header = null; // written anew, with the absolute target
      req.setHeader('Proxy-Authorization', authorization);
      const first = req.outputData && req.outputData[0];
      if (first) {
        const old = first.data;
        req._implicitHeader();
        first.data = req._header + old.slice(old.indexOf('\r\n\r\n') + 4);
      }
      return super.addRequest(req, { ...options, host: proxy.hostname, hostname: proxy.hostname,
        port: Number(proxy.port) }, ...rest);
    }
  }

  https.globalAgent = new SecureAgent({ keepAlive: true, timeout: 5000 });
  http.globalAgent = new PlainAgent({ keepAlive: true, timeout: 5000 });

  // --- fetch --------------------------------------------------------------
  const plainFetch = globalThis.fetch;
  const key = Symbol.for('undici.globalDispatcher.1');
  let installed = false;

  function install() {
    if (installed) return;
    installed = true;
    void globalThis.Headers; // loads Node's own undici, which sets the dispatcher
    const Base = globalThis[key] && globalThis[key].constructor;
    if (!Base) return;
    class ProxyAgent extends Base {
      constructor() {
        super({
          connect(options, done) {
            const host = options.hostname;
            if (options.protocol === 'https:' && !direct.has(host)) {
              return secure({ servername: options.servername, ALPNProtocols: ['http/1.1'] }, host, options.port || 443, done);
            }
            if (options.protocol === 'https:') {
              const out = tls.connect({ host, port: options.port || 443, servername: net.isIP(host) ? '' : host },
                () => done(null, out));
              return out.once('error', done);
            }
            const out = net.connect({ host, port: options.port || 80 }, () => done(null, out));
            return out.once('error', done);
          },
        });
      }

      dispatch(options, handler) {
        const origin = new URL(options.origin);
        if (origin.protocol !== 'http:' || direct.has(bare(origin.hostname))) return super.dispatch(options, handler);
        const extra = { host: origin.host, 'proxy-authorization': authorization };
        const headers = Array.isArray(options.headers) ? [...options.headers, ...Object.entries(extra).flat()] :
          { ...options.headers, ...extra };
        return super.dispatch({ ...options, headers, origin: `http://${proxy.host}`, path: origin.origin + options.path }, handler);
      }
    }
    globalThis[key] = new ProxyAgent();
  }

  if (plainFetch) {
    globalThis.fetch = function fetch(...args) {
      install();
      return plainFetch.apply(this, args);
    };
  }
})();
