extension SourceReader where Source: ~Copyable {
    /// Reads the data after a JPEG's end-of-image and determines the file's completeness.
    ///
    /// Structures with a length (another JPEG, a film's boxes, Samsung's directory, the multi-picture index) are
    /// checked by it; unknown bytes are accepted, as viewers do, and recorded, but do not prove the end.
    mutating func readTrailers(
        of walk: JPEGWalk, into trailers: inout [Trailer]
    ) throws(WalkStop) -> Completeness {
        let samsungEnd = try samsungDirectoryEnd()
        var position = walk.end
        // Each round reads one structure; no camera writes more than a few hundred.
        for _ in 0..<256 where position < size {
            let trailer = try trailer(at: position, samsungEnd: samsungEnd)
            trailers.append(trailer)
            position = trailer.offset + trailer.length
        }
        if position < size {
            trailers.append(Trailer(kind: .unknown, offset: position, length: size - position))
        }
        if let lack = try lackOfMultiPicture(walk) { return .lacking(reason: lack) }
        let hasFilm = trailers.contains { $0.kind == .film || $0.kind == .samsung }
        if walk.promisesFilm, !hasFilm {
            return .lacking(
                reason: "JPEG is whole up to byte \(grouped(walk.end)), but the film its XMP speaks of is not there")
        }
        guard let last = trailers.last else { return .whole(evidence: "JPEG ends with its end marker") }
        let words = trailers.map { "\(byteCount($0.length)) \($0.kind.words)" }.joined(separator: ", ")
        let evidence = "JPEG has its end marker at byte \(grouped(walk.end)); followed by \(words)"
        return switch last.kind {
        case .padding: .weak(reason: "\(evidence), which may be cut short")
        case .unknown: .lacking(reason: "\(evidence), which may be cut short")
        case .picture, .film, .samsung: .whole(evidence: evidence)
        }
    }

    /// The completeness of a file whose structure ends at `end`, before the file. A rest of zeros is harmless; other
    /// data may be cut, undetectably.
    mutating func judgeRest(
        from end: UInt64, _ evidence: String, trailers: inout [Trailer]
    ) throws(WalkStop) -> Completeness {
        let rest = size - end
        let isPadding = try offsetOfNonzero(from: end, before: size) == size
        trailers.append(Trailer(kind: isPadding ? .padding : .unknown, offset: end, length: rest))
        let kind = isPadding ? "zeros" : "unknown data"
        let words = "\(evidence); followed by \(byteCount(rest)) of \(kind), which may be cut short"
        return isPadding ? .weak(reason: words) : .lacking(reason: words)
    }

    /// The complete structure at `position`; throws if it is cut short.
    private mutating func trailer(at position: UInt64, samsungEnd: UInt64?) throws(WalkStop) -> Trailer {
        let head = try bytes(at: position, count: 12)
        if head.starts(with: [0xFF, 0xD8, 0xFF]) {
            var walk = JPEGWalk()
            var ignored = PhotoReport(format: .jpeg, completeness: .empty)
            do { try walkJPEG(from: position, &walk, fields: &ignored) } catch {
                guard case .found(let completeness) = error else { throw error }
                throw .found(
                    .cutShort(reason: "picture behind the first, at byte \(grouped(position)): \(completeness.words)"))
            }
            return Trailer(kind: .picture, offset: position, length: walk.end - position)
        }
        if head.dropFirst(4).begins(with: "ftyp") {
            return Trailer(kind: .film, offset: position, length: try filmLength(at: position, before: samsungEnd))
        }
        if isSamsungBlock(head) {
            guard let samsungEnd else {
                throw .found(
                    .cutShort(
                        reason: "Samsung's data at byte \(grouped(position)) lacks its directory at the file's end"))
            }
            return Trailer(kind: .samsung, offset: position, length: samsungEnd - position)
        }
        let nonzero = try offsetOfNonzero(from: position, before: size)
        if nonzero > position {
            // The length of a film's first box begins with zeros, too, which are not padding.
            var end = nonzero
            for back in UInt64(1)...3 where end == nonzero && nonzero - position > back {
                if try bytes(at: nonzero - back + 4, count: 4).begins(with: "ftyp") { end = nonzero - back }
            }
            return Trailer(kind: .padding, offset: position, length: end - position)
        }
        return Trailer(kind: .unknown, offset: position, length: (samsungEnd ?? size) - position)
    }

