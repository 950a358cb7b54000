extension Settings {
    static let cardKeys: [KeyDescription] = [
        key(
            .cards, "import", .choice(["yes", "no"]), fallback: .text("no"), example: "\"yes\"",
            "With \"yes\" a card is imported when it is mounted, as \"photoinbox import\" does it: what is new on it is copied "
                + "into an inbox, read again and compared, and filed from there. One that is mounted when the daemon "
                + "starts is looked at, too. Only file systems of disks count, neither network nor FUSE mounts."),
        key(
            .cards, "inbox", .name, fallback: .words("the only inbox"), example: "\"card\"",
            "The inbox that cards are imported into."),
        key(
            .cards, "directories", .paths(areAbsolute: false), fallback: .array(["DCIM"]),
            example: "[\"DCIM\", \"PRIVATE/M4ROOT\"]",
            "What makes a file system a card: it has one of these directories. They are imported, one after the other, and "
                + "nothing else of it is looked at."),
        key(
            .cards, "below", .paths(areAbsolute: true), fallback: .array(["/media", "/run/media", "/mnt"]),
            example: "[\"/media\", \"/run/media\", \"/mnt\"]",
            "Where cards are mounted: at one of these places, or anywhere below. The user of photoinboxd must be able to "
                + "read them: see CARDS in photoinboxd(8)."),
    ]
}
