/// The relevant top-level boxes of an ISO base media file.
struct BoxFile {
    var meta: Box?
    /// Whether it has a picture in a single box, as a low-overhead image file.
    var hasMinimised = false
    var movie: Box?
    /// The XMP of a film, or of a CR3.
    var xmp: Box?
    /// Whether it has the film of a motion photo.
    var hasFilm = false
    var hasMediaData = false
    var hasFragments = false
    var hasFragmentIndex = false
    /// The end of the last box.
    var end: UInt64 = 0
    /// The last box, if its length is open.
    var open: Box?
}

extension SourceReader where Source: ~Copyable {
    /// Reads a HEIF, AVIF, CR3, MP4 or MOV file with the `brands` of its `ftyp` box.
    mutating func readBoxFile(brands: [UInt32], into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        let file: BoxFile
        switch boxFormat(brands) {
        case .format(let format):
            report.format = format
            file = try boxFile(format.name)
        case .refused(let reason): return .notAPhoto(reason: reason)
        }
        // The major brand may be a codec's; a compatible one shows that it is an image.
        if report.format == .mp4, file.movie == nil, file.meta != nil, brands.contains(FourCC("mif1").code) {
            report.format = .heif
        }
        if let box = file.xmp {
            report.record(try xmpPacket(at: box.body + 16, length: box.end - box.body - 16))
        }
        let isImage = [.heic, .heif, .avif].contains(report.format)
        // A sequence of images may be only a film.
        if isImage, file.meta != nil || file.hasMinimised || file.movie == nil {
            guard file.meta != nil || file.hasMinimised else {
                return .malformed(reason: "HEIF has no meta, mini or moov box: no picture in it")
            }
            var promisesFilm = false
            if let meta = file.meta { try readHEIF(meta: meta, promisesFilm: &promisesFilm, into: &report) }
            // A sequence of images has a film's header.
            if let movie = file.movie, let header = try child("mvhd", of: movie) {
                try readMovieHeader(header, into: &report)
            }
            if promisesFilm, !file.hasFilm, file.movie == nil {
                return .lacking(reason: "the film that its XMP speaks of is not there")
            }
        } else {
            guard let movie = file.movie else {
                return .cutShort(
                    reason: "\(report.format?.name ?? "film") has no moov box in its \(byteCount(size)): "
                        + "the recording was not finished")
            }
            if report.format == .cr3 {
                try readCR3(movie: movie, into: &report)
            } else {
                try readFilm(movie: movie, into: &report)
            }
            guard file.hasMediaData || file.hasFragments else {
                return .cutShort(reason: "\(report.format?.name ?? "film") has a moov box, but no media data")
            }
        }
        return try judge(file, name: report.format?.name ?? "film", trailers: &report.trailers)
    }

    /// Reads the top level up to the end of the file; throws if a box is cut short.
    private mutating func boxFile(_ name: String) throws(WalkStop) -> BoxFile {
        var file = BoxFile()
        file.end = try walkBoxes(name) { box, reader throws(WalkStop) in
            switch box.type {
            case "meta": file.meta = file.meta ?? box
            case "moov": file.movie = file.movie ?? box
            case "uuid" where file.xmp == nil && box.end - box.body >= 16:
                if try reader.bytes(at: box.body, count: 16) == xmpIdentifier { file.xmp = box }
            case "mini": file.hasMinimised = true
            case "mpvd": file.hasFilm = true
            case "mdat": file.hasMediaData = true
            case "moof": file.hasFragments = true
            case "mfra": file.hasFragmentIndex = true
            default: break
            }
            if box.isOpen { file.open = box }
        }
        return file
    }

    /// The completeness shown by the boxes, after the format's own parts were found valid.
    private mutating func judge(
        _ file: BoxFile, name: String, trailers: inout [Trailer]
    ) throws(WalkStop) -> Completeness {
        if let open = file.open {
            let words = "\(name)'s last box, \(open.type.text), runs to the end of the file, wherever that is"
            // Items have their own lengths.
            return file.meta == nil ? .lacking(reason: words) : .weak(reason: words)
        }
        if file.hasFragments, !file.hasFragmentIndex {
            return .lacking(reason: "\(name) is in fragments, and nothing marks the last one")
        }
        guard file.end == size else {
            // A box may begin with zeros, and four zeros end a QuickTime file.
            if size - file.end < 4 {
                return .lacking(
                    reason:
                        "\(name)'s boxes end at byte \(grouped(file.end)), and \(byteCount(size - file.end)) of another follow"
                )
            }
            return try judgeRest(
                from: file.end, "\(name)'s boxes end at byte \(grouped(file.end))", trailers: &trailers)
        }
        return .whole(evidence: "\(name)'s boxes end exactly at the end of the file")
    }

    private enum BoxFormat {
        case format(PhotoFormat)
        case refused(String)
    }

    /// The format for the brands: by the major one, then the compatible ones.
    private func boxFormat(_ brands: [UInt32]) -> BoxFormat {
        let major = FourCC(code: brands.first ?? 0)
        switch major {
        case "crx ": return .format(.cr3)
        case "qt  ": return .format(.mov)
        case "avif", "avis": return .format(.avif)
        case "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs": return .format(.heic)
        case "mif1", "mif2", "mif3", "msf1", "miaf", "unif":
            let all = brands.map { FourCC(code: $0) }
            if all.contains("avif") || all.contains("avis") { return .format(.avif) }
            if all.contains("heic") || all.contains("heix") || all.contains("hevc") { return .format(.heic) }
            return .format(.heif)
        case "M4A ", "M4B ", "M4P ", "F4A ", "F4B ": return .refused("sound without a picture (brand \(major.text))")
        case "jxl ", "jp2 ", "jpx ", "jpm ", "cdr ", "mjp2":
            return .refused("of a kind that is not filed (brand \(major.text))")
        default: return .format(.mp4)
        }
    }
}
