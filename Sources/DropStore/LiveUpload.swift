import FileValues
import Filing
import LinuxKernel

/// An upload that receives bytes: its part, and one writer at a time. Calls wait for the disk.
final class LiveUpload: Sendable {
    struct State {
        /// Nil when it is whole, or over.
        var file: SharedFile?
        /// The writer that may write.
        var writer = 0
        /// What counts: what was not checked yet does not.
        var offset: UInt64
        var written: UInt64
        /// What is reported.
        var synced: UInt64
        /// The kernel writes up to here, or has.
        var writing: UInt64 = 0
        /// Whether the part's name is durable.
        var isNamed = false
        /// Of the bytes up to `written`; nil if some were received before a restart.
        var hasher: ContentHasher?
        /// Of the bytes behind `offset`, with the digest that they must have, and the hasher before them.
        var check: (hasher: ContentHasher, expected: ContentHash, before: ContentHasher?)?
        var lastSync = monotonicNanoseconds()

        /// What was not durable is not known to be there: it must come again. See `syncPart`.
        mutating func fallBack() throws(SystemCallError) {
            try file?.descriptor.cut(to: synced)
            (offset, written, writing, check, hasher) = (
                synced, synced, synced, nil, synced == 0 ? ContentHasher() : nil
            )
            writer += 1
        }

        /// Cuts off what does not count.
        mutating func withdraw() throws(SystemCallError) {
            if let check { hasher = check.before }
            check = nil
            if written > offset { try file?.descriptor.cut(to: offset) }
            (written, writing) = (offset, min(writing, offset))
        }
    }

    let id: UploadID
    let state: Locked<State>
    /// When bytes came last, in counted seconds. Those of a digest move the ledger's offset only when all have come. Not in the
    /// state, which is locked while the disk works.
    let received = Locked(Int64.min)
    /// Whether all of it is being read under the state's lock, which may take minutes: who waited for that would take the place of
    /// others.
    let isSealing = Locked(false)

    /// Throws where its state would be waited for.
    func requireIdle() throws(DropError) { if isSealing.withLock({ $0 }) { throw .busy } }

    /// `file` has at least `offset` bytes.
    init(_ id: UploadID, _ file: SharedFile, offset: UInt64, isNew: Bool) {
        self.id = id
        var state = State(file: file, offset: offset, written: offset, synced: offset)
        if isNew { state.hasher = ContentHasher() } else { state.isNamed = true }
        self.state = Locked(state)
    }
}

/// One request's bytes for an upload. One thread at a time; it waits for the disk.
package final class UploadWriter: Sendable {
    private let store: DropStore
    private let upload: LiveUpload
    private let number: Int
    /// Of the upload, where it is known.
    private let length: UInt64?
    /// The most bytes of the upload.
    private let limit: UInt64
    private let isResumable: Bool

    /// After so many bytes, or so many nanoseconds, what was received is made durable.
    private static let pace: (bytes: UInt64, time: UInt64) = (16 << 20, 1_000_000_000)

    init(
        _ store: DropStore, _ upload: LiveUpload, number: Int, length: UInt64?, limit: UInt64, isResumable: Bool
    ) {
        (self.store, self.upload, self.number, self.length, self.limit) = (store, upload, number, length, limit)
        self.isResumable = isResumable
    }

    /// The next bytes. Those without a digest count when they are written.
    package func write(_ bytes: [UInt8]) throws(DropError) {
        try upload.state.withLock { state throws(DropError) in
            let file = try file(state)
            guard !bytes.isEmpty else { return }
            guard UInt64(bytes.count) <= limit - min(limit, state.written) else { throw .tooLong(limit: limit) }
            try dropping { () throws(SystemCallError) in try file.descriptor.write(bytes, at: state.written) }
            bytes.withUnsafeBytes { buffer in
                state.hasher?.update(buffer)
                state.check?.hasher.update(buffer)
            }
            state.written += UInt64(bytes.count)
            upload.received.withLock { $0 = store.seconds }
            if state.check == nil { state.offset = state.written }
            let isDue = state.written - max(state.synced, state.writing) >= Self.pace.bytes
            if state.check != nil || !isResumable {
                // Written back meanwhile, so that the sync at its end is short.
                guard isDue else { return }
                file.descriptor.startWriting()
                state.writing = state.written
                try store.checkRoom()
            } else if isDue || monotonicNanoseconds() - state.lastSync >= Self.pace.time {
                try store.sync(upload, &state)
                try store.checkRoom()
            }
        }
    }

    /// All bytes came, or with `isCut` the connection broke: makes durable what counts and returns its end. Bytes with a digest
    /// count if all came and it is theirs.
    package func finish(isCut: Bool = false) throws(DropError) -> UInt64 {
        try upload.state.withLock { state throws(DropError) in
            try accept(&state, isCut: isCut)
            try store.sync(upload, &state)
            return state.synced
        }
    }

    /// The same for bytes that may be the last, as `isLast` or the upload's length says: returns whether they are. Those are left to
    /// ``DropStore/complete(_:)``, which makes them durable with their name.
    package func finish(isLast: Bool?) throws(DropError) -> Bool {
        try upload.state.withLock { state throws(DropError) in
            try accept(&state, isCut: false)
            let isAll = isLast ?? (state.offset == length)
            if !isAll { try store.sync(upload, &state) }
            return isAll
        }
    }

    private func accept(_ state: inout LiveUpload.State, isCut: Bool) throws(DropError) {
        _ = try file(state)
        guard let check = state.check else { return }
        if isCut || check.hasher.hash() != check.expected {
            try dropping { () throws(SystemCallError) in try state.withdraw() }
            if !isCut { throw .wrongDigest }
        } else {
            state.check = nil
            state.offset = state.written
        }
    }

    private func file(_ state: LiveUpload.State) throws(DropError) -> SharedFile {
        guard state.writer == number, let file = state.file else { throw .superseded }
        return file
    }
}
