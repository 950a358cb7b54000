import FileValues
import Testing

@testable import Explaining

@Suite struct LocationTests {
    private static let card = InboxPlace(name: "card", path: "/srv/in/card")
    private static let places = KnownPlaces(
        inboxes: [card, InboxPlace(name: "phones", path: "/srv/phones")], library: "/srv/library",
        quarantine: "/srv/library/quarantine", duplicates: "/srv/duplicates", returned: "/srv/returned",
        trash: "/srv/trash")

    private func location(
        _ file: BytePath, from directory: BytePath = "/home/ana", exists: Set<BytePath> = [],
        links: [BytePath: BytePath] = [:]
    ) -> Location {
        Location(
            file, from: directory, in: Self.places, exists: { exists.contains($0) }, real: { links[$0] ?? $0 })
    }

    @Test func findsFilesByTheirPath() {
        #expect(location("/srv/in/card/a/b.jpg") == .inbox(Self.card, "a/b.jpg"))
        #expect(location("card/../card/./b.jpg", from: "/srv/in") == .inbox(Self.card, "b.jpg"))
        #expect(location("b.jpg", from: "/srv/in/card") == .inbox(Self.card, "b.jpg"))
        #expect(location("/srv/library/2026/x.jpg") == .library("/srv/library", "2026/x.jpg"))
        #expect(location("/srv/library/quarantine/card/x.jpg") == .setAside("/srv/library/quarantine/card/x.jpg"))
        #expect(location("/srv/returned/card/x.jpg") == .setAside("/srv/returned/card/x.jpg"))
        #expect(location("/srv/trash/card/x.jpg") == .setAside("/srv/trash/card/x.jpg"))
        #expect(location("/srv/in/card") == .outside("/srv/in/card"))
        #expect(location("/srv/in/cardboard/x") == .outside("/srv/in/cardboard/x"))
    }

    @Test func findsFilesByTheirInbox() {
        #expect(location("card/a.jpg") == .inbox(Self.card, "a.jpg"))
        #expect(location("card/../../etc/passwd") == .outside("/home/etc/passwd"))
        #expect(location("card") == .outside("/home/ana/card"))
        // Inside an inbox that holds a directory of another's name, what is there wins; else our own way of naming.
        let there: BytePath = "/srv/phones/card/a.jpg"
        #expect(location("card/a.jpg", from: "/srv/phones", exists: [there]).displayName == "phones/card/a.jpg")
        #expect(location("card/a.jpg", from: "/srv/phones").displayName == "card/a.jpg")
        #expect(location("other/a.jpg", from: "/srv/phones").displayName == "phones/other/a.jpg")
    }

    @Test func followsLinksOfDirectoriesAlone() {
        let links: [BytePath: BytePath] = ["/home/ana/photos": "/srv/in/card/DCIM", "/srv/library": "/disk/library"]
        #expect(location("photos/a.jpg", links: links) == .inbox(Self.card, "DCIM/a.jpg"))
        #expect(location("/disk/library/x.jpg", links: links) == .library("/srv/library", "x.jpg"))
    }

    @Test func separatesNamesFromPaths() {
        #expect(normalised("/a/./b//../c") == "/a/c")
        #expect(normalised("/../..") == "/")
        #expect(normalised("/") == "/")
    }
}
