private let problems = "man:photoinbox-problems(7)"
private let commands = "man:photoinbox(1)"
private let settings = "man:photoinbox.toml(5)"

extension MessageWords {
    /// By the names of `MessageID.all`.
    static let all = outcomes.merging(requests) { one, _ in one }.merging(service) { one, _ in one }

    /// What became of files.
    private static let outcomes = [
        "filed": MessageWords(
            "Photo filed: @PHOTOINBOX_FILE@", commands,
            effect: "The photo's verified bytes and its record in the catalogue are durable; then it left the "
                + "inbox, unless that keeps its files.",
            action: "No action is needed. \"photoinbox undo\" takes a filed photo back out; \"photoinbox list\" has "
                + "its number."),
        "duplicate": MessageWords(
            "Already in the library: @PHOTOINBOX_FILE@", commands,
            effect: "It has @PHOTOINBOX_REASON@. This one was moved to the duplicates, or stays in its inbox "
                + "where that keeps its files.",
            action: "No action is needed."),
        "deferred": MessageWords(
            "Photo waits: @PHOTOINBOX_FILE@", commands,
            effect: "It is not complete, or could not be filed: @PHOTOINBOX_REASON@. It lies untouched in inbox "
                + "@PHOTOINBOX_INBOX@; the others go on.",
            action: "No action is needed while something is still copying: it is tried again by itself, and at once "
                + "when it changes. \"photoinbox explain\" says what it waits for, \"photoinbox retry --all\" tries now."
        ),
        "quarantined": MessageWords(
            "Photo set aside: @PHOTOINBOX_FILE@", commands,
            effect: "It was not filed: @PHOTOINBOX_REASON@. It is kept unchanged in the quarantine, with the reason "
                + "beside it.",
            action: "Copy it again from where it came. Or run \"photoinbox list --outcome quarantined\" for its "
                + "number, and \"photoinbox release NUMBER\" to have it tried again, with --as-is to have it filed "
                + "as it is, or \"photoinbox discard NUMBER\"."),
        "ignored": MessageWords(
            "Left alone: @PHOTOINBOX_FILE@", commands,
            effect: "By rule this file is none of ours: @PHOTOINBOX_REASON@. It stays where it is.",
            action: "No action is needed. If it should have been filed, \"photoinbox explain\" says which rule it was."),
        "withdrawn": MessageWords(
            "Gone before it was filed: @PHOTOINBOX_FILE@", commands,
            effect: "Somebody took it out of the inbox or renamed it: @PHOTOINBOX_REASON@. Nothing of it was kept.",
            action: "No action is needed. Under another name it was seen again and has an entry of its own."),
        "importSummary": MessageWords(
            "Many files had their outcome", commands, effect: "One line stands for many outcomes.",
            action: "\"photoinbox list\" and \"photoinbox stats\" tell of each."),
        "damageFound": MessageWords(
            "The library or the catalogue is damaged", problems,
            effect: "What was read is not what was filed. Nothing was deleted or overwritten because of that.",
            action: "Run \"photoinbox verify\" and look at the disk's health. Bring damaged photos back from a "
                + "backup; an equal photo that comes into an inbox is filed again, beside what is left of it. If the catalogue was set "
                + "aside, \"photoinbox rebuild\" reads the library into the new one."),
        "trashExpired": MessageWords(
            "Deleted from the trash: @PHOTOINBOX_FILE@", settings,
            effect: "A person had discarded it, and it has lain in the trash for as long as trash in [filing] says.",
            action: "No action is needed. A larger value keeps such files for longer."),
    ]

    /// What people asked for.
    private static let requests = [
        "released": MessageWords(
            "Released from the quarantine", commands,
            effect: "User @PHOTOINBOX_USER@ let a file that was set aside go on: it is tried again, or was filed as "
                + "it is.",
            action: "No action is needed."),
        "undone": MessageWords(
            "A filing was taken back", commands,
            effect: "User @PHOTOINBOX_USER@ had a filed photo taken back out of the library, with its set. It is in "
                + "the returned directory and is not filed again from there.",
            action: "No action is needed. To have it filed after all, move it into an inbox."),
        "discarded": MessageWords(
            "Thrown away from the quarantine", settings,
            effect: "User @PHOTOINBOX_USER@ discarded a file that was set aside. It is in the trash until its time "
                + "is over.",
            action: "No action is needed. Until then it can be moved out of the trash."),
        "paused": MessageWords(
            "Inbox paused", commands,
            effect: "User @PHOTOINBOX_USER@ asked that nothing more be taken out of it, also over restarts. What "
                + "comes waits untouched and is counted.",
            action: "It goes on with \"photoinbox resume INBOX\"."),
        "resumed": MessageWords(
            "Inbox resumed", commands,
            effect: "User @PHOTOINBOX_USER@ asked that photos be taken out of it again; what has waited comes first.",
            action: "No action is needed."),
        "rescanAsked": MessageWords(
            "A comparison was asked for", commands,
            effect: "User @PHOTOINBOX_USER@ had what lies in inboxes compared with what is known of them.",
            action: "No action is needed. Only what differs is looked at."),
        "retryAsked": MessageWords(
            "Another try was asked for", commands,
            effect: "User @PHOTOINBOX_USER@ had deferred files tried now instead of later.",
            action: "No action is needed."),
    ]

