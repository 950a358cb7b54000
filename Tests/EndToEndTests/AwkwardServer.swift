import Foundation
import TestSupport

/// An HTTP server on loopback that misbehaves in many ways: a Python process that reports each
/// request in a line.
final class AwkwardServer: Sendable {
    static let python = "/usr/bin/python3"
    static let isThere = access(python, X_OK) == 0

    let program: RunningProgram
    let port: Int

    /// `photo` is the content of complete answers.
    init(photo: Data, in house: House) async throws {
        let (script, file) = (house.path("server.py"), house.path("served.jpg"))
        try write(Data(Self.script.utf8), to: script)
        try write(photo, to: file)
        program = try RunningProgram([Self.python, "-u", script, file])
        let line = try await program.line(holding: "port ")
        port = Int(line.split(separator: " ").last ?? "") ?? 0
    }

    deinit { program.killIfRunning() }

    func address(_ path: String, host: String = "127.0.0.1") -> String { "http://\(host):\(port)/\(path)" }

    /// The lines about requests for `path`.
    func requests(_ path: String) -> [String] { program.lines.filter { $0.hasPrefix("get /\(path) ") } }

    /// The most requests that it has served at the same time.
    var mostAtOnce: Int {
        program.lines.filter { $0.hasPrefix("at once ") }.compactMap { Int($0.dropFirst(8)) }.max() ?? 0
    }

    private static let script = #"""
        import http.server, socket, struct, sys, threading, time
        photo = open(sys.argv[1], "rb").read()
        lock = threading.Lock()
        running = highest = 0
        seen = {}

        def say(*words):
            with lock: print(*words, flush=True)

        def numbered(name):
            # Like the photo, but for a comment after its start.
            comment = ("number " + name).encode()
            return photo[:2] + b"\xff\xfe" + struct.pack(">H", len(comment) + 2) + comment + photo[2:]

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *words): pass

            def head(self, status, length=None, **fields):
                self.send_response(status)
                if length is not None: self.send_header("Content-Length", str(length))
                for name, value in fields.items(): self.send_header(name.replace("_", "-"), value)
                self.end_headers()

            def whole(self, content, **fields):
                self.head(200, len(content), **fields)
                self.wfile.write(content)

            def reset(self):
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True
                self.rfile = self.wfile = open("/dev/null", "r+b")

            def pour(self, piece, total):
                sent = 0
                try:
                    while sent < total:
                        self.wfile.write(piece)
                        sent += len(piece)
                except OSError: pass
                say("poured", self.path, sent)
                self.close_connection = True

            def do_GET(self):
                global running, highest
                with lock:
                    running += 1
                    if running > highest:
                        highest = running
                        print("at once", highest, flush=True)
                    count = seen[self.path] = seen.get(self.path, 0) + 1
                say("get", self.path, "try", count, "range", self.headers.get("Range"), "if", self.headers.get("If-Range"))
                try: self.answer(self.path.strip("/").split("/"), count)
                except OSError: self.close_connection = True
                finally:
                    with lock: running -= 1

            def answer(self, words, count):
                what = words[0]
                if what == "photo":
                    self.whole(numbered(words[1].split(".")[0]), Content_Type="image/jpeg")
                elif what == "soon" and count == 1: self.head(404, 0)
                elif what == "soon" or what == "later" and count > 1: self.whole(numbered(words[1]))
                elif what in ("slow", "later"):
                    self.head(200, 1 << 30)
                    self.pour(photo[:1000], 1000)
                    say("holding", self.path)
                    self.connection.settimeout(60)
                    self.rfile.read(1)
                elif what == "stall":
                    self.head(200, len(photo))
                    self.wfile.write(photo[:1000])
                    self.connection.settimeout(60)
                    self.rfile.read(1)
                elif what == "drip":
                    self.head(200, 1 << 20)
                    while True:
                        self.wfile.write(b"x")
                        time.sleep(0.05)
                elif what == "short":
                    self.head(200, len(photo) + 1000)
                    self.wfile.write(photo)
                    self.close_connection = True
                elif what == "long":
                    self.head(200, len(photo))
                    self.wfile.write(photo + b"more than was promised" * 100)
                    self.close_connection = True
                elif what == "empty": self.head(200, 0)
                elif what == "reset": self.reset()
                elif what == "broken": self.head(500, 0)
                elif what == "gone": self.head(404, 0)
                elif what == "flaky":
                    if count <= int(words[1]): self.head(503, 0, Retry_After="0")
                    else: self.whole(numbered("flaky"))
                elif what == "page": self.whole(b"<html>not found</html>", Content_Type="text/html; charset=utf-8")
                elif what == "elsewhere": self.head(302, 0, Location="http://127.0.0.2:%d/photo/7.jpg" % port)
                elif what == "inward": self.head(302, 0, Location="http://[::1]:%d/photo/7.jpg" % port)
                elif what == "named": self.head(302, 0, Location="http://localhost.localdomain:%d/" % port)
                elif what == "file": self.head(302, 0, Location="file:///etc/passwd")
                elif what == "loop": self.head(302, 0, Location="/loop")
                elif what == "moved": self.head(301, 0, Location="/photo/moved.jpg")
                elif what == "slurred" and len(words) == 1: self.head(302, 0, Location="/slurred/then")
                elif what == "slurred" and count > 1: self.whole(numbered("slurred"))
                elif what == "huge":
                    self.head(200, 2 << 30)
                    self.pour(bytes(1 << 20), 2 << 30)
                elif what == "endless":
                    # No length: the end of the connection would be the end.
                    self.head(200, Connection="close")
                    self.pour(bytes(1 << 20), 2 << 30)
                elif what == "promised":
                    self.head(200, 2 << 20)
                    self.pour(bytes(1 << 20), 2 << 30)
                elif what in ("half", "other"):
                    content = numbered(what if what == "half" or count == 1 else "new")
                    tag = '"%s"' % (what if what == "half" or count == 1 else "new")
                    start = self.headers.get("Range")
                    if start and self.headers.get("If-Range") == tag:
                        first = int(start.split("=")[1].split("-")[0])
                        rest = content[first:]
                        self.head(206, len(rest), ETag=tag,
                            Content_Range="bytes %d-%d/%d" % (first, len(content) - 1, len(content)))
                        self.wfile.write(rest)
                    elif count == 1:
                        self.head(200, len(content), ETag=tag)
                        self.wfile.write(content[:len(content) // 2])
                        self.close_connection = True
                    else: self.whole(content, ETag=tag)
                elif what == "wrong-part":
                    if self.headers.get("Range"):
                        self.head(206, 10, ETag='"w"', Content_Range="bytes 0-9/%d" % len(photo))
                        self.wfile.write(bytes(10))
                    elif count == 1:
                        self.head(200, len(photo), ETag='"w"')
                        self.wfile.write(photo[:500])
                        self.close_connection = True
                    else: self.whole(photo, ETag='"w"')
                elif what in ("garbage", "slurred"):
                    self.wfile.write(b"\x00\xff not http at all\r\n\r\n")
                    self.close_connection = True
                elif what == "heads":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X-Field: %s\r\n" % (b"a" * 1000) * 5000)
                    self.close_connection = True
                else: self.head(404, 0)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256
            def handle_error(self, *words): pass

        server = Server(("127.0.0.1", 0), Handler)
        port = server.server_address[1]
        say("port", port)
        server.serve_forever()
        """#
}
