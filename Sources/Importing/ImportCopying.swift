import FileValues
import Filing
import LinuxKernel
import SystemPackage

/// Why one file could not be imported, for people.
struct ImportFileFailure: Error, Hashable {
    let reason: String
    init(_ reason: String) { self.reason = reason }

    /// A failed call; frequent causes have a text of their own.
    init(_ error: SystemCallError, _ subject: String) {
        switch error.code {
        case .noSpace, .diskQuotaExceeded: self.init("no space left in the inbox's file system")
        case .ioError: self.init("\(subject): the medium failed (\(error.call): \(error.code))")
        default: self.init("\(subject): \(error.call): \(error.code)")
        }
    }
}

/// The run was stopped at once.
struct ImportAbandoned: Error {}

/// A copy in the inbox's hidden directory: completely written, neither synced nor verified yet.
final class ImportCopy: Sendable {
    let source: OpenSource
    let name: BytePath
    private let content: Locked<HeldDescriptor?>
    let hash: ContentHash
    let sample: ImportSample
    /// When the source was read, in seconds since 1970.
    let read: Int64

    init(
        source: OpenSource, name: BytePath, file: HeldDescriptor, hash: ContentHash, sample: ImportSample, read: Int64
    ) {
        (self.source, self.name) = (source, name)
        content = Locked(file)
        (self.hash, self.sample, self.read) = (hash, sample, read)
    }
}

extension ImportCopy {
    /// Returns its entry in the memory, for the path `destination` in the inbox.
    func line(as destination: BytePath) -> (ImportMemory.Key, ImportMemory.Entry) {
        (
            ImportMemory.Key(source.path, source.status),
            ImportMemory.Entry(
                hash: hash, sample: sample, modified: source.status.identity.modified, read: read,
                destination: destination)
        )
    }
}

extension ImportCopy {
    /// Nil once it is closed.
    var file: HeldDescriptor? { content.withLock { $0 } }

    /// Closes the copy, before it gets its name: while it is open for writing, the daemon waits for its writer. Closing the
    /// source may hang, on a card that does not answer.
    func close() { content.withLock { $0 = nil } }
}

/// Reads and copies on one thread, with one buffer.
final class ImportCopier {
    private static let block = 1 << 20

    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: block, alignment: 4096)
    /// False once the kernel has refused to share blocks between the two file systems.
    private var mayClone = true
    private let shouldAbandon: () throws -> Bool

    /// `shouldAbandon` is called before each block.
    init(shouldAbandon: @escaping () throws -> Bool) { self.shouldAbandon = shouldAbandon }

    deinit { buffer.deallocate() }

    /// Returns the hash of a file, which must not change meanwhile.
    func hash(_ source: OpenSource, _ onRead: (UInt64) -> Void = { _ in }) throws -> ContentHash {
        let hash = try read(source.content, size: source.size, "the file", onRead) { _, _ throws(SystemCallError) in }
        try requireUnchanged(source)
        return hash
    }

    func sample(_ source: OpenSource) throws -> ImportSample {
        do throws(SystemCallError) { return try ImportSample(of: source.content, size: source.size) } catch {
            throw ImportFileFailure(error, "the file")
        }
    }

    /// Copies a file into the inbox's hidden directory, and hashes it on the way.
    func copy(_ source: OpenSource, into inbox: ImportInbox, _ onRead: (UInt64) -> Void) throws -> ImportCopy {
        let copy: (name: BytePath, content: HeldDescriptor)
        do throws(SystemCallError) {
            guard try inbox.room() >= source.size else { throw SystemCallError("statfs", .noSpace) }
            copy = try inbox.makeCopy()
        } catch { throw ImportFileFailure(error, "the inbox") }
        let read = FileTime.now.seconds
        do {
            let hash = try fill(copy.content, from: source, onRead)
            do throws(SystemCallError) {
                try inbox.setAttributes(of: copy.content.descriptor, isDirectory: false)
                try copy.content.descriptor.setModified(source.status.identity.modified)
            } catch { throw ImportFileFailure(error, "the inbox") }
            let sample = try sample(source)
            try requireUnchanged(source)
            // Write back while the next file is read, so that the sync of the batch is fast.
            copy.content.descriptor.startWriting()
            source.content.dropCachedPages()
            return ImportCopy(
                source: source, name: copy.name, file: copy.content, hash: hash, sample: sample, read: read)
        } catch {
            inbox.discard(copy.name)
            throw error
        }
    }

    private func fill(
        _ file: HeldDescriptor, from source: OpenSource, _ onRead: (UInt64) -> Void
    ) throws -> ContentHash {
        if source.size > 0, try copyInKernel(file.descriptor, source) {
            return try read(source.content, size: source.size, "the file", onRead) { _, _ throws(SystemCallError) in }
        }
        return try read(source.content, size: source.size, "the file", onRead) {
            bytes, offset throws(SystemCallError) in
            try file.descriptor.write(bytes, at: offset)
        }
    }

    /// Has the kernel share or copy the blocks. Returns false if it cannot, as between two file systems.
    private func copyInKernel(_ copy: borrowing OwnedDescriptor, _ source: OpenSource) throws -> Bool {
        guard mayClone else { return false }
        if (try? FileStatus(of: copy).device) != source.status.device {
            mayClone = false
            return false
        }
        do throws(SystemCallError) {
            try copy.clone(from: source.content)
            return true
        } catch {
            if error.code == .noSpace { throw ImportFileFailure(error, "the inbox") }
        }
        var done: UInt64 = 0
        while done < source.size {
            if try shouldAbandon() { throw ImportAbandoned() }
            do throws(SystemCallError) {
                let length = min(source.size - done, UInt64(8 * Self.block))
                let count = try copy.copyRange(from: source.content, at: done, length: length)
                if count == 0 { break }
                done += count
            } catch {
                if [.noSpace, .diskQuotaExceeded].contains(error.code) { throw ImportFileFailure(error, "the inbox") }
                mayClone = false
                return false
            }
        }
        return done == source.size
    }

    /// Reads a file from start to end, passes each block to `write`, and returns the hash.
    func read(
        _ file: borrowing OwnedDescriptor, size: UInt64, _ subject: String, _ onRead: (UInt64) -> Void = { _ in },
        write: (UnsafeRawBufferPointer, UInt64) throws(SystemCallError) -> Void
    ) throws -> ContentHash {
        file.adviseSequentialReading()
        var hasher = ContentHasher()
        var done: UInt64 = 0
        while true {
            if try shouldAbandon() { throw ImportAbandoned() }
            let count: Int
            do throws(SystemCallError) { count = try file.read(into: buffer, at: done) } catch {
                throw ImportFileFailure(error, subject)
            }
            if count == 0 { break }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            do throws(SystemCallError) { try write(bytes, done) } catch { throw ImportFileFailure(error, "the inbox") }
            hasher.update(bytes)
            done += UInt64(count)
            onRead(UInt64(count))
            guard done <= size else { break }
        }
        guard done == size else {
            throw ImportFileFailure("\(subject) changed during the import: it no longer has \(size) bytes")
        }
        return hasher.hash()
    }

    private func requireUnchanged(_ source: OpenSource) throws {
        let change: String?
        do throws(SystemCallError) { change = try source.change() } catch { throw ImportFileFailure(error, "the file") }
        if let change { throw ImportFileFailure("it changed during the import: \(change)") }
    }
}
