"""A service that speaks WebSocket, for scenarios."""
import base64
import hashlib
import socket
import ssl
import threading

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class WebSocketServer:
    """Accepts WebSocket upgrades; sends `text` once a frame came, then echoes bytes."""

    def __init__(self, bench, text=b"", accept=None, status=101):
        self.text, self.accept, self.status, self.heads = text, accept, status, []
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(bench.path("cert.pem"), bench.path("key.pem"))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            s, _ = self.listener.accept()
            threading.Thread(target=self.one, args=(s,), daemon=True).start()

    def one(self, s):
        try:
            s = self.context.wrap_socket(s, server_side=True)
            head = b""
            while b"\r\n\r\n" not in head:
                head += s.recv(4096)
            self.heads.append(head.decode())
            key = next(x.split(b": ")[1] for x in head.split(b"\r\n") if x.lower().startswith(b"sec-websocket-key"))
            accept = self.accept or base64.b64encode(hashlib.sha1(key + GUID.encode()).digest()).decode()
            s.sendall(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode() + b"first")
            while data := s.recv(4096):
                s.sendall(self.text or data)
        except (OSError, StopIteration):
            pass
