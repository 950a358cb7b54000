import CommandSupport
import DirectoryWatch
import FileValues
import LinuxKernel

/// How `watch` writes an event. Pure: bytes are appended to the one output buffer.
package struct EventFormat: Sendable {
    package enum Shape: Hashable, Sendable {
        /// By a ``FormatString``: lines, names that end with NUL, `--format`.
        case pieces
        /// As inotifywait's `--csv`.
        case csv
        /// JSON Lines.
        case json
    }

    let shape: Shape
    private let format: FormatString?
    /// Whether names are escaped, so that they can do a terminal no harm.
    private let isEscaped: Bool
    private var time: TimeFormat?
    private var now = TimeBytes()
    private var modified = TimeBytes()

    /// Objects, or rows with commas.
    package init(_ shape: Shape) {
        self.shape = shape
        format = nil
        isEscaped = false
    }

    package init(_ format: FormatString, time: TimeFormat? = nil, isEscaped: Bool = false) {
        shape = .pieces
        self.format = format
        self.time = time
        self.isEscaped = isEscaped
    }

    /// The name of an event, in one of two vocabularies.
    private enum Words {
        case record(InotifyMask)
        case notice(StaticString)
    }

    /// A notice's line. A rename takes two in the shapes that cannot hold two paths: `renamed-from`, then
    /// `renamed-to`.
    mutating func append(
        _ kind: NoticeKind, of notice: WatchNotice, path: [UInt8], from old: [UInt8]?, at now: FileTime,
        to bytes: inout [UInt8]
    ) {
        if shape == .json {
            appendJSON(kind, notice, path, old, now, to: &bytes)
        } else if kind == .renamed, let old {
            append("renamed-from", old, now, to: &bytes)
            append("renamed-to", path, now, to: &bytes)
        } else {
            append(kind.bytes, path, now, to: &bytes)
        }
    }

    /// A kernel record's line. `directory` is as it is printed, with a slash at its end.
    mutating func append(
        record mask: InotifyMask, directory: [UInt8], name: UnsafeRawBufferPointer, cookie: UInt32, at now: FileTime,
        to bytes: inout [UInt8]
    ) {
        directory.withUnsafeBytes { directory in
            if shape == .json {
                appendJSON(mask, directory, name, cookie, now, to: &bytes)
            } else {
                append(.record(mask), directory, name, cookie, now, to: &bytes)
            }
        }
    }

    private mutating func append(_ word: StaticString, _ path: [UInt8], _ now: FileTime, to bytes: inout [UInt8]) {
        path.withUnsafeBytes { path in
            let cut = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
            append(
                .notice(word), UnsafeRawBufferPointer(rebasing: path[..<cut]),
                UnsafeRawBufferPointer(rebasing: path[cut...]), 0, now, to: &bytes)
        }
    }

    private mutating func append(
        _ words: Words, _ directory: UnsafeRawBufferPointer, _ name: UnsafeRawBufferPointer, _ cookie: UInt32,
        _ now: FileTime, to bytes: inout [UInt8]
    ) {
        guard let format else { return appendRow(words, directory, name, to: &bytes) }
        for piece in format.pieces {
            switch piece.kind {
            case .literal: bytes.append(contentsOf: format.literals[piece.range])
            case .directory: append(path: directory, to: &bytes)
            case .name: append(path: name, to: &bytes)
            case .events: append(words, separator: piece.separator, to: &bytes)
            case .time: time?.append(now, to: &bytes)
            case .cookie: bytes.append(contentsOf: String(cookie, radix: 16).utf8)
            }
        }
    }

    private func append(_ words: Words, separator: UInt8, to bytes: inout [UInt8]) {
        switch words {
        case .record(let mask): RecordNames.append(mask, separator: separator, to: &bytes)
        case .notice(let word): bytes.append(word)
        }
    }

    private func append(path: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        if isEscaped { bytes.appendEscaped(path) } else { bytes.append(contentsOf: path) }
    }

    /// `directory,events,name`, without the directory where there is none.
    private func appendRow(
        _ words: Words, _ directory: UnsafeRawBufferPointer, _ name: UnsafeRawBufferPointer, to bytes: inout [UInt8]
    ) {
        if !directory.isEmpty {
            bytes.appendCommaSeparated(directory)
            bytes.append(UInt8(ascii: ","))
        }
        var events: [UInt8] = []
        append(words, separator: UInt8(ascii: ","), to: &events)
        bytes.appendCommaSeparated(events)
        bytes.append(UInt8(ascii: ","))
        bytes.appendCommaSeparated(name)
        bytes.append(UInt8(ascii: "\n"))
    }
}

// JSON.
extension EventFormat {
    private mutating func appendJSON(
        _ mask: InotifyMask, _ directory: UnsafeRawBufferPointer, _ name: UnsafeRawBufferPointer, _ cookie: UInt32,
        _ now: FileTime, to bytes: inout [UInt8]
    ) {
        bytes.append("{\"format\":1,\"event\":\"raw\",\"mask\":\"")
        RecordNames.append(mask, separator: UInt8(ascii: ","), to: &bytes)
        bytes.append(UInt8(ascii: "\""))
        bytes.appendJSONPath("directory", Array(directory))
        if !name.isEmpty { bytes.appendJSONPath("name", Array(name)) }
        if cookie != 0 {
            bytes.append(",\"cookie\":")
            bytes.appendDecimal(UInt64(cookie))
        }
        appendNow(now, to: &bytes)
    }

    private mutating func appendJSON(
        _ kind: NoticeKind, _ notice: WatchNotice, _ path: [UInt8], _ old: [UInt8]?, _ now: FileTime,
        to bytes: inout [UInt8]
    ) {
        bytes.append("{\"format\":1,\"event\":\"")
        bytes.append(kind.bytes)
        bytes.append(UInt8(ascii: "\""))
        bytes.appendJSONPath("path", path)
        if let old { bytes.appendJSONPath("from", old) }
        switch notice.kind {
        case .finished(.closeWrite): bytes.append(",\"cause\":\"close-write\"")
        case .finished(.movedIn): bytes.append(",\"cause\":\"moved-in\"")
        case .finished(.found): bytes.append(",\"cause\":\"found\"")
        case .renamed where kind == .finished: bytes.append(",\"cause\":\"renamed\"")
        case .notRegular(let kind):
            bytes.append(",\"kind\":\"")
            bytes.append(contentsOf: kind.rawValue.utf8)
            bytes.append(UInt8(ascii: "\""))
        default: break
        }
        if let identity = notice.identity {
            bytes.append(",\"size\":")
            bytes.appendDecimal(identity.size)
            bytes.append(",\"modified\":")
            modified.append(identity.modified, to: &bytes)
        }
        appendNow(now, to: &bytes)
    }

    private mutating func appendNow(_ time: FileTime, to bytes: inout [UInt8]) {
        bytes.append(",\"time\":")
        now.append(time, to: &bytes)
        bytes.append("}\n")
    }
}
