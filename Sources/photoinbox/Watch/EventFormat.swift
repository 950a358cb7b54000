import DirectoryWatch
import FileValues
import LinuxKernel

/// How `watch` writes an event. Pure: bytes are appended to the one output buffer.
struct EventFormat: Sendable {
    enum Shape: Hashable, Sendable {
        /// One line each; the names escaped, for a terminal, or as they are.
        case lines(escaped: Bool)
        /// Each ends with a NUL, names as they are.
        case null
        /// JSON Lines.
        case json
    }

    let shape: Shape
    /// Whether lines begin with what happened; false where only one kind is asked for.
    let showsKind: Bool
    private var now = TimeBytes()
    private var modified = TimeBytes()

    init(shape: Shape, showsKind: Bool) {
        self.shape = shape
        self.showsKind = showsKind
    }

    /// A notice's line. A rename takes two in the shapes that cannot hold two paths: `renamed-from`, then
    /// `renamed-to`.
    mutating func append(
        _ kind: NoticeKind, of notice: WatchNotice, path: [UInt8], from old: [UInt8]?, at now: FileTime,
        to bytes: inout [UInt8]
    ) {
        if shape == .json {
            appendJSON(kind, notice, path, old, now, to: &bytes)
        } else if kind == .renamed, showsKind, let old {
            appendLine("renamed-from", old, to: &bytes)
            appendLine("renamed-to", path, to: &bytes)
        } else {
            appendLine(kind.bytes, path, to: &bytes)
        }
    }

    /// A kernel record's line: directory, names of the bits, entry, as `inotifywait --format '%w %e %f'` has it.
    mutating func append(
        mask: String, directory: [UInt8], name: UnsafeRawBufferPointer, cookie: UInt32, at now: FileTime,
        to bytes: inout [UInt8]
    ) {
        guard shape != .json else {
            bytes.append("{\"format\":1,\"event\":\"raw\",\"mask\":\"")
            bytes.append(contentsOf: mask.utf8)
            bytes.append(UInt8(ascii: "\""))
            bytes.appendJSONPath("directory", directory)
            if !name.isEmpty { bytes.appendJSONPath("name", Array(name)) }
            if cookie != 0 {
                bytes.append(",\"cookie\":")
                bytes.appendDecimal(UInt64(cookie))
            }
            appendNow(now, to: &bytes)
            return
        }
        appendPath(directory, to: &bytes)
        bytes.append(UInt8(ascii: " "))
        bytes.append(contentsOf: mask.utf8)
        bytes.append(UInt8(ascii: " "))
        appendPath(name, to: &bytes)
        bytes.append(terminator)
    }

    private func appendLine(_ word: StaticString, _ path: [UInt8], to bytes: inout [UInt8]) {
        if showsKind {
            bytes.append(word)
            bytes.append(UInt8(ascii: " "))
        }
        appendPath(path, to: &bytes)
        bytes.append(terminator)
    }

    private func appendPath(_ path: some Collection<UInt8>, to bytes: inout [UInt8]) {
        if shape == .lines(escaped: true) { bytes.appendEscaped(path) } else { bytes.append(contentsOf: path) }
    }

    private var terminator: UInt8 { shape == .null ? 0 : UInt8(ascii: "\n") }

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
