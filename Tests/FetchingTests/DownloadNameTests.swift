import Fetching
import FileValues
import HTTPValues
import Testing

@Suite("Names and heads of downloads")
struct DownloadNameTests {
    private func head(_ lines: String...) -> ResponseHead {
        var head = ResponseHead()
        for line in ["HTTP/1.1 200 OK"] + lines + [""] { _ = head.add((line + "\r\n").utf8) }
        return head
    }

    @Test(
        "By what the server says, else by the address, and always one safe name",
        arguments: [
            ("http://e.org/IMG_1.JPG", "X: y", "IMG_1.JPG"),
            ("http://e.org/", "Content-Type: image/jpeg", "download.jpg"),
            ("http://e.org/photo", "Content-Type: image/png; a=b", "photo.png"), ("http://e.org/", "X: y", "download"),
            ("http://e.org/x", "Content-Disposition: attachment; filename=\"a;b.jpg\"", "a;b.jpg"),
            ("http://e.org/x", "Content-Disposition: attachment; filename=c.jpg", "c.jpg"),
            ("http://e.org/x", "Content-Disposition: x; filename=a.jpg; filename*=UTF-8''%E2%82%AC.jpg", "€.jpg"),
            ("http://e.org/x.jpg", "Content-Disposition: attachment; filename=\"../../etc/passwd\"", "x.jpg"),
            ("http://e.org/x", "Content-Disposition: attachment; filename=\"../a.jpg\"", "a.jpg"),
            ("http://e.org/x", "Content-Disposition: attachment; filename=\"\\\"q\\\".jpg\"", "\"q\".jpg"),
            ("http://e.org/..%2f..%2fa.jpg", "X: y", "a.jpg"), ("http://e.org/.hidden.jpg", "X: y", "_hidden.jpg"),
            ("http://e.org/a.part", "Content-Type: image/jpeg", "download.jpg"),
            ("http://e.org/a.crdownload", "X: y", "download"), ("http://e.org/%00.jpg", "X: y", "download"),
            ("http://e.org/a%0A%1B.jpg", "X: y", "a%0A%1B.jpg"),
            // Nothing that comes is itself a list of more.
            ("http://e.org/more.links", "X: y", "more.links.txt"),
            ("http://e.org/x", "Content-Disposition: attachment; filename=\"a.URL\"", "a.URL.txt"),
        ])
    func names(_ address: String, _ line: String, _ name: String) throws {
        let chosen = DownloadName.choose(head: head(line), place: nil, address: try WebAddress(address))
        #expect(chosen == BytePath(name))
    }

    @Test("A name with an extension is preferred, whatever the redirects")
    func redirected() throws {
        let chosen = DownloadName.choose(
            head: head(), place: try WebAddress("http://cdn.org/IMG_2.heic"),
            address: try WebAddress("http://e.org/get"))
        #expect(chosen == "IMG_2.heic")
    }

    @Test("A head is read line by line; a status line begins a new one")
    func heads() {
        var head = head(
            "Content-Length: 12", "content-length: 13", "ETag: \"abc\"", "Retry-After: 7", "Content-Range: bytes 5-9/10"
        )
        #expect(head.isWhole && head.status == 200 && head.contentLength == 12)
        #expect(head.validator == "\"abc\"" && head.retryAfter == 7_000)
        #expect(head.contentRange?.first == 5 && head.contentRange?.total == 10)
        let isTaken = head.add("HTTP/2 503 \r\n".utf8)
        #expect(isTaken)
        #expect(head.status == 503 && head.contentLength == nil && !head.isWhole && head.isTemporary)
        #expect(self.head("ETag: W/\"abc\"", "Last-Modified: yesterday").validator == "yesterday")
        #expect(self.head("Content-Length: -1").contentLength == nil)
        #expect(self.head("Content-Length: 5", "Transfer-Encoding: chunked").contentLength == nil)
        #expect(self.head("Content-Range: bytes */10").contentRange == nil)
    }

    @Test("An endless head is refused")
    func endless() {
        var head = ResponseHead()
        var taken = 0
        while head.add(String(repeating: "a", count: 1_000).utf8), taken < 1_000 { taken += 1 }
        #expect(taken < 100)
    }
}
