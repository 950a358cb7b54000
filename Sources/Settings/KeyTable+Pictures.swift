// The keys of small pictures and of downloads.
extension Settings {
    static let pictureKeys: [KeyDescription] = [
        key(
            .pictures, "enabled", .choice(["yes", "no"]), fallback: .text("no"), example: "\"yes\"",
            "With \"yes\" each filed photo gets small pictures: JPEGs in sRGB, turned upright, under thumbnails/ in the "
                + "state directory, named by the SHA-256 of the photo. Those that are filed already get theirs "
                + "afterwards."),
        key(
            .pictures, "thumbnail", .number(least: 16, most: 65_535), fallback: .text("512"), example: "\"512\"",
            "The longer side of the thumbnail, in pixels. Smaller photos keep their size."),
        key(
            .pictures, "preview", .number(least: 0, most: 65_535), fallback: .text("2048"), example: "\"2048\"",
            "The same for a second, larger picture; \"0\" for none, which makes thumbnails in half the time."),
        key(
            .pictures, "quality", .number(least: 1, most: 100), fallback: .text("80"), example: "\"80\"",
            "The quality of these JPEGs, as their encoder counts it."),
        key(
            .pictures, "confinement", .choice(["required", "best-effort"]), fallback: .text("required"),
            example: "\"required\"",
            "What decodes photos gives up files, network and other processes before it reads any. With \"required\" no "
                + "picture is made where the kernel cannot take all of that away; with \"best-effort\" it is made all "
                + "the same, and status tells what is missing."),
        key(
            .pictures, "time", .span(least: .seconds(1), most: .seconds(3_600)), fallback: .text("1m"),
            example: "\"1m\"", "How long one photo may take, before it is given up."),
        key(
            .pictures, "processor-time", .span(least: .seconds(1), most: .seconds(3_600)), fallback: .text("30s"),
            example: "\"30s\"", "How much processor time one photo may take."),
        key(
            .pictures, "decoder", .path,
            fallback: .words("photoinbox-decoder beside the program that starts it, or in ../libexec"),
            example: "\"/usr/local/libexec/photoinbox-decoder\"", "The program that decodes."),
        key(
            .pictures, "decoders", .number(least: 0, most: 64), fallback: .text("0"), example: "\"1\"",
            "How many of them may run at once; \"0\" for one for each processor, four at most."),
    ]

    static let fetchKeys: [KeyDescription] = [
        key(
            .fetch, "links", .choice(["yes", "no"]), fallback: .text("no"), example: "\"yes\"",
            "With \"yes\" a file of links that comes into an inbox is taken up: a list, an address a line (.links), or a "
                + "shortcut of Windows (.url) or macOS (.webloc). What it names is downloaded into that inbox; then the "
                + "file goes into the directory .fetched there, and what could not be had stands beside it in NAME.failed. "
                + "Whoever may write to an inbox may have this machine ask public servers then. With \"no\" such files stay "
                + "where they are. Read at start and reload."),
        key(
            .fetch, "at-once", .number(least: 1, most: FetchLimits.mostAtOnce), fallback: .text("8"), example: "\"8\"",
            "How many downloads of a batch run at the same time."),
        key(
            .fetch, "deadline", .span(least: .seconds(1), most: .seconds(7 * 86_400)), fallback: .text("30m"),
            example: "\"30m\"",
            "What one download may take in all, with its tries and the pauses between them, from its first try on."),
        key(
            .fetch, "stall", .span(least: .seconds(1), most: .seconds(3_600)), fallback: .text("30s"),
            example: "\"30s\"", "How long a server may send nothing, in whole seconds; then that try is over."),
        key(
            .fetch, "largest", .size, fallback: .text("4G"), example: "\"500M\"",
            "How many bytes one download may have: more than that is neither taken nor asked for."),
        key(
            .fetch, "tries", .number(least: 1, most: 100), fallback: .text("5"), example: "\"5\"",
            "How often a download is tried that fails for a reason that may pass. A try goes on where the last one "
                + "stopped, if the server says that it still has the same."),
        key(
            .fetch, "pause", .span(least: .seconds(0), most: .seconds(60)), fallback: .text("1s"), example: "\"1s\"",
            "How long to wait before the second try; twice as long before each that follows, or as long as the server "
                + "asks for, a minute at most."),
        key(
            .fetch, "allow-private", .networks, fallback: .array([]), example: "[\"192.168.1.0/24\", \"fd00::/8\"]",
            "Networks that are downloaded from although they are private ones, or this machine itself: a link could "
                + "otherwise lead to what only this machine may reach. Looked at for every connection, after the name was "
                + "looked up and after each redirect."),
    ]
}
