import FileValues
import Testing

@testable import Settings

/// Each mistake is one line with its position, the statement and the remedy.
struct MistakeTests {
    /// Returns the mistakes of a file whose third line is `line` and whose other lines are valid.
    static func top(_ line: String) -> [String] { mistakes("\nlibrary = '/l'\n\(line)\n") }

    static func inbox(_ line: String) -> [String] { mistakes("library = '/l'\n[inbox.a]\npath = '/a'\n\(line)\n") }

    static func timer(_ lines: String) -> [String] { mistakes("library = '/l'\n[[timer]]\nname = 't'\n\(lines)\n") }

    @Test(arguments: [
        ("quiet = \"5 secs\"", "photoinbox.toml:4:9: quiet = \"5 secs\": write \"5s\", \"2m\" or \"1h\""),
        (
            "quiet = 5",
            "photoinbox.toml:4:9: quiet = 5: expected a string, found an integer; write \"5s\", \"2m\" or \"1h\""
        ),
        ("quiet = \"2d\"", "photoinbox.toml:4:9: quiet = \"2d\": too long; at most \"1d\""),
        (
            "renditions = ['thumbnail', 'tilt']",
            "photoinbox.toml:4:28: renditions = ['thumbnail', 'tilt']: \"tilt\" is not a possible value; write some of "
                + "[\"thumbnail\", \"preview\", \"hash\", \"tilt-shift\", \"googly\"]"
        ),
        (
            "renditions = ['googly']\n[pictures]\npreview = '0'",
            "photoinbox.toml:4:14: renditions = ['googly']: \"googly\" is made from the preview, and [pictures] says "
                + "preview = \"0\""
        ),
        ("mode = \"moev\"", "photoinbox.toml:4:8: mode = \"moev\": did you mean \"move\"?"),
        ("mode = \"steal\"", "photoinbox.toml:4:8: mode = \"steal\": write \"move\" or \"copy\""),
        (
            "mode = true",
            "photoinbox.toml:4:8: mode = true: expected a string, found a boolean; write \"move\" or \"copy\""
        ),
        (
            "exclude = \"*.tmp\"",
            "photoinbox.toml:4:11: exclude = \"*.tmp\": expected an array of strings, found a string; "
                + "write patterns, like [\"*.tmp\", \"@eaDir\"]"
        ),
        (
            "exclude = [\"a\", \"[\"]",
            "photoinbox.toml:4:17: exclude = [\"a\", \"[\"]: pattern \"[\" has a [ without its ]"
        ),
        (
            "exclude = [\"a\", 7]",
            "photoinbox.toml:4:17: exclude = [\"a\", 7]: expected an array of strings, found an integer in it; "
                + "write patterns, like [\"*.tmp\", \"@eaDir\"]"
        ),
        (
            "exclude = [\"**\"]",
            "photoinbox.toml:4:12: exclude = [\"**\"]: pattern \"**\" excludes every file of the inbox"
        ),
        ("quite = \"5s\"", "photoinbox.toml:4:1: unknown key \"quite\"; did you mean \"quiet\"?"),
        (
            "quarantine = '/q'",
            "photoinbox.toml:4:1: unknown key \"quarantine\"; it belongs at the top, before the first section"
        ),
        (
            "colour = 'red'",
            "photoinbox.toml:4:1: unknown key \"colour\"; keys of [inbox.NAME] are path, mode, quiet, patience, "
                + "exclude, library, renditions"
        ),
    ])
    func mistakeInAnInboxIsReported(line: String, expected: String) { #expect(Self.inbox(line) == [expected]) }

    @Test(arguments: [
        ("libary = '/x'", "photoinbox.toml:3:1: unknown key \"libary\"; did you mean \"library\"?"),
        ("quiet = '5s'", "photoinbox.toml:3:1: unknown key \"quiet\"; it belongs under [inbox.NAME]"),
        (
            "[store]",
            "photoinbox.toml:3:2: unknown key \"store\"; sections are [inbox.NAME], [cards], [filing], [sets], "
                + "[describe], [pictures], [fetch], [web], [watch], [[timer]], [signals], [[descriptor]], [hook.NAME], "
                + "[metrics], [log]"
        ),
        ("[inboxes.a]", "photoinbox.toml:3:2: unknown key \"inboxes\"; did you mean \"inbox\"?"),
        (
            "inbox = '/in'",
            "photoinbox.toml:3:1: inbox = '/in': expected named sections, found a string; write [inbox.NAME]"
        ),
        (
            "[inbox]\npath = '/in'",
            "photoinbox.toml:4:1: path = '/in': the inbox has no name; write [inbox.NAME] above this"
        ),
        (
            "[[inbox]]\npath = '/in'",
            "photoinbox.toml:3:3: inbox = inbox: expected named sections, found an array; write [inbox.NAME]"
        ),
        (
            "[inbox.\"a b\"]\npath = '/in'",
            "photoinbox.toml:3:2: [inbox.\"a b\"]: \"a b\" is not a valid name; write letters, digits, - and _, at most 64"
        ),
        ("[inbox.a]", "photoinbox.toml:3:2: [inbox.a] has no path; add path = \"/srv/inbox/card\""),
        (
            "[timer]\nname = 'x'",
            "photoinbox.toml:3:2: [timer]: each timer needs a header of its own; write [[timer]]"
        ),
        ("log = 7", "photoinbox.toml:3:1: log = 7: expected a section, found an integer; write [log]"),
        ("state = ''", "photoinbox.toml:3:9: state = '': an empty path; write a path in quotes"),
        ("state = '~/s'", "photoinbox.toml:3:9: state = '~/s': ~ is not expanded; write the whole path"),
        ("state = '../s'", "photoinbox.toml:3:9: state = '../s': write the path without \"..\""),
        (
            "state = 1979-05-27",
            "photoinbox.toml:3:9: state = 1979-05-27: expected a string, found a date or time; write a path in quotes"
        ),
        (
            "[filing]\nmode = '0755'",
            "photoinbox.toml:4:8: mode = '0755': photos are not programs; leave out execute and set-id bits"
        ),
        (
            "[filing]\nmode = 640",
            "photoinbox.toml:4:8: mode = 640: expected a string, found an integer; write octal digits in quotes, like \"0640\""
        ),
        ("[filing]\nmode = '689'", "photoinbox.toml:4:8: mode = '689': write octal digits in quotes, like \"0640\""),
        ("[filing]\nowner = 'a b'", "photoinbox.toml:4:9: owner = 'a b': write the name of a user or group"),
        (
            "[metrics]\ntextfile = '/m/photos.txt'",
            "photoinbox.toml:4:12: textfile = '/m/photos.txt': the collector reads only names that end in .prom"
        ),
        (
            "[metrics]\ntextfile = '/l/photos.prom'",
            "photoinbox.toml:4:12: textfile = '/l/photos.prom': this lies in the library"
        ),
        (
            "[fetch]\nallow-private = ['10.0.0.0/8', '10.0.0.1/8']",
            "photoinbox.toml:4:32: allow-private = ['10.0.0.0/8', '10.0.0.1/8']: \"10.0.0.1/8\" is not a network; write "
                + "networks, like [\"192.168.1.0/24\", \"fd00::/8\"]"
        ),
        ("[signals]\nKILL = 'dump'", "photoinbox.toml:4:1: KILL = 'dump': no program can catch SIGKILL"),
        (
            "[signals]\nURS1 = 'dump'",
            "photoinbox.toml:4:1: URS1 = 'dump': unknown signal \"URS1\"; did you mean \"USR1\"?"
        ),
        (
            "[signals]\nUSR1 = 'dump'\nSIGUSR1 = 'audit'",
            "photoinbox.toml:5:1: SIGUSR1 = 'audit': SIGUSR1 has an action already (photoinbox.toml:4)"
        ),
        (
            "[signals]\nTERM = 'dump'",
            "photoinbox.toml:4:8: TERM = 'dump': service managers stop a daemon with SIGTERM; "
                + "write \"stop\" or leave it out"
        ),
        (
            "[watch]\nfastest = '2m'",
            "photoinbox.toml:4:11: fastest = '2m': the slowest pace, 1m, is faster than the fastest, 2m"
        ),
        ("[signals]\nHUP = 'dmup'", "photoinbox.toml:4:7: HUP = 'dmup': unknown action; did you mean \"dump\"?"),
        ("[signals]\nHUP = 'hook x'", "photoinbox.toml:4:7: HUP = 'hook x': there is no [hook.x]"),
        (
            "[hook.x]\ncommand = ['ls']",
            "photoinbox.toml:4:12: command = ['ls']: \"ls\" is not an absolute path; write an array, like "
                + "[\"/usr/local/lib/program\", \"argument\"]"
        ),
        (
            "[hook.x]\ncommand = []",
            "photoinbox.toml:4:11: command = []: the array is empty; write an array, like [\"/usr/local/lib/program\", \"argument\"]"
        ),
        (
            "[hook.x]\ncommand = ['/bin/ls']\non = ['filed', 'quarantine']",
            "photoinbox.toml:5:16: on = ['filed', 'quarantine']: \"quarantine\" is not a possible value; did you mean \"quarantined\"?"
        ),
        (
            "[hook.x]\ncommand = ['/bin/ls']\non = ['filed', 'filed']",
            "photoinbox.toml:5:16: on = ['filed', 'filed']: \"filed\" is given twice"
        ),
        (
            "[hook.x]\ncommand = ['/bin/ls']\ninboxes = ['a', 'c a']",
            "photoinbox.toml:5:17: inboxes = ['a', 'c a']: \"c a\" is not a valid name; write names of letters, digits, - and _, or leave the key out for all"
        ),
        (
            "[hook.x]\ncommand = ['/bin/ls']\ninboxes = []",
            "photoinbox.toml:5:11: inboxes = []: the array is empty; write names of letters, digits, - and _, or leave the key out for all"
        ),
        (
            "[hook.x]\ncommand = ['/bin/ls']\ninboxes = ['nobody']",
            "photoinbox.toml:5:11: inboxes = ['nobody']: there is no [inbox.nobody]"
        ),
        (
            "[hook.x]\ncommand = ['/bin/ls']\ntimeout = '5s'",
            "photoinbox.toml:5:1: unknown key \"timeout\"; keys of [hook.NAME] are command, on, inboxes, deadline"
        ),
    ])
    func mistakeInAnotherSectionIsReported(line: String, expected: String) { #expect(Self.top(line) == [expected]) }

    @Test(arguments: [
        ("every = '1h'", "photoinbox.toml:2:3: [[timer]] has no action; add action = \"reconcile\""),
        ("action = 'audit'", "photoinbox.toml:2:3: [[timer]] has no time; add every = \"1h\" or at = \"03:00\""),
        ("every = '500ms'\naction = 'audit'", "photoinbox.toml:4:9: every = '500ms': too short; at least \"1s\""),
        (
            "every = '1h'\naction = 'stop'",
            "photoinbox.toml:5:10: action = 'stop': a timer cannot do this; "
                + "write one of dump, reconcile, audit, verify-slice, hook NAME"
        ),
        (
            "every = '1h'\nat = '03:00'\naction = 'audit'",
            "photoinbox.toml:5:6: at = '03:00': a timer has \"every\" or \"at\", not both"
        ),
        (
            "at = '03:00'\nclock = 'boottime'\naction = 'audit'",
            "photoinbox.toml:5:9: clock = 'boottime': \"at\" is local time; leave the clock out"
        ),
        (
            "at = '24:00'\naction = 'audit'",
            "photoinbox.toml:4:6: at = '24:00': write a time of day, like \"03:00\" or \"sun 03:00\""
        ),
        (
            "at = '03:00'\naction = 'audit'\n[[timer]]\nname = 't'\nevery = '1s'\naction = 'dump'",
            "photoinbox.toml:7:1: name = 't': there is a timer of this name already (photoinbox.toml:2)"
        ),
        (
            "every = '1h'\naction = 'hook'",
            "photoinbox.toml:5:10: action = 'hook': write \"hook NAME\", with the name of a [hook.NAME] section"
        ),
    ])
    func mistakeInATimerIsReported(lines: String, expected: String) { #expect(Self.timer(lines) == [expected]) }

    @Test func controlCharactersInNamesAreEscaped() {
        let found = mistakes("library = '/l'\n[inbox.\"a\\u001b[2J\\nb\"]\nmode = 'copy'\n[\"x\\ny\"]")
        #expect(found.count == 2)
        #expect(found.allSatisfy { $0.unicodeScalars.allSatisfy { $0.value >= 0x20 } }, "\(found)")
    }

    @Test func relativePathsInEtcAreRefused() {
        let found = mistakes { $0.addFile(Array("library = 'photos'".utf8), path: "/etc/photoinbox/photoinbox.toml") }
        #expect(
            found == [
                "/etc/photoinbox/photoinbox.toml:1:11: library = 'photos': a relative path; "
                    + "write an absolute one, like \"/srv/photos\""
            ])
    }

    @Test func missingLibraryIsReportedOnce() {
        #expect(
            mistakes("[inbox.a]\npath = '/a'\n[inbox.b]\npath = '/b'") == [
                "photoinbox.toml: no library is named; add library = \"/srv/photos/library\" at the top, "
                    + "or give --library"
            ])
        #expect(
            mistakes { $0.addInbox("/a", flag: "--inbox") } == [
                "--inbox: no library is named; add library = \"/srv/photos/library\" at the top, or give --library"
            ])
    }

