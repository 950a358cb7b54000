import FileValues
import Foundation
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport

// Ways to create files by their system calls, which decide the events of the daemon.

func makeDirectory(_ path: String) throws { try systemCall("mkdir") { mkdir(path, 0o755) } }

func write(_ data: Data, to path: String) throws {
    try openDescriptors.withLock { _ in
        let file = try SlowWriter(path)
        try file.write(data)
        file.close()
    }
}

/// Gives a file other bytes. While it is written no program is started, which would have it open for writing, too.
func overwrite(_ path: String, with data: Data) throws {
    try openDescriptors.withLock { _ in try data.write(to: URL(filePath: path)) }
}

func move(_ source: String, to destination: String) throws { try systemCall("rename") { rename(source, destination) } }

func copy(_ source: String, to destination: String) throws { try runProgram(["/bin/cp", "--", source, destination]) }

/// A file that is open while it is written in parts, as by a camera or a browser.
final class SlowWriter {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = try systemCall("open") { open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644) }
    }

    func write(_ data: some DataProtocol) throws {
        for piece in data.regions {
            var rest = piece[...]
            while !rest.isEmpty {
                let count = try systemCall("write") {
                    rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
                }
                rest = rest.dropFirst(count)
            }
        }
    }

    func close() { Glibc.close(descriptor) }
}

enum Tree {
    /// The contents of all regular files below `directory` by relative path, escaped if it is not text.
    static func files(below directory: String) -> [String: Data] {
        var found: [String: Data] = [:]
        collect(BytePath(directory), BytePath(""), &found)
        return found
    }

    private static func collect(_ directory: BytePath, _ below: BytePath, _ found: inout [String: Data]) {
        guard let stream = directory.withCString({ opendir($0) }) else { return }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: UInt8.self, capacity: 256) {
                    BytePath(
                        Array(
                            UnsafeBufferPointer(
                                start: $0, count: strlen(UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self)))))
                }
            }
            if name == "." || name == ".." { continue }
            let path = directory.appending(name)
            var status = stat()
            guard path.withCString({ lstat($0, &status) }) == 0 else { continue }
            let key = below.isEmpty ? name : below.appending(name)
            switch status.st_mode & S_IFMT {
            case S_IFDIR: collect(path, key, &found)
            case S_IFREG: found[key.escaped] = content(of: path)
            default: break
            }
        }
    }

    private static func content(of path: BytePath) -> Data? {
        let descriptor = path.withCString { open($0, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { return nil }
        return try? FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).readToEnd() ?? Data()
    }
}