    /// What the daemon says of itself, its configuration, its problems and its hooks.
    private static let service = [
        "ready": MessageWords(
            "photo-inbox takes photos",
            effect: "The inboxes are watched and what lay in them is being compared with what is known. Whatever "
                + "came while the daemon was down is found now.",
            action: "No action is needed. \"photoinbox status\" shows the whole."),
        "stopped": MessageWords(
            "photo-inbox has ended in good order",
            effect: "Nothing is in hand any more. What comes from now on waits untouched in the inboxes until the "
                + "next start.",
            action: "To go on: systemctl start photoinboxd"),
        "configurationLoaded": MessageWords(
            "Configuration in force", settings,
            effect: "It was read and found good, and holds from now on.",
            action: "No action is needed. \"photoinbox config\" shows each value with its file and line."),
        "configurationRefused": MessageWords(
            "Configuration refused", settings,
            effect: "It has mistakes, or what it wants cannot be set up. The running daemon keeps the one that it "
                + "has; a restart would fail with status 78.",
            action: "Correct the line that the entry names, see whether \"photoinboxd --check\" is content, then "
                + "run \"photoinbox reload\"."),
        "problemRaised": MessageWords(
            "Problem @PHOTOINBOX_PROBLEM@: @PHOTOINBOX_TITLE@", problems, effect: "Effect: @PHOTOINBOX_EFFECT@.",
            action: "Action: @PHOTOINBOX_ACTION@. It goes away by itself when its reason does; "
                + "photoinbox-problems(7) has more under @PHOTOINBOX_PROBLEM@."),
        "problemCleared": MessageWords(
            "Problem @PHOTOINBOX_PROBLEM@ is over", problems,
            effect: "Its reason is gone, and what waited for that goes on.",
            action: "No action is needed."),
        "stateDumped": MessageWords(
            "State written to @PHOTOINBOX_FILE@", "man:photoinbox-json(7)",
            effect: "The whole state of the daemon is there as JSON, for its group to read. Filing was not "
                + "interrupted.",
            action: "No action is needed. \"photoinbox dump\" prints the same."),
        "entriesDropped": MessageWords(
            "Journal entries are missing here", problems,
            effect: "journald did not take them in time. Filing does not wait for the journal: no photo is "
                + "concerned, and the catalogue has every outcome.",
            action: "\"photoinbox list\" shows what was filed meanwhile. Look at \"systemctl status "
                + "systemd-journald\", and whether the disk of the journal is full."),
        "lifecycleViolation": MessageWords(
            "photo-inbox ended itself: a bug of ours",
            effect: "A monitor was used against its lifecycle, and going on could have done harm. The service "
                + "manager starts the daemon again; recovery finishes or takes back what was under way, and no "
                + "photo is lost.",
            action: "Please report it, with this entry and the ones around it."),
        "handlerFailed": MessageWords(
            "A monitor is off: @PHOTOINBOX_MONITOR@", problems,
            effect: "Its handler failed. What it watched is not noticed until the next comparison; the rest goes on.",
            action: "systemctl restart photoinboxd. Please report it, with the output of \"photoinbox dump\"."),
        "hookOutput": MessageWords(
            "Hook @PHOTOINBOX_HOOK@ says something", settings,
            effect: "The line is what the hook wrote on its @PHOTOINBOX_STREAM@.",
            action: "See the hook's own documentation."),
        "linksFetched": MessageWords(
            "Links fetched: @PHOTOINBOX_FILE@", commands,
            effect: "Of its addresses @PHOTOINBOX_ARRIVED@ have arrived in inbox @PHOTOINBOX_INBOX@ and are filed like "
                + "any photo; @PHOTOINBOX_FAILED@ have failed. @PHOTOINBOX_REASON@.",
            action: "Where some have failed, NAME.failed beside the file says why; give that a name that ends in "
                + ".links to try them again."),
        "linksRefused": MessageWords(
            "Links refused: @PHOTOINBOX_FILE@", commands,
            effect: "Nothing of it was fetched: @PHOTOINBOX_REASON@.",
            action: "Correct the file, and it is read again; or delete it, and the note beside it."),
        "hookEnded": MessageWords(
            "A run of hook @PHOTOINBOX_HOOK@ is over", settings,
            effect: "With status 0 it has done with what it was told; else it is told of that again, later.",
            action: "If it keeps failing that is PI-103 in \"photoinbox status\"."),
        "hookPassedOver": MessageWords(
            "Hook @PHOTOINBOX_HOOK@ missed something", settings,
            effect: "It failed too often on the same file and is not told of that again. The photo itself is filed "
                + "and sound.",
            action: "\"photoinbox show @PHOTOINBOX_OPERATION@\" says which file it is. Do by hand what the hook "
                + "should have done."),
        "cardFound": MessageWords(
            "Card found at @PHOTOINBOX_CARD@",
            effect: "A file system was mounted that has the directories of a camera's card, and [cards] says that such "
                + "are imported. What is new on it is copied into the inbox, read again and compared; the card itself is "
                + "only read.",
            action: "Leave it in until its import has ended: \"photoinbox status\" shows how far it is. If it is "
                + "pulled before, nothing is lost, and the rest comes when it is mounted again."),
        "cardImported": MessageWords(
            "Card at @PHOTOINBOX_CARD@ imported",
            effect: "All photos of it lie in the inbox, as verified copies, or are filed already.",
            action: "None is needed: the card may be taken out. Before you erase it, let what was copied be filed: "
                + "\"photoinbox status\" says what waits."),
        "cardIncomplete": MessageWords(
            "Card at @PHOTOINBOX_CARD@ not imported entirely", "man:photoinbox-problems(7)",
            effect: "The import ended before all was brought, and the entry says why. What was copied is whole; what "
                + "is missing is on the card alone. Nothing was changed there.",
            action: "Do not erase the card. Put right what the entry says and mount it again: the import goes on where "
                + "it stopped."),
    ]
}
