import FileValues

extension Keys {
    static let cards = Cards()
    static let describe = Describe()
    static let pictures = Pictures()
    static let fetch = Fetch()
    static let web = Web()

    struct Cards: KeyGroup {
        let `import` = Key<Bool>(
            .cards, "import", Form.yesNo, default: false, example: "yes",
            words:
                "With \"yes\" a card is imported when it is mounted, as by \"photoinbox import\": new files are copied "
                + "into an inbox, read again and compared, and filed from there. So is a card that is mounted when the "
                + "daemon starts. Only file systems on disks count, not network or FUSE mounts.")
        let inbox = Key<String?>(
            .cards, "inbox", Form.name, otherwise: "the only inbox", example: "card",
            words: "The inbox that cards are imported into.")
        let directories = Key<[BytePath]>(
            .cards, "directories", Form.relativePaths, default: ["DCIM"], example: "DCIM", "PRIVATE/M4ROOT",
            words:
                "A file system with one of these directories is a card. Only these directories are imported, one after "
                + "the other.")
        let below = Key<[BytePath]>(
            .cards, "below", Form.absolutePaths, default: ["/media", "/run/media", "/mnt"],
            words:
                "Where cards are mounted: at one of these places, or anywhere below. The user that photoinboxd runs as "
                + "must be able to read them: see CARDS in photoinboxd(8).")
    }

    struct Describe: KeyGroup {
        let writeSidecars = Key<Bool>(
            .describe, "write-sidecars", Form.yesNo, default: false, example: "yes",
            words:
                "With \"yes\" what people say of a photo is also written to an XMP sidecar beside it in the library, so "
                + "that Lightroom, darktable and digiKam show it, and \"photoinbox rebuild\" finds it if the catalogue is "
                + "lost: NAME.xmp for raw photos, NAME.EXTENSION.xmp for all others and DNG. To a sidecar that another "
                + "program wrote there, only what is missing is added, and whatever people change in such a program "
                + "stays. If the daemon is not root, a changed file is the daemon's, with the old group and mode; one "
                + "whose group may not write it, or is none of the daemon's, is left. One that was filed, or recorded by "
                + "\"photoinbox adopt\", is never changed. File systems that cannot exchange two names (NFS, SMB) get "
                + "sidecars, whose later changes are left out. \"photoinbox show\" says why one was left; a reload tries "
                + "those again, and \"photoinbox verify --repair\" writes those that are missing. With \"no\" they stay as "
                + "they are, also when their photos are undone.")
    }

    struct Pictures: KeyGroup {
        let enabled = Key<Bool>(
            .pictures, "enabled", Form.yesNo, default: false, example: "yes",
            words:
                "With \"yes\" thumbnails and previews are made of each filed photo: JPEGs in sRGB, turned upright, under "
                + "thumbnails/ in the state directory, named by the SHA-256 of the photo. Photos that were filed before "
                + "get theirs, too.")
        let thumbnail = Key<UInt32>(
            .pictures, "thumbnail", Form.number(16...65_535), default: 512,
            words:
                "The longer side of the thumbnail, in pixels. Smaller photos are not enlarged. One of at most 320 pixels "
                + "is made with it, for the page that shows many photos at once.")
        let preview = Key<UInt32>(
            .pictures, "preview", Form.number(0...65_535), default: 2_048,
            words: "The longer side of the preview, in pixels; \"0\" for none, which halves the time for thumbnails.")
        let quality = Key<UInt8>(
            .pictures, "quality", Form.number(1...100), default: 80, words: "The quality setting of the JPEG encoder.")
        let confinement = Key<Bool>(
            .pictures, "confinement", Form.either("required", or: "best-effort"), default: true,
            words: "The decoder gives up access to files, network and other processes before it reads a photo. With "
                + "\"required\" nothing is made if the kernel cannot enforce all of that; with \"best-effort\" it is made "
                + "all the same, and status reports what is missing.")
        let time = Key<TimeSpan>(
            .pictures, "time", Form.span(1...3_600), default: .seconds(60),
            words: "The time limit for one photo.")
        let processorTime = Key<TimeSpan>(
            .pictures, "processor-time", Form.span(1...3_600), default: .seconds(30),
            words: "The limit of processor time for one photo.")
        let decoder = Key<BytePath?>(
            .pictures, "decoder", Form.path,
            otherwise: "photoinbox-decoder beside the program that starts it, or in ../libexec",
            example: "/opt/photos/photoinbox-decoder", words: "The decoder program.")
        let decoders = Key<Int>(
            .pictures, "decoders", Form.number(0...64), default: 0, example: "1",
            words: "How many decoders may run at once; \"0\" for one for each processor, four at most.")
    }

    struct Web: KeyGroup {
        let inbox = Key<String?>(
            .web, "inbox", Form.name, otherwise: "none: nothing can be sent", example: "card",
            words: "The inbox for photos that people send with a browser, and that guests send by a link. "
                + "photoinbox-drop, which receives them, can put files into no other directory, and read none. Read by it "
                + "and by photoinbox-web when they start; they end when nobody has been there for a minute.")
    }

    struct Fetch: KeyGroup {
        private static let standard = FetchLimits()

        let links = Key<Bool>(
            .fetch, "links", Form.yesNo, default: false, example: "yes",
            words: "With \"yes\" a link file in an inbox is processed: a list with one address per line (.links), or a "
                + "shortcut of Windows (.url) or macOS (.webloc). Its links are downloaded into that inbox; then the file "
                + "is moved to the directory .fetched there, and links that failed are listed beside it in NAME.failed. "
                + "Whoever may write to an inbox can then make this machine connect to public servers. With \"no\" link "
                + "files stay where they are. Read at start and reload.")
        let atOnce = Key<Int>(
            .fetch, "at-once", Form.number(1...FetchLimits.mostAtOnce), default: standard.atOnce,
            words: "How many downloads of a batch run at the same time.")
        let deadline = Key<TimeSpan>(
            .fetch, "deadline", Form.span(1...7 * 86_400), default: .seconds(standard.deadline),
            words: "The time limit for one download, from its first try, including retries and the pauses between them."
        )
        let stall = Key<TimeSpan>(
            .fetch, "stall", Form.span(1...3_600), default: .seconds(standard.stall),
            words: "How long a server may send nothing before a try is aborted, in whole seconds.")
        let largest = Key<ByteSize>(
            .fetch, "largest", Form.size, default: ByteSize(bytes: standard.largest), example: "500M",
            words: "The largest size of one download.")
        let tries = Key<Int>(
            .fetch, "tries", Form.number(1...100), default: standard.tries,
            words:
                "How often to try a download that fails for a temporary reason. A retry continues where the last try "
                + "stopped, if the server confirms that the content is unchanged.")
        let pause = Key<TimeSpan>(
            .fetch, "pause", Form.span(0...60), default: TimeSpan(milliseconds: standard.pause),
            words:
                "The pause before the second try; doubled before each further one. A longer pause that the server asks "
                + "for is used instead. A minute at most.")
        let allowPrivate = Key<[NetworkRange]>(
            .fetch, "allow-private", Form.networks, default: standard.allowed, example: "192.168.1.0/24", "fd00::/8",
            words:
                "Private networks, or addresses of this machine, that downloads may connect to: links could otherwise "
                + "reach services that only this machine can reach. Checked for every connection, after name resolution "
                + "and after each redirect.")
    }
}
