import FileValues
import Testing

@testable import Settings

@Suite("Cards in the configuration")
struct CardSettingsTests {
    private static func text(_ cards: String, inboxes: String = "[inbox.a]\npath = '/a'\n") -> String {
        "library = '/l'\n\(inboxes)[cards]\n\(cards)\n"
    }

    private static let two = "[inbox.a]\npath = '/a'\n[inbox.b]\npath = '/b'\n"

    @Test func whatIsSentGoesIntoAnInboxThatExists() throws {
        #expect(try settings(Self.text("")).dropInbox == nil)
        let text = "library = '/l'\n[inbox.a]\npath = '/a'\n[inbox.phones]\npath = '/p'\n[web]\n"
        #expect(try settings(text + "inbox = 'phones'").dropInbox?.path == "/p")
        #expect(
            mistakes(text + "inbox = 'phone'") == [
                "photoinbox.toml:7:9: inbox = 'phone': there is no [inbox.phone]; did you mean \"phones\"?"
            ])
    }

    @Test func cardsAreImportedOnlyIfEnabled() throws {
        let plain = try settings("library = '/l'\n[inbox.a]\npath = '/a'\n").cards
        #expect(!plain.isEnabled && plain.directories == ["DCIM"])
        #expect(plain.below == ["/media", "/run/media", "/mnt"])
        let said = try settings(
            Self.text(
                "import = 'yes'\ninbox = 'b'\ndirectories = ['DCIM', 'PRIVATE/M4ROOT']\nbelow = ['/cards']",
                inboxes: Self.two)
        ).cards
        #expect(said.isEnabled && said.inbox == "b" && said.below == ["/cards"])
        #expect(said.directories == ["DCIM", "PRIVATE/M4ROOT"])
        #expect(try settings(Self.text("import = 'yes'")).cards.inbox == "a", "the only one")
    }

    @Test(arguments: [
        (
            "import = true",
            "photoinbox.toml:5:10: import = true: expected a string, found a boolean; write \"yes\" or \"no\""
        ),
        ("inbox = 'c'", "photoinbox.toml:5:9: inbox = 'c': there is no [inbox.c]"),
        (
            "directories = ['/DCIM']",
            "photoinbox.toml:5:16: directories = ['/DCIM']: \"/DCIM\" is not a relative path; write paths without a leading slash, "
                + "like [\"DCIM\"]"
        ),
        ("directories = ['../x']", "photoinbox.toml:5:16: directories = ['../x']: write the path without \"..\""),
        (
            "directories = []",
            "photoinbox.toml:5:15: directories = []: the array is empty; write paths without a leading slash, like "
                + "[\"DCIM\"]"
        ),
        (
            "below = ['media']",
            "photoinbox.toml:5:10: below = ['media']: \"media\" is not an absolute path; write paths, like [\"/media\"]"
        ),
    ])
    func mistakesAreReported(_ line: String, _ message: String) {
        #expect(mistakes(Self.text(line)) == [message])
    }

    @Test func inboxIsRequiredIfThereAreSeveral() {
        #expect(
            mistakes(Self.text("import = 'yes'", inboxes: Self.two)) == [
                "photoinbox.toml:7:10: import = 'yes': there are several inboxes; add inbox = \"a\" under [cards]"
            ])
        #expect(mistakes(Self.text("import = 'no'", inboxes: Self.two)).isEmpty)
    }
}
