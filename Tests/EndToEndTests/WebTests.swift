import ControlProtocol
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

/// A browser, and what drives it.
private enum Browser: String, CaseIterable, CustomTestStringConvertible {
    case chromium = "chromium-headless-shell"
    case firefox = "firefox-esr"

    var testDescription: String { rawValue }

    /// Where playwright, marionette_driver and axe are: scripts/deps web-test.
    static let python =
        String(#filePath.dropLast("Tests/EndToEndTests/WebTests.swift".count)) + ".build/tools/web/bin/python"
    static let areThere =
        allCases.allSatisfy { access("/usr/bin/\($0.rawValue)", X_OK) == 0 } && access(python, X_OK) == 0
    static let areMissing: Comment =
        "skipped: chromium-headless-shell, firefox-esr or their drivers are missing; scripts/deps web-test installs them"

    /// Runs one of the scripts, and counts the screenshots that it leaves in `directory`.
    func run(_ script: String, _ arguments: [String], in directory: String, screenshots: [Browser: Int]) async throws {
        let path =
            String(#filePath.dropLast("WebTests.swift".count)) + "Scripts/" + script
            + (self == .chromium ? ".py" : "_firefox.py")
        let run = try RunningProgram([Self.python, path] + arguments + [directory, "\(Int(waitLimit / 10))"])
        let ending = try await run.ending()
        #expect(ending == .status(0), "\(run.lines.suffix(120).joined(separator: "\n"))")
        let shots = Tree.files(below: directory).filter { $0.key.hasSuffix(".png") }
        #expect(shots.count == screenshots[self])
    }
}

extension EndToEnd {
    @Suite("Pages", .timeLimit(.minutes(60)))
    struct Web {
        private static let leaflet = "/usr/share/javascript/leaflet/leaflet.esm.min.js"
        static let twoInboxes =
            House.oneCard + """

                [inbox.phones]
                path = "@phones"
                patience = "1h"
                [pictures]
                enabled = "yes"
                """

        @Test(
            "In a browser: signing in, Now, Needs you, without an error, a violation, or another host",
            .enabled(if: Browser.areThere, Browser.areMissing), arguments: Browser.allCases)
        private func browser(_ browser: Browser) async throws {
            let house = try House()
            try makeDirectory(house.path("phones"))
            try makeDirectory(house.path("shots"))
            let daemon = try await house.start(configuration: Self.twoInboxes)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try house.drop(try Photos.unique(1, of: "rocket.jpg"), as: "rocket.jpg")
            try house.drop(try Photos.unique(2, of: "rocket.jpg"), as: "copy.jpg")
            try house.drop(Data("<html>".utf8), as: "scan_12.jpg")
            try house.drop(Data("<html>".utf8), as: "<img src=x onerror=alert(1)>.jpg", into: house.path("phones"))
            try await daemon.lines(holding: [
                "a.jpg made", "rocket.jpg made", "copy.jpg made", "quarantined", "deferred",
            ])
            let pages = try house.pages()
            try await browser.run(
                "pages", [try await pages.address(), house.path("quarantine")], in: house.path("shots"),
                screenshots: [.chromium: 25, .firefox: 3])
            pages.program.signal(SIGINT)
            _ = try await pages.program.ending()
            let left = try await house.ask("list", "--outcome", "quarantined")
            #expect(left.status == 4)
            try await daemon.stop()
        }

        @Test(
            "In a browser: photos are sent by a person and by a guest, until they are safe to delete",
            .enabled(if: Browser.areThere, Browser.areMissing), arguments: Browser.allCases)
        private func dropping(_ browser: Browser) async throws {
            let house = try House()
            let (shots, photos) = (house.path("shots"), house.path("shots/photos"))
            for directory in [shots, photos] { try makeDirectory(directory) }
            for number in 1...4 { try Photos.unique(number).write(to: URL(filePath: "\(photos)/IMG_\(number).jpg")) }
            try overwrite("\(photos)/scan.jpg", with: Data("<html>".utf8))
            let daemon = try await house.start(configuration: House.oneCard + "\n[web]\ninbox = \"card\"")
            let pages = try house.pages()
            let address = try await pages.address()
            let added = try await house.ask("web", "link", "add", "oma", "--until", "2099-12-31", "--quota", "1G")
            #expect(added.text.contains("photos of 1G in all"), "\(added.lines)")
            let door = try #require(added.text.firstMatch(of: #/d/[0-9a-f]{64}\//#), "\(added.lines)").output
            try await browser.run(
                "drop", [address, String(address.prefix { $0 != "#" } + door)], in: shots,
                screenshots: [.chromium: 24, .firefox: 2])
            // What is not safe to delete is none of these.
            let filed = Tree.files(below: house.path("library")).filter { $0.key.hasSuffix(".jpg") }
            #expect(filed.count == (browser == .chromium ? 4 : 3))
            pages.program.signal(SIGINT)
            _ = try await pages.program.ending()
            try await daemon.stop()
        }

        @Test(
            "In a browser: all photos day by day, by keys, searched for, on a map, one looked at, one filed meanwhile",
            .enabled(if: Browser.areThere, Browser.areMissing),
            .enabled(if: Metadata.hasExiftool, "skipped: needs exiftool"),
            .enabled(if: access(Self.leaflet, R_OK) == 0, "skipped: needs libjs-leaflet"),
            arguments: Browser.allCases)
        private func photos(_ browser: Browser) async throws {
            let house = try House()
            let shots = house.path("shots")
            try makeDirectory(shots)
            let daemon = try await house.start(
                configuration: House.oneCard + """

                    renditions = ["thumbnail", "preview", "tilt-shift"]
                    [pictures]
                    enabled = "yes"
                    """)
            var names = ["rocket.jpg", "DSC_1.JPG"]
            try house.drop(try Photos.unique(1, of: "rocket.jpg"), as: "rocket.jpg")
            try house.drop(try Photos.named("mosaic.nef"), as: "DSC_1.NEF")
            try house.drop(try Photos.unique(2), as: "DSC_1.JPG")
            try house.drop(try Photos.named("film.mp4"), as: "film.mp4")
            for number in 1...32 {
                let isOlder = number > 20
                let photo = try Photos.unique(100 + number)
                names.append("IMG_\(number).jpg")
                try house.drop(
                    isOlder ? photo.replacing("2024:01:31", with: "2021:07:04") : photo, as: names.last ?? "")
            }
            let places = [
                ("54.3233", "10.1228"), ("54.3234", "10.1229"), ("-33.8568", "151.2153"), ("54.3235", "10.1227"),
            ]
            for (number, place) in places.enumerated() {
                let photo = try Metadata.photo(
                    300 + number, in: house,
                    [
                        "-GPSLatitude=\(place.0)", "-GPSLatitudeRef=\(place.0.hasPrefix("-") ? "S" : "N")",
                        "-GPSLongitude=\(place.1)", "-GPSLongitudeRef=E", "-AllDates=2019:05:0\(number + 1) 12:00:00",
                    ])
                // The last one comes later.
                if number == 3 {
                    try overwrite("\(shots)/place.jpg", with: photo)
                } else {
                    names.append("place\(number).jpg")
                    try house.drop(photo, as: names.last ?? "")
                }
            }
            for (number, name) in [(200, "late.jpg"), (201, "later.jpg")] {
                try overwrite(
                    "\(shots)/\(name)", with: Photos.unique(number).replacing("2024:01:31", with: "2024:02:02"))
            }
            try await daemon.lines(holding: names.map { "\($0) made" })
            let pages = try house.pages()
            try await browser.run(
                "photos", [try await pages.address(), house.inbox], in: shots,
                screenshots: [.chromium: 32, .firefox: 4])
            pages.program.signal(SIGINT)
            _ = try await pages.program.ending()
            try await daemon.stop()
        }

        @Test(
            "Who is not signed in gets the page and nothing else; a viewer acts on nothing",
            .enabled(
                if: access("/usr/bin/systemd-socket-activate", X_OK) == 0,
                "skipped: systemd-socket-activate is not installed"))
        func roles() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let socket = try await house.pagesForOthers()
            let (operating, viewer, nobody) = (
                Client(base: "http://x/", socket: socket), Client(base: "http://x/", socket: socket),
                Client(base: "http://x/", socket: socket)
            )
            for path in [
                "person", "live", "decisions", "quarantined/1", "t/" + String(repeating: "00", count: 32), "days",
                "tiles?day=1&from=0&count=1", "search?words=a", "places?bbox=0,0,1,1&width=1&height=1",
                "leaflet/leaflet.js", "t/1-00000000", "p/1-00000000",
                "r/1-00000000/googly", "o/1-00000000", "f/1-00000000", "photo/1-00000000",
            ] {
                #expect(try await nobody.ask("GET", path).status == 401, "\(path)")
            }
            for path in ["x", "index.html", "api/state", "s/0/app.js", "session/x"] {
                #expect(try await nobody.ask("GET", path).status == 404, "\(path)")
                #expect(try await nobody.ask("POST", path, "{}").status == 404, "\(path)")
            }
            #expect(try await nobody.ask("GET", "").status == 200)
            #expect(try await nobody.ask("POST", "", "{}").status == 405)
            #expect(try await nobody.ask("POST", "action", "{}").status == 401)
            try await operating.setPassword(by: try await house.link(for: "ana", "--role", "operator"))
            let link = try await house.link(for: "vera")
            let meaning = try await viewer.ask("POST", "link", "{\"link\":\"\(link)\"}")
            #expect(meaning.text == "{\"password_for\":\"vera\"}")
            let set = "{\"link\":\"\(link)\",\"password\":\"a long password\"}"
            #expect(try await viewer.ask("POST", "link", set).status == 200)
            #expect(try await viewer.ask("POST", "link", set).status == 403)
            #expect(try await viewer.ask("GET", "decisions").status == 200)
            let pause = "{\"version\":1,\"do\":\"pause\",\"inbox\":\"card\"}"
            #expect(try await viewer.ask("POST", "action", pause).status == 403)
            #expect(try await house.state(of: daemon).inboxes.first?.paused == nil)
            #expect(try await operating.ask("POST", "action", pause).status == 200)
            #expect(try await house.state(of: daemon).inboxes.first?.paused?.by == "ana (web)")

            _ = try await house.ask("web", "user", "remove", "vera")
            #expect(try await viewer.ask("GET", "decisions").status == 401)
            // A new link keeps the role.
            try await operating.setPassword(by: try await house.link(for: "ana"))
            #expect(try await operating.ask("POST", "action", pause).status == 200)
            #expect(try await operating.ask("DELETE", "session").status == 204)
            #expect(try await operating.ask("GET", "decisions").status == 401)
            try await daemon.stop()
        }

        @Test(
            "photoinbox-web serves an inherited socket to the people beside its configuration, in their names",
            .enabled(
                if: access("/usr/bin/systemd-socket-activate", X_OK) == 0,
                "skipped: systemd-socket-activate is not installed"))
        func inherited() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let elsewhere = try ScratchDirectory()
            try write(Data(), to: elsewhere.appending("people"))
            try FileManager.default.createSymbolicLink(
                atPath: house.path("web.users"), withDestinationPath: elsewhere.appending("people"))
            let link = try await house.link(for: "ana", "--role", "operator")
            let people = FileManager.default.contents(atPath: elsewhere.appending("people")) ?? Data()
            #expect(String(decoding: people, as: UTF8.self).contains("ana:operator:"))
            // The daemon has read it as it was.
            try house.configure(House.oneCard + "\nmistake = 1")
            let socket = try await house.pagesForOthers()
            let ana = Client(base: "http://x/", socket: socket)
            try await ana.setPassword(by: link)
            let pause = "{\"version\":1,\"do\":\"pause\",\"inbox\":\"card\",\"for\":\"eve\"}"
            #expect(try await ana.ask("POST", "action", pause).status == 200)
            #expect(try await house.state(of: daemon).inboxes.first?.paused?.by == "ana (web)")
            // Whoever the proxy is, it was not named.
            let named = Client(base: "http://x/", socket: socket)
            #expect(try await named.ask("GET", "person", fields: ["Remote-User": "ana"]).status == 401)
            try await daemon.stop()
        }

        @Test("photoinbox web serves its user alone, at addresses of this machine, and keeps its sessions apart")
        func owner() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let pages = try house.pages()
            let owner = try await pages.client()
            let link = try await house.link(for: "ana", "--role", "operator")
            #expect(try await owner.ask("POST", "link", "{\"link\":\"\(link)\"}").status == 403)
            #expect(try await owner.ask("GET", "", fields: ["Host": "photos.example.org:80"]).status == 403)
            #expect(try await owner.ask("GET", "", fields: ["Host": "localhost"]).status == 200)
            let signedIn = try await owner.ask("POST", "link", "{\"link\":\"\(pages.link())\"}")
            let port = try #require(owner.base.firstMatch(of: #/:(\d+)\//#)).1
            #expect(signedIn.fields["set-cookie"]?.hasPrefix("photoinbox-\(port)=") == true)
            #expect(try await owner.ask("GET", "decisions").status == 200)
            // Of files beside the quarantine nothing is shown, whatever the catalogue says.
            try house.drop(Data("<html>".utf8), as: "scan.jpg")
            try await daemon.line(holding: "quarantined")
            let list = try await owner.ask("GET", "decisions").text
            let operation = try #require(list.firstMatch(of: #/"operation":(\d+)/#)).1
            #expect(try await owner.ask("GET", "quarantined/\(operation)").status == 200)
            let forged = try RunningProgram([
                "/usr/bin/sqlite3", house.path("st/catalogue.sqlite"),
                "UPDATE outcome SET destination = CAST('\(house.path("photoinbox.toml"))' AS BLOB)",
            ])
            #expect(try await forged.ending() == .status(0), "\(forged.lines)")
            #expect(try await owner.ask("GET", "quarantined/\(operation)").status == 404)
            try await daemon.stop()
        }

