import FileValues

@testable import Settings

let plainContext = SettingsContext(workingDirectory: "/home/ana")

/// A valid file that uses every section.
let fullFile = """
    # A comment with an "odd' quote
    library = "/srv/photos/library"
    state = '/var/lib/photoinbox'

    [inbox.card]
    path = "/srv/inbox/card"   # trailing
    mode = "copy"
    quiet = "1m30s"
    exclude = [
      "*.tmp", # one
      "@eaDir",
    ]
    [inbox]
    phones.path = "/srv/inbox/phones"
    "tablet" = { path = "/srv/inbox/tablet", quiet = "2s" }

    [[timer]]
    name = "rescan"
    every = "1h"
    clock = "boottime"
    action = "reconcile"
    [[timer]]
    name = "weekly"
    at = "sun 03:00"
    action = "hook notify"

    [signals]
    USR2 = "audit"
    sigquit = "dump"

    [[descriptor]]
    name = "commands"
    fifo = "/run/photoinbox/commands"

    [hook.notify]
    command = ["/bin/true", "it's filed"]
    deadline = "10s"
    on = ["filed", "set-complete"]
    inboxes = ["card"]

    [log]
    level = "debug"
    [watch]
    slowest = "5m"
    audit = "0s"
    [filing]
    mode = "0600"
    group = "photos"
    """

/// Returns the settings of a file named photoinbox.toml.
func settings(_ text: String, at path: BytePath = "/etc/photoinbox/photoinbox.toml") throws(SettingsError) -> Settings {
    var builder = SettingsBuilder(context: plainContext)
    builder.addFile(Array(text.utf8), path: path)
    return try builder.build()
}

/// Returns the mistakes, one line each, of a file named photoinbox.toml.
func mistakes(_ text: String) -> [String] {
    mistakes { $0.addFile(Array(text.utf8), path: "photoinbox.toml") }
}

/// Returns the mistakes, one line each, of the files and flags that `fill` adds.
func mistakes(_ fill: (inout SettingsBuilder) -> Void) -> [String] {
    var builder = SettingsBuilder(context: plainContext)
    fill(&builder)
    do throws(SettingsError) {
        _ = try builder.build()
        return []
    } catch {
        return error.issues.map(\.description)
    }
}
