private let problems = "man:photoinbox-problems(7)"
private let settings = "man:photoinbox.toml(5)"

private func command(_ name: String) -> String { "man:photoinbox-\(name)(1)" }

extension MessageWords {
    static let all = outcomes.merging(requests) { one, _ in one }.merging(service) { one, _ in one }

    private static let outcomes = [
        "filed": MessageWords(
            "Photo filed: @PHOTOINBOX_FILE@", command("undo"),
            effect: "The photo's verified bytes and its record in the catalogue are durable. Then it left the inbox, "
                + "unless that keeps its files.",
            action:
                "No action is needed. \"photoinbox list\" shows its number, and \"photoinbox undo NUMBER\" takes it "
                + "back out of the library."),
        "duplicate": MessageWords(
            "Already in the library: @PHOTOINBOX_FILE@", command("explain"),
            effect: "It has @PHOTOINBOX_REASON@. This one was moved to the duplicates, or stays in its inbox "
                + "if that keeps its files.",
            action: "No action is needed."),
        "deferred": MessageWords(
            "Photo deferred: @PHOTOINBOX_FILE@", command("retry"),
            effect: "It is not complete, or could not be filed: @PHOTOINBOX_REASON@. It stays untouched in inbox "
                + "@PHOTOINBOX_INBOX@; other files are processed.",
            action: "No action is needed while a program is still copying: the file is retried by itself, and at once "
                + "when it changes. \"photoinbox explain\" says what it waits for, \"photoinbox retry --all\" retries now."
        ),
        "quarantined": MessageWords(
            "Photo quarantined: @PHOTOINBOX_FILE@", command("release"),
            effect: "It was not filed: @PHOTOINBOX_REASON@. It is kept unchanged in the quarantine, with the reason "
                + "beside it.",
            action: "Copy the original into the inbox again. Or run \"photoinbox list --outcome quarantined\" for its "
                + "number, then \"photoinbox release NUMBER\" to retry it, with --as-is to file it unchanged, or "
                + "\"photoinbox discard NUMBER\" to move it to the trash."),
        "ignored": MessageWords(
            "Ignored: @PHOTOINBOX_FILE@", command("explain"),
            effect: "A rule excludes this file: @PHOTOINBOX_REASON@. It stays where it is.",
            action: "No action is needed. If it should have been filed, \"photoinbox explain\" says which rule it was."),
        "withdrawn": MessageWords(
            "Removed before it was filed: @PHOTOINBOX_FILE@", command("explain"),
            effect: "It was removed from the inbox or renamed: @PHOTOINBOX_REASON@. Nothing of it was kept.",
            action: "No action is needed. Under another name it has an entry of its own."),
        "importSummary": MessageWords(
            "Import summary", command("list"), effect: "Many outcomes are summed up in one entry.",
            action: "No action is needed. \"photoinbox list\" and \"photoinbox stats\" show each outcome."),
        "damageFound": MessageWords(
            "The library or the catalogue is damaged", problems,
            effect: "What was read differs from what was filed. Nothing was deleted or overwritten because of that.",
            action: "Run \"photoinbox verify\" and check the disk's health. Restore damaged photos from a backup; an "
                + "equal photo that arrives in an inbox is filed again, beside the damaged one. If the catalogue was "
                + "set aside, \"photoinbox rebuild\" reads the library into the new one."),
        "trashExpired": MessageWords(
            "Deleted from the trash: @PHOTOINBOX_FILE@", settings,
            effect: "A person had discarded it, and it was in the trash for as long as trash in [filing] says.",
            action: "No action is needed. A larger value keeps such files for longer."),
    ]

    private static let requests = [
        "released": MessageWords(
            "Released from the quarantine", command("release"),
            effect: "User @PHOTOINBOX_USER@ released a quarantined file: it is retried, or was filed as it is.",
            action: "No action is needed."),
        "undone": MessageWords(
            "Filing undone", command("undo"),
            effect: "User @PHOTOINBOX_USER@ took a filed photo, with its set, back out of the library. It is in the "
                + "returned directory and is not filed again from there.",
            action: "No action is needed. To file it after all, move it into an inbox."),
        "stored": MessageWords(
            "Moved to a bucket", command("store"),
            effect:
                "User @PHOTOINBOX_USER@ had a photo moved to @PHOTOINBOX_DEST@. The same bytes were read there before "
                + "its file was removed from the library.",
            action: "No action is needed. \"photoinbox store get\" brings it back."),
        "discarded": MessageWords(
            "Discarded from the quarantine", settings,
            effect: "User @PHOTOINBOX_USER@ discarded a file that was set aside. It stays in the trash until it "
                + "expires.",
            action: "No action is needed. Until then it can be moved out of the trash."),
        "paused": MessageWords(
            "Inbox paused", command("pause"),
            effect: "User @PHOTOINBOX_USER@ paused filing from it, also over restarts. New files wait untouched and "
                + "are counted.",
            action: "To continue: \"photoinbox resume INBOX\"."),
        "resumed": MessageWords(
            "Inbox resumed", command("pause"),
            effect: "User @PHOTOINBOX_USER@ resumed filing from it; files that have waited come first.",
            action: "No action is needed."),
        "rescanAsked": MessageWords(
            "Rescan requested", command("rescan"),
            effect: "User @PHOTOINBOX_USER@ requested a comparison of inboxes with what is known of them.",
            action: "No action is needed. Only differences are processed."),
        "retryAsked": MessageWords(
            "Retry requested", command("retry"),
            effect: "User @PHOTOINBOX_USER@ requested that deferred files be retried now.",
            action: "No action is needed."),
    ]