        @Test("An inbox that is not there is refused, and a device with the reason why it may not send here")
        func wrongInboxAndDevices() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let refused = try await house.ask("web", "--port", "0", "--inbox", "nosuch")
            #expect(refused.status == 4, "\(refused.text)")
            #expect(refused.text.contains("there is no inbox nosuch; inboxes: card"), "\(refused.text)")
            let pages = try house.pages(["--config", house.path("photoinbox.toml"), "--inbox", "card"])
            let device = try await pages.client()
            func put(_ credentials: String) async throws -> Client.Answer {
                let basic = "Basic \(Data(credentials.utf8).base64EncodedString())"
                return try await device.ask(
                    "PUT", "up/a.jpg", "x", fields: ["X-Photo-Inbox": "", "Authorization": basic])
            }
            let wrong = try await put("ana:wrong")
            #expect(wrong.status == 401 && wrong.text.contains("with the password of a device"), "\(wrong.text)")
            _ = try await house.link(for: "ana", "--role", "sender")
            let added = try await house.ask("web", "device", "add", "ana", "phone")
            let form = #/([a-z0-9]{4}-){6}[a-z0-9]{4}/#
            let password = try #require(added.lines.first { $0.wholeMatch(of: form) != nil })
            let other = try await put("ana:\(password)")
            #expect(other.status == 401 && other.text.contains("nobody else sends to these pages"), "\(other.text)")
            try await daemon.stop()
        }

        @Test("A request that does not come from the page is refused, and so is one that the pages cannot make")
        func forged() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let pages = try house.pages()
            let owner = try await pages.client()
            try await owner.signIn(with: pages.link())
            let pause = "{\"version\":1,\"do\":\"pause\",\"inbox\":\"card\"}"
            for fields in [
                ["X-Photo-Inbox": ""], ["X-Photo-Inbox": "0"], ["Sec-Fetch-Site": "cross-site"],
                ["Sec-Fetch-Site": "same-site"], ["Content-Type": "text/plain"],
                ["Content-Type": "application/x-www-form-urlencoded"],
            ] {
                let status = try await owner.ask("POST", "action", pause, fields: fields).status
                #expect(status == 403 || status == 415, "\(fields)")
            }
            #expect(
                try await owner.ask("POST", "action", pause, fields: ["Sec-Fetch-Site": "same-origin"]).status == 200)
            for request in ["reload", "hello", "state", "metrics"] {
                #expect(try await owner.ask("POST", "action", "{\"version\":1,\"do\":\"\(request)\"}").status == 403)
            }
            for request in ["", "[]", "{\"version\":1,\"do\":\"format\"}", "{\"version\":1,\"do\":\"undo\"}"] {
                #expect(try await owner.ask("POST", "action", request).status == 400, "\(request)")
            }
            let missing = try await owner.ask("POST", "action", "{\"version\":1,\"do\":\"undo\",\"operation\":99}")
            #expect(missing.status == 409 && missing.text.contains("there is no operation 99"))
            try await daemon.stop()
            let down = try await owner.ask("POST", "action", pause)
            #expect(down.status == 503 && down.text.contains("photoinboxd is not running"))
        }

        @Test("What was shown is done, and nothing of it where another file is there by then")
        func shown() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let pages = try house.pages()
            let owner = try await pages.client()
            try await owner.signIn(with: pages.link())
            func act(_ what: String, _ more: String = "") async throws -> Client.Answer {
                try await owner.ask("POST", "action", "{\"version\":1,\(what)\(more)}")
            }
            func look(_ what: String) async throws -> [String] {
                let answer = try await act(what, ",\"dry_run\":true")
                #expect(answer.status == 200)
                return answer.text.matches(of: #/"identity":"([^"]+)"/#).map { String($0.1) }
            }
            func expecting(_ seen: [String]) -> String {
                ",\"expected\":[\(seen.map { "\"\($0)\"" }.joined(separator: ","))]"
            }
            for (number, what) in ["\"do\":\"discard\"", "\"do\":\"release\",\"as_is\":true"].enumerated() {
                let name = "scan\(number).jpg"
                try house.drop(Data("<html>".utf8), as: name)
                try await daemon.line(holding: "quarantined card/\(name)")
                let list = try await owner.ask("GET", "decisions").text
                let operation = try #require(list.firstMatch(of: #/"operation":(\d+)/#)).1
                let request = "\(what),\"operation\":\(operation)"
                let seen = try await look(request)
                #expect(seen.count == 1)
                let other = Data("<body>".utf8)
                let place = house.path("quarantine/card/\(name)")
                try FileManager.default.removeItem(atPath: place)
                try write(other, to: place)
                for expected in [seen, [], seen + seen] {
                    let refused = try await act(request, expecting(expected))
                    #expect(refused.status == 409 && refused.text.contains("has changed since it was shown"))
                }
                #expect(FileManager.default.contents(atPath: place) == other)
                let again = try await look(request)
                #expect(again != seen)
                #expect(try await act(request, expecting(again)).status == 200)
                #expect(access(place, F_OK) != 0)
            }
            // Of a set, all or nothing.
            for (name, kind) in [("live.jpg", "JPG"), ("live.mov", "MOV")] {
                try house.drop(try Photos.named(name), as: "IMG_1.\(kind)")
                try await daemon.line(holding: "filed card/IMG_1.\(kind)")
            }
            let filed = try await house.ask("list", "--outcome", "filed", "--json")
            let operation = try #require(filed.text.matches(of: #/"operation": ?(\d+)/#).compactMap { Int($0.1) }.max())
            let request = "\"do\":\"undo\",\"operation\":\(operation)"
            let seen = try await look(request)
            #expect(seen.count == 2)
            let before = house.files(in: house.library)
            let film = try #require(before.keys.first { $0.hasSuffix(".MOV") })
            #expect(utimes("\(house.library)/\(film)", nil) == 0)
            let refused = try await act(request, expecting(seen))
            #expect(refused.status == 409 && refused.text.contains("IMG_1.MOV has changed since it was shown"))
            #expect(house.files(in: house.library) == before)
            #expect(try await act(request, expecting(try await look(request))).status == 200)
            #expect(!house.files(in: house.library).keys.contains(film))
            try await daemon.stop()
        }

        @Test("A quarantined file is sent as a picture or as bytes, whole or in part, and never as a page")
        func contents() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let page = Data("<html><script>alert(1)</script>".utf8)
            try house.drop(page, as: "a.jpg")
            try await daemon.line(holding: "quarantined")
            let pages = try house.pages()
            let owner = try await pages.client()
            try await owner.signIn(with: pages.link())
            let list = try await owner.ask("GET", "decisions").text
            let operation = try #require(list.firstMatch(of: #/"operation":(\d+)/#)).1
            let whole = try await owner.ask("GET", "quarantined/\(operation)")
            #expect(Data(whole.text.utf8) == page)
            #expect(whole.fields["content-type"] == "image/jpeg" && whole.fields["x-content-type-options"] == "nosniff")
            #expect(whole.fields["content-security-policy"]?.hasPrefix("sandbox") == true)
            let part = try await owner.ask("GET", "quarantined/\(operation)", fields: ["Range": "bytes=6-13"])
            #expect(part.status == 206 && part.text == "<script>")
            #expect(part.fields["content-range"] == "bytes 6-13/\(page.count)")
            #expect(
                try await owner.ask("GET", "quarantined/\(operation)", fields: ["Range": "bytes=99-"]).status == 416)
            let tag = try #require(whole.fields["etag"])
            #expect(
                try await owner.ask("GET", "quarantined/\(operation)", fields: ["If-None-Match": tag]).status == 304)
            let download = try await owner.ask("GET", "quarantined/\(operation)?download=1")
            #expect(download.fields["content-disposition"] == "attachment; filename*=UTF-8''a.jpg")
            #expect(try await owner.ask("GET", "quarantined/999").status == 404)
            try await daemon.stop()
        }
    }
}