    /// Reads the boxes of a motion photo's film up to their end; throws if the last one is cut short.
    private mutating func filmLength(at start: UInt64, before samsungEnd: UInt64?) throws(WalkStop) -> UInt64 {
        var position = start
        var missing: [FourCC] = ["moov", "mdat"]
        walk: for _ in 0..<4_096 where position < size {
            switch try box(at: position, before: size) {
            case .box(let box):
                missing.removeAll { $0 == box.type }
                position = box.end
            case .tooLong(let type, let end):
                throw .found(
                    .cutShort(
                        reason: "motion photo's film is cut short: its \(type.text) box ends at byte "
                            + "\(grouped(end)), the file at \(grouped(size))"))
            case .fragment:
                throw .found(
                    .cutShort(reason: "motion photo's film is cut short in a box header, at byte \(grouped(position))"))
            case .none: break walk
            }
        }
        if let first = missing.first {
            throw .found(.cutShort(reason: "motion photo's film is cut short: it has no \(first.text) box"))
        }
        return position - start
    }

    /// Whether a Samsung block begins here: two zeros, a little-endian type such as 0x0A01, and a name with its length.
    private func isSamsungBlock(_ head: [UInt8]) -> Bool {
        head.count >= 9 && head[0] == 0 && head[1] == 0 && (0x08...0x0F).contains(head[3]) && (4...64).contains(head[4])
            && head[5...7].allSatisfy { $0 == 0 } && (0x41...0x5A).contains(head[8])
    }

    /// The end of Samsung's directory, which is the end of the file, if the file ends with a valid one.
    private mutating func samsungDirectoryEnd() throws(WalkStop) -> UInt64? {
        guard size >= 20, try bytes(at: size - 4, count: 4).begins(with: "SEFT"),
            let length = try unsigned(at: size - 8, width: 4, littleEndian: true), length <= size - 8,
            try bytes(at: size - 8 - length, count: 4).begins(with: "SEFH")
        else { return nil }
        return size
    }

    /// A clause about a missing picture of the multi-picture index; nil if none is missing or there is no index.
    ///
    /// Editors that drop the further pictures often keep the index, with invalid offsets, so the file may be complete.
    /// The first picture's length is not checked: its end marker was found.
    private mutating func lackOfMultiPicture(_ walk: JPEGWalk) throws(WalkStop) -> String? {
        guard let (place, length) = walk.multiPicture, let block = try tiffBlock(at: place, length: length),
            let index = try directory(of: block, at: block.firstDirectory),
            let entries = index.entry(0xB002), entries.byteCount < .max
        else { return nil }
        // Each entry: attributes, size, offset from the index's own header (0 for the first picture), dependencies.
        for number in 1..<max(min(entries.byteCount / 16, 64), 1) {
            let (at, overflow) = entries.valueOffset.addingReportingOverflow(number * 16)
            guard !overflow, let entry = block.place(at, count: 16),
                let bytes = try unsigned(at: entry + 4, width: 4, littleEndian: block.littleEndian),
                let offset = try unsigned(at: entry + 8, width: 4, littleEndian: block.littleEndian)
            else { return nil }
            guard bytes > 0, offset > 0 else { continue }
            let end = place + offset + bytes
            if end > size {
                return "JPEG is whole up to byte \(grouped(walk.end)), but picture \(number + 1) of its multi-picture "
                    + "index ends at byte \(grouped(end)), the file at \(grouped(size))"
            }
        }
        return nil
    }
}

extension Trailer.Kind {
    /// The name for people, after a byte count.
    fileprivate var words: String {
        switch self {
        case .picture: "of a further picture"
        case .film: "of a motion photo's film"
        case .samsung: "of Samsung's data"
        case .padding: "of padding"
        case .unknown: "of unknown data"
        }
    }
}
