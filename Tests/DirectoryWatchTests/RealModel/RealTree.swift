import FileValues
import Glibc
import LinuxKernel

/// Real directories by plain system calls on whole paths: what the notices are compared with, and nothing of what is
/// under test.
enum RealTree {
    struct Entry: Hashable {
        let kind: FileKind
        let identity: FileIdentity
        let links: UInt64
    }

    /// All that is below `top` and not left out, by its path relative to that.
    static func list(_ top: BytePath, excluding: (BytePath, FileKind) -> Bool) -> [BytePath: Entry] {
        var found: [BytePath: Entry] = [:]
        var pending: [BytePath] = [""]
        while let directory = pending.popLast() {
            for (name, _) in names(in: top.appending(directory)) {
                let path = directory.appending(name)
                guard let entry = status(of: top.appending(path)), !excluding(path, entry.kind) else { continue }
                found[path] = entry
                if entry.kind == .directory { pending.append(path) }
            }
        }
        return found
    }

    /// The names in a directory, in byte order, with whether each is a directory.
    static func names(in directory: BytePath) -> [(name: BytePath, isDirectory: Bool)] {
        guard let stream = directory.withCString({ opendir($0) }) else { return [] }
        defer { closedir(stream) }
        var found: [(name: BytePath, isDirectory: Bool)] = []
        while let entry = readdir(stream) {
            // The record is shorter than its type: it must not be copied.
            let start = UnsafeRawPointer(entry) + nameOffset
            let name = BytePath(
                UnsafeRawBufferPointer(start: start, count: strlen(start.assumingMemoryBound(to: CChar.self))))
            if name == "." || name == ".." { continue }
            found.append((name, entry.pointee.d_type == UInt8(DT_DIR)))
        }
        return found.sorted { $0.name < $1.name }
    }

    private static let nameOffset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 19

    static func status(of path: BytePath) -> Entry? {
        var raw = stat()
        guard path.withCString({ lstat($0, &raw) }) == 0 else { return nil }
        let kind: FileKind =
            switch raw.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            case S_IFIFO: .fifo
            default: .unknown
            }
        func time(_ time: timespec) -> FileTime {
            FileTime(seconds: Int64(time.tv_sec), nanoseconds: UInt32(time.tv_nsec))
        }
        return Entry(
            kind: kind,
            identity: FileIdentity(
                inode: UInt64(raw.st_ino), size: UInt64(raw.st_size), modified: time(raw.st_mtim),
                changed: time(raw.st_ctim)),
            links: UInt64(raw.st_nlink))
    }

    /// A descriptor of a file that is there or made; nil if neither.
    static func open(_ path: BytePath, _ flags: Int32) -> Int32? {
        let file = path.withCString { Glibc.open($0, flags | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0o644) }
        return file < 0 ? nil : file
    }

    static func write(_ count: Int, to file: Int32) {
        let bytes = [UInt8](repeating: 0x2E, count: count)
        _ = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
    }

    /// Makes a file if it is not there, writes so many bytes if any, and closes it. True if that was done.
    @discardableResult
    static func makeFile(_ path: BytePath, bytes: Int = 0) -> Bool {
        guard let file = open(path, O_WRONLY | O_CREAT | (bytes > 0 ? O_TRUNC : O_EXCL)) else { return false }
        if bytes > 0 { write(bytes, to: file) }
        close(file)
        return true
    }

    @discardableResult
    static func makeDirectory(_ path: BytePath) -> Bool { path.withCString { mkdir($0, 0o755) } == 0 }

    /// rename(2), or renameat2(2) with RENAME_EXCHANGE.
    @discardableResult
    static func rename(_ from: BytePath, _ to: BytePath, exchanging: Bool = false) -> Bool {
        from.withCString { from in
            to.withCString { to in
                exchanging ? exchange?(AT_FDCWD, from, AT_FDCWD, to, 2) ?? -1 : Glibc.rename(from, to)
            }
        } == 0
    }

    private typealias RenameAt2 =
        @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32

    /// renameat2(2), which Swift's import leaves out.
    private static let exchange = dlsym(nil, "renameat2").map { unsafeBitCast($0, to: RenameAt2.self) }

    /// As rm -rf.
    static func removeAll(_ path: BytePath) {
        if path.withCString({ unlink($0) }) == 0 { return }
        for (name, _) in names(in: path) { removeAll(path.appending(name)) }
        _ = path.withCString { rmdir($0) }
    }
}