/// `photoinbox web` of a house.
struct Pages {
    let program: RunningProgram

    /// What it printed: with the link.
    func address() async throws -> String {
        if let known = known { return known }
        try await program.line(holding: "Ctrl-C")
        return try #require(known)
    }

    private var known: String? {
        program.lines.compactMap { $0.firstMatch(of: #/http:\S+/#) }.first.map { String($0.output) }
    }

    func link() async throws -> String { String(try await address().suffix(64)) }

    func client() async throws -> Client {
        Client(base: String(try await address().prefix { $0 != "#" }))
    }
}

extension Data {
    /// With other bytes of the same length wherever these are.
    fileprivate func replacing(_ text: String, with other: String) -> Data {
        var changed = self
        while let range = changed.range(of: Data(text.utf8)) { changed.replaceSubrange(range, with: Data(other.utf8)) }
        return changed
    }
}

extension House {
    /// The link for a person of photoinbox-web.
    func link(for name: String, _ options: String...) async throws -> String {
        let added = try await ask(["web", "user", "add", name] + options)
        return String(try #require(added.text.firstMatch(of: #/#link=([0-9a-f]{64})/#), "\(added.lines)").1)
    }

    /// The socket of photoinbox-web, which starts with the first connection, as under a service manager.
    func pagesForOthers() async throws -> String {
        let socket = path("http")
        try makeDirectory(path("own"))
        _ = try launch(
            path: "/usr/bin/systemd-socket-activate",
            [
                "--listen=\(socket)", "--setenv=STATE_DIRECTORY=\(path("own"))",
                BuiltPrograms.path("photoinbox-web"), "--config", path("photoinbox.toml"),
            ])
        try await poll {
            access(socket, F_OK)
        } until: {
            $0 == 0
        }
        return socket
    }

    func pages(_ options: [String]? = nil) throws -> Pages {
        let options = options ?? ["--config", path("photoinbox.toml")]
        return Pages(program: try launch(program: "photoinbox", ["web", "--port", "0"] + options))
    }
}

/// A browser without a window: curl, with cookies.
final class Client: Sendable {
    struct Answer {
        let status: Int
        let fields: [String: String]
        let text: String
    }

    let base: String
    /// The local socket to connect to; nil for the network.
    private let socket: String?
    private let cookie = Locked<String?>(nil)

    init(base: String, socket: String? = nil) { (self.base, self.socket) = (base, socket) }

    /// Sends a request with the fields of the page, replaced by `fields`.
    func ask(
        _ method: String, _ path: String, _ body: String? = nil, fields: [String: String] = [:]
    ) async throws -> Answer {
        var all = ["X-Photo-Inbox": "1"]
        if body != nil { all["Content-Type"] = "application/json" }
        if let cookie = cookie.withLock({ $0 }) { all["Cookie"] = cookie }
        all.merge(fields) { $1 }
        var arguments = ["/usr/bin/curl", "-si", "--max-time", "60", "--path-as-is", "-X", method]
        if let socket { arguments += ["--unix-socket", socket] }
        // An empty field would not be sent.
        for (name, value) in all { arguments += ["-H", value.isEmpty ? "\(name);" : "\(name): \(value)"] }
        if let body { arguments += ["--data-binary", body] }
        let program = try RunningProgram(arguments + [base + path])
        _ = try await program.ending()
        return answer(in: program.lines)
    }

    /// The bytes of an answer, and its status.
    func content(_ path: String, range: String? = nil) async throws -> (status: Int, bytes: Data) {
        let scratch = try ScratchDirectory()
        let file = scratch.appending("content")
        var arguments = [
            "/usr/bin/curl", "-s", "--max-time", "60", "--path-as-is", "-o", file, "-w", "%{http_code}\\n",
        ]
        if let socket { arguments += ["--unix-socket", socket] }
        if let range { arguments += ["-H", "Range: \(range)"] }
        if let cookie = cookie.withLock({ $0 }) { arguments += ["-H", "Cookie: \(cookie)"] }
        let program = try RunningProgram(arguments + [base + path])
        _ = try await program.ending()
        return (Int(program.lines.last ?? "") ?? 0, FileManager.default.contents(atPath: file) ?? Data())
    }

    private func answer(in lines: [String]) -> Answer {
        let head = lines.prefix { $0 != "\r" }
        var fields: [String: String] = [:]
        for line in head.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 {
                fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespacesAndNewlines)
            }
        }
        if let set = fields["set-cookie"]?.prefix(while: { $0 != ";" }) { cookie.withLock { $0 = String(set) } }
        let status = head.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return Answer(status: status, fields: fields, text: lines.dropFirst(head.count + 1).joined(separator: "\n"))
    }

    func setPassword(by link: String) async throws {
        let answer = try await ask("POST", "link", "{\"link\":\"\(link)\",\"password\":\"a long password\"}")
        #expect(answer.status == 200, "\(answer.text)")
    }

    func signIn(with link: String) async throws {
        let answer = try await ask("POST", "link", "{\"link\":\"\(link)\"}")
        #expect(answer.status == 200, "\(answer.text)")
    }
}
