import FileValues
import Glibc
import HTTPValues
import LinuxKernel
import WebServing

// Answers each request with its parts, for Campaigns/heads.py: web-probe SOCKET
signal(SIGPIPE, SIG_IGN)
var limits = WebLimits()
limits.head = .seconds(1)
limits.body = .seconds(1)
limits.tick = .milliseconds(100)
let server = WebServer(limits) { request in
    let path = request.head.target.segments.joined(separator: "/")
    return .text(
        .ok, "[\"\(request.head.method.rawValue)\", \"\(hexadecimal(path.utf8))\", \"\(hexadecimal(request.body))\"]")
}
try await server.run([WebListener(taking: listen(at: BytePath(CommandLine.arguments[1]), mode: 0o600))])
