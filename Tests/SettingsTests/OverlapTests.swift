import FileValues
import Testing

@testable import Settings

struct OverlapTests {
    static func found(_ library: String, _ inboxes: String..., more: String = "") -> [String] {
        var text = "library = \"\(library)\"\n\(more)\n"
        for (number, inbox) in inboxes.enumerated() { text += "[inbox.i\(number)]\npath = \"\(inbox)\"\n" }
        return mistakes(text)
    }

    @Test func separateDirectoriesAreAccepted() {
        #expect(Self.found("/p/library", "/p/inbox", "/p/inbox2", "/p/lib").isEmpty)
        #expect(Self.found("/p/library", "/state/inbox", more: "state = '/state'").isEmpty)
    }

    @Test func inboxInTheLibraryIsRefused() {
        #expect(
            Self.found("/p/library", "/p/library/in") == [
                "photoinbox.toml:4:8: path = \"/p/library/in\": this inbox lies inside the library, /p/library "
                    + "(photoinbox.toml:1); give each a directory of its own"
            ])
    }

    @Test func libraryInAnInboxIsRefused() {
        let found = Self.found("/p/in/library", "/p/in", more: "quarantine = '/q'\nduplicates = '/d'\nstate = '/s'")
        #expect(
            found == [
                "photoinbox.toml:6:8: path = \"/p/in\": this inbox contains the library, /p/in/library "
                    + "(photoinbox.toml:1); give each a directory of its own"
            ])
    }

    @Test func twoInboxesOfOneDirectoryAreRefused() {
        #expect(
            Self.found("/l", "/in", "/in/") == [
                "photoinbox.toml:6:8: path = \"/in/\": this inbox is also inbox i0, /in (photoinbox.toml:4); "
                    + "give each a directory of its own"
            ])
    }

    @Test func defaultDirectoriesCountToo() {
        #expect(
            Self.found("/p/library", "/p/quarantine/in") == [
                "photoinbox.toml:4:8: path = \"/p/quarantine/in\": this inbox lies inside the quarantine, "
                    + "/p/quarantine (default); give each a directory of its own"
            ])
        #expect(
            Self.found("/p/library", more: "quarantine = '/p/library/q'") == [
                "photoinbox.toml:2:14: quarantine = '/p/library/q': this lies inside the library, /p/library "
                    + "(photoinbox.toml:1); give each a directory of its own"
            ])
        #expect(Self.found("/p/library", "/in", more: "state = '/in/state'").count == 1)
    }
}
