import Dispatch
import FileValues
import Filing
import LinuxKernel

/// An upload that receives bytes: its part, and one writer at a time. Calls wait for the disk.
final class LiveUpload: Sendable {
    struct State {
        /// Nil when it is whole, or over.
        var file: HeldDescriptor?
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
        var hasher: PartHasher?
        /// Of the bytes behind `offset`, with the digest that they must have, and the hasher before them. Nil for those of an upload's
        /// beginning, which have the upload's.
        var check: (hasher: PartHasher?, expected: ContentHash, before: ContentHasher?)?
        var lastSync = monotonicNanoseconds()

        /// What was not durable is not known to be there: it must come again. See `syncPart`.
        mutating func fallBack() throws(SystemCallError) {
            try file?.descriptor.cut(to: synced)
            (offset, written, writing, check, hasher) = (
                synced, synced, synced, nil, synced == 0 ? PartHasher() : nil
            )
            writer += 1
        }

        /// Cuts off what does not count.
        mutating func withdraw() throws(SystemCallError) {
            if let check { hasher = check.before.map { PartHasher($0) } }
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
    init(_ id: UploadID, _ file: HeldDescriptor, offset: UInt64, isNew: Bool) {
        self.id = id
        var state = State(file: file, offset: offset, written: offset, synced: offset)
        if isNew { state.hasher = PartHasher() } else { state.isNamed = true }
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
    /// After so many bytes the kernel begins to write, so that a sync is short.
    private static let ahead: UInt64 = 4 << 20

    init(
        _ store: DropStore, _ upload: LiveUpload, number: Int, length: UInt64?, limit: UInt64, isResumable: Bool
    ) {
        (self.store, self.upload, self.number, self.length, self.limit) = (store, upload, number, length, limit)
        self.isResumable = isResumable
    }

    /// The next bytes. Those without a digest count when they are written.
    package func write(_ bytes: some Collection<UInt8> & Sendable) throws(DropError) {
        try upload.state.withLock { state throws(DropError) in
            let file = try file(state)
            guard !bytes.isEmpty else { return }
            guard UInt64(bytes.count) <= limit - min(limit, state.written) else { throw .tooLong(limit: limit) }
            try dropping { () throws(SystemCallError) in try Self.write(bytes, to: file, &state) }
            upload.received.withLock { $0 = store.seconds }
            if state.check == nil { state.offset = state.written }
            if state.check == nil, isResumable,
                state.written - state.synced >= Self.pace.bytes
                    || monotonicNanoseconds() - state.lastSync >= Self.pace.time
            {
                try store.sync(upload, &state)
                try store.checkRoom()
            } else if state.writing == state.written {
                try store.checkRoom()
            }
        }
    }

    /// Writes bytes, which are hashed while the next ones come. If they cannot be written, the state is as before.
    private static func write(
        _ bytes: some Collection<UInt8> & Sendable, to file: HeldDescriptor, _ state: inout LiveUpload.State
    ) throws(SystemCallError) {
        let end = state.written + UInt64(bytes.count)
        try bytes.withBytes { bytes throws(SystemCallError) in try file.descriptor.write(bytes, at: state.written) }
        state.hasher?.update(bytes)
        state.check?.hasher?.update(bytes)
        if end - max(state.synced, state.writing) >= ahead {
            file.descriptor.startWriting()
            state.writing = end
        }
        state.written = end
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
        if isCut || (check.hasher ?? state.hasher)?.value.hash() != check.expected {
            try dropping { () throws(SystemCallError) in try state.withdraw() }
            if !isCut { throw .wrongDigest }
        } else {
            state.check = nil
            state.offset = state.written
        }
    }

    private func file(_ state: LiveUpload.State) throws(DropError) -> HeldDescriptor {
        guard state.writer == number, let file = state.file else { throw .superseded }
        return file
    }
}

/// Hashes bytes on a queue of its own, while its caller receives and writes more. One caller at a time.
final class PartHasher: Sendable {
    /// The most pieces that wait to be hashed: more would be held in memory.
    private static let mostWaiting = 2
    /// Fewer bytes are not worth another thread.
    private static let together = 32 << 10

    /// On as many threads as there are processors.
    private let queue = DispatchQueue(label: "photo-inbox.drop.hash", target: .global(qos: .userInitiated))
    private let room = DispatchSemaphore(value: PartHasher.mostWaiting)
    private let hasher: Locked<ContentHasher>

    init(_ hasher: ContentHasher = ContentHasher()) { self.hasher = Locked(hasher) }

    /// The next bytes. Waits while too many wait to be hashed.
    func update(_ bytes: some Collection<UInt8> & Sendable) {
        let step = { @Sendable [hasher] in bytes.withBytes { bytes in hasher.withLock { $0.update(bytes) } } }
        guard bytes.count >= Self.together else { return queue.sync(execute: step) }
        room.wait()
        queue.async { [self] in
            step()
            room.signal()
        }
    }

    /// Of all bytes so far. Waits until they are hashed.
    var value: ContentHasher { queue.sync { hasher.withLock { $0 } } }
}

extension Collection<UInt8> {
    fileprivate func withBytes<Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure)
    {
        let result = withContiguousStorageIfAvailable { bytes in
            Result { () throws(Failure) in try body(UnsafeRawBufferPointer(bytes)) }
        }
        if let result { return try result.get() }
        let copy = Array(self)
        try copy.withUnsafeBytes { bytes in Result { () throws(Failure) in try body(bytes) } }.get()
    }
}