    private static let service = [
        "ready": MessageWords(
            "photo-inbox is ready",
            effect: "The inboxes are watched, and are being compared with what is known of them: files that arrived "
                + "while the daemon was down are found now.",
            action: "No action is needed. \"photoinbox status\" shows the state."),
        "stopped": MessageWords(
            "photo-inbox has stopped cleanly",
            effect: "No file is in work. New files wait untouched in the inboxes until the next start.",
            action: "To start it: systemctl start photoinboxd"),
        "configurationLoaded": MessageWords(
            "Configuration loaded", settings,
            effect: "It is valid and in force.",
            action: "No action is needed. \"photoinbox config\" shows each value with its file and line."),
        "configurationRefused": MessageWords(
            "Configuration refused", settings,
            effect: "It has mistakes, or could not be set up. The running daemon keeps the previous one; a restart "
                + "would fail with status 78.",
            action: "Correct the line that the entry names, check with \"photoinboxd --check\", then run "
                + "\"photoinbox reload\"."),
        "problemRaised": MessageWords(
            "Problem @PHOTOINBOX_PROBLEM@: @PHOTOINBOX_TITLE@", problems, effect: "Effect: @PHOTOINBOX_EFFECT@.",
            action: "Action: @PHOTOINBOX_ACTION@. It goes away by itself when its cause does; "
                + "photoinbox-problems(7) has more under @PHOTOINBOX_PROBLEM@."),
        "problemCleared": MessageWords(
            "Problem @PHOTOINBOX_PROBLEM@ is over", problems,
            effect: "Its cause is gone, and whatever waited for that continues.",
            action: "No action is needed."),
        "stateDumped": MessageWords(
            "State written to @PHOTOINBOX_FILE@", "man:photoinbox-json(7)",
            effect: "The whole state of the daemon is there as JSON, readable by its group. Filing was not "
                + "interrupted.",
            action: "No action is needed. \"photoinbox dump\" prints the same."),
        "entriesDropped": MessageWords(
            "Journal entries are missing", problems,
            effect: "journald did not accept them in time. Filing does not wait for the journal: no photo is "
                + "affected, and the catalogue has every outcome.",
            action: "\"photoinbox list\" shows what was filed meanwhile. Check \"systemctl status "
                + "systemd-journald\", and whether the disk of the journal is full."),
        "lifecycleViolation": MessageWords(
            "photo-inbox ended itself because of an internal error",
            effect: "A monitor was used against its lifecycle, and continuing could have done harm. The service "
                + "manager restarts the daemon; recovery completes or reverses what was in progress, and no photo is "
                + "lost.",
            action: "Please report it, with this entry and the ones around it."),
        "handlerFailed": MessageWords(
            "A monitor is off: @PHOTOINBOX_MONITOR@", problems,
            effect: "Its handler failed. Changes that it watched for are not noticed until the next comparison; "
                + "everything else continues.",
            action: "systemctl restart photoinboxd. Please report it, with the output of \"photoinbox dump\"."),
        "hookOutput": MessageWords(
            "Output of hook @PHOTOINBOX_HOOK@", settings,
            effect: "The line is what the hook wrote on its @PHOTOINBOX_STREAM@.",
            action: "See the hook's own documentation."),
        "linksFetched": MessageWords(
            "Links fetched: @PHOTOINBOX_FILE@", command("fetch"),
            effect: "Of its addresses @PHOTOINBOX_ARRIVED@ have arrived in inbox @PHOTOINBOX_INBOX@ and are filed like "
                + "any photo; @PHOTOINBOX_FAILED@ have failed. @PHOTOINBOX_REASON@.",
            action: "If some have failed, NAME.failed beside the file says why. Rename it so that it ends in .links to "
                + "retry them."),
        "linksRefused": MessageWords(
            "Links refused: @PHOTOINBOX_FILE@", command("fetch"),
            effect: "Nothing of it was fetched: @PHOTOINBOX_REASON@.",
            action: "Correct the file, and it is read again; or delete it, and the note beside it."),
        "hookEnded": MessageWords(
            "Hook @PHOTOINBOX_HOOK@ has ended", settings,
            effect: "With status 0 it has handled its events; otherwise it is given them again later.",
            action: "If it keeps failing that is PI-103 in \"photoinbox status\"."),
        "hookPassedOver": MessageWords(
            "Hook @PHOTOINBOX_HOOK@ skipped an event", settings,
            effect: "It failed too often on the same file, which is PI-114 in \"photoinbox status\". The photo itself "
                + "is filed and sound.",
            action: "\"photoinbox show @PHOTOINBOX_OPERATION@\" shows the file. Correct what the hook lacks, then "
                + "\"photoinbox retry --all\" gives it the file again."),
        "cardFound": MessageWords(
            "Card found at @PHOTOINBOX_CARD@", command("import"),
            effect: "A file system with the directories of a camera's card was mounted, and [cards] says that such are "
                + "imported. New photos on it are copied into the inbox, read again and compared; the card itself is "
                + "only read.",
            action: "Leave it connected until its import has ended: \"photoinbox status\" shows the progress. If it is "
                + "removed before, nothing is lost, and the import continues when it is mounted again."),
        "cardImported": MessageWords(
            "Card at @PHOTOINBOX_CARD@ imported", command("import"),
            effect: "All photos on it are in the inbox, as verified copies, or are filed already.",
            action:
                "No action is needed: the card may be removed. Before you erase it, wait until the copies are filed: "
                + "\"photoinbox status\" shows what waits."),
        "cardIncomplete": MessageWords(
            "Card at @PHOTOINBOX_CARD@ imported in part", problems,
            effect: "The import ended early, and the entry says why. Files that were copied are complete; the others "
                + "are on the card only. Nothing was changed there.",
            action: "Do not erase the card. Correct what the entry says and mount it again: the import continues where "
                + "it stopped."),
    ]
}