    @Test func mistakesInFlagsNameTheFlag() {
        let found = mistakes {
            $0.addFlag("--library", key: "library", value: "/l")
            $0.addInbox("/l/in", flag: "--inbox")
            $0.addFlag("--quiet", key: "inbox.*.quiet", value: "5 secs")
            $0.addAssignment("inbox.in.mode=mve", flag: "--set")
            $0.addAssignment("nonsense", flag: "--set")
            $0.addAssignment("inbox.in.quit=1s", flag: "--set")
        }
        #expect(
            found == [
                "--inbox /l/in: this inbox lies inside the library, /l (--library); give each a directory of its own",
                "--quiet 5 secs: write \"5s\", \"2m\" or \"1h\"",
                "--set inbox.in.mode=mve: did you mean \"move\"?",
                "--set inbox.in.quit=1s: unknown key \"inbox.in.quit\"; did you mean \"inbox.NAME.quiet\"?",
                "--set nonsense: write KEY=VALUE",
            ])
    }

    @Test func everyMistakeIsReportedAtOnceInFileOrder() {
        let found = mistakes(
            """
            libary = "/srv/photos"
            state = /var/lib
            [inbox.card]
            path = "/a"
            quiet = "5 secs"
            mode = mode
            [inbox.card]
            colour = 1
            [log]
            level = "loud"
            """)
        let lines = found.map { $0.split(separator: ":")[1] }
        #expect(lines == ["1", "2", "5", "6", "7", "10"], "\(found)")
        #expect(found.allSatisfy { !$0.contains("\n") && !$0.contains("refused ") })
    }
}
