import PhotoFormats
import PhotoModel

/// docs/formats.md.
func formatsPage() -> String {
    var lines = [
        "# Formats", "",
        "What is filed, by content: a name only decides where the first bytes are ambiguous. \"End\" is what shows that a file is",
        "complete; see [Dropping photos](dropping-photos.md). `make man` writes this page.", "",
        "| format | names | filed as | end | date and metadata from | thumbnail |", "|---|---|---|---|---|---|",
    ]
    for format in PhotoFormat.allCases {
        let names = format.usualExtensions.map { "`.\($0)`" }.joined(separator: " ")
        lines.append(
            "| \(format.name) | \(names) | \(format.family.word) | \(format.end.rawValue) | \(format.metadataSources) | "
                + "\(format.thumbnail) |")
    }
    lines += [
        "",
        "The thumbnail of a film needs libavformat, libavcodec and libswscale, and so does that of a lossless JPEG or one of 12 bits,",
        "of at most 71 million pixels; see [renditions](renditions.md). A HEIF has none whose main picture is in a coding that the",
        "installed libheif cannot decode, such as `unci` on Debian 12.",
        "",
        "Sidecars are filed with their photo: `.xmp`, `.aae`, `.thm`, and the `.json` of Google Takeout. Everything else stays in",
        "its inbox: `photoinbox status` counts it, `photoinbox explain FILE` says why.",
    ]
    return lines.map { "\($0)\n" }.joined()
}

/// The same as a section of a manual page.
func addFormats(to page: inout Roff) {
    page.heading("FORMATS")
    page.paragraph("What is filed, by content; and what shows that a file of the format is complete.")
    for format in PhotoFormat.allCases {
        page.item(
            "\(format.name) (\(format.usualExtensions.map { ".\($0)" }.joined(separator: " ")))",
            [
                "\(format.family.word); end: \(format.end.rawValue.filter { $0 != "`" }); date and metadata: "
                    + "\(format.metadataSources); thumbnail: \(format.thumbnail)"
            ])
    }
}

extension PhotoFormat.Family {
    fileprivate var word: String {
        switch self {
        case .picture: "picture"
        case .raw: "RAW"
        case .video: "film"
        }
    }
}
