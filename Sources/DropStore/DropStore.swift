package import FileValues
package import Filing
import Glibc
package import LinuxKernel
import SystemPackage

/// Uploads into one inbox, from their first byte to their name. Any thread; calls wait for the disk.
///
/// No file has a name in the inbox before all its bytes are there, right and durable, and no name is replaced; see
/// docs/decisions/0061. Locks are used in this order: placement, upload, books, ledger.
package final class DropStore: Sendable {
    package struct Options: Sendable {
        /// What must stay free on the inbox's file system.
        package var minFree: UInt64 = 1 << 30
        /// How long an upload that nobody continues is kept, in seconds.
        package var keep: Int64 = 7 * 86_400
        /// How long whole files wait for others of their set, in seconds.
        package var setPatience: Int64 = 600
        /// The most rows of a device's listing, and of these folders.
        package var listed = (rows: 100_000, folders: 4_096)
        package var clock: @Sendable () -> ClockReading = { .now }
        /// The local date, for directories.
        package var today: @Sendable () -> String = { LocalClock.today() }
        /// Writes a line for the administrator.
        package var log: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    /// What the ledger says, and which uploads are in memory.
    struct Books {
        var table: UploadTable
        var live: [UploadID: LiveUpload] = [:]
    }

    package static let directory: BytePath = ".photo-inbox-drop"
    /// A ledger of this size is written anew if most of it is outdated.
    private static let ledgerSize: UInt64 = 4 << 20
    /// The most whole files of one owner that wait for others of their sets, and the most that are held.
    private static let mostWaiting = 1_000
    /// After so many seconds without a byte an upload makes room for another, where its owner has too many.
    private static let idlePatience: Int64 = 600

    private let path: BytePath
    let root: OwnedDescriptor
    let hidden: OwnedDescriptor
    let options: Options
    let ledger: LineFile<LedgerLine>
    let books: Locked<Books>
    let placement: Placement
    let listings = Locked(Listings())
    /// A clock reading, and the counted seconds at it.
    private let origin: (reading: ClockReading, seconds: Int64)
    /// What an administrator should know of the start.
    package let remarks: [String]

    /// Opens the store of the inbox at `path`, and finishes what a crash interrupted. Throws EWOULDBLOCK while another program
    /// has it, and EOPNOTSUPP where the file system cannot give a name without replacing another.
    package init(_ path: BytePath, _ options: Options = Options()) throws {
        self.options = options
        self.path = path
        root = try openDirectory(path)
        hidden = try root.openHidden(of: path)
        let trial = try FileSystemTrial(in: hidden, path: path)
        guard trial.means.contains(.renameNoReplace) else {
            throw SystemCallError("renameat2", .notSupported, path: path)
        }
        placement = Placement(InboxAttributes(root: try FileStatus(of: root)), trial)
        ledger = try LineFile("ledger", in: hidden)
        var table = UploadTable()
        var last: Int64 = 0
        let reading = options.clock()
        let content = try ledger.read { line in
            last = max(last, line.time)
            // What does not fit was said of an upload that had ended meanwhile, or behind damage.
            _ = table.apply(line)
            if case .clock(let then) = line.entry {
                last = max(last, line.time + reading.elapsed(since: then) / 1_000_000_000)
            }
        }
        origin = (reading, last)
        let start = try StoreRecovery(of: table, in: hidden, of: root, damaged: content.damaged)
        remarks = start.remarks
        books = Locked(Books(table: table))
        if content.damaged > 0 || content.isTorn { try ledger.replace(table.lines, in: hidden) }
        try record([.clock(reading)] + start.entries)
        if !start.entries.isEmpty { try ledger.sync() }
        for part in start.outdated {
            do { try hidden.unlink(part) } catch { options.log("\(Self.directory)/\(part) stays: \(error)") }
        }
        for part in start.unknown { try hidden.keep(part.id, as: part.name) }
        tidy()
    }

    // A child that is being started may have a descriptor of it for a moment, and would keep it locked.
    deinit { flock(hidden.raw, LOCK_UN) }

    // MARK: - Uploads

    /// Begins an upload.
    package func create(_ new: NewUpload, _ limits: DropLimits = DropLimits()) throws(DropError) -> UploadID {
        if let length = new.length {
            if length == 0 { throw .empty }
            if length > limits.largest { throw .tooLong(limit: limits.largest) }
        }
        if new.length == nil, limits.total != nil { throw .lengthRequired }
        try checkInbox()
        try placement.check(new, in: self)
        try checkRoom(for: new.length ?? 0)
        makeRoom(for: new.owner, limits)
        let id = UploadID()
        let file = try dropping { () throws(SystemCallError) in
            HeldDescriptor(try hidden.openBeneath(id.part, [.readWrite, .createNew], mode: 0o600))
        }
        do throws(DropError) {
            try books.withLock { books throws(DropError) in
                let use = books.table.use(of: new.owner)
                if use.open >= limits.open || use.waiting >= Self.mostWaiting { throw .tooManyOpen }
                if new.name.isHeld, use.held >= Self.mostWaiting { throw .tooManyHeld }
                if let total = limits.total, total - min(total, use.bytes) < new.length ?? 1 { throw .overTotal }
                try dropping { () throws(SystemCallError) in
                    try record([.created(id, new, began: FileTime.now.seconds)], &books)
                }
                books.live[id] = LiveUpload(id, file, offset: 0, isNew: true)
            }
        } catch {
            try? hidden.unlink(id.part)
            throw error
        }
        return id
    }

    /// Ends an upload that nobody continues, where an owner has too many: people leave, and would shut out whoever has the same
    /// link.
    private func makeRoom(for owner: DropOwner, _ limits: DropLimits) {
        let since = seconds - Self.idlePatience
        let idle = books.withLock { books in
            books.table.use(of: owner).open < limits.open
                ? [] : books.table.idle(of: owner, since: since).map { ($0, books.live[$0]) }
        }
        for (id, upload) in idle where upload.map({ $0.received.withLock { $0 } < since }) ?? true {
            if (try? finish(id)) != nil { return }
        }
    }

    /// Ends an upload that nobody continues, or gives it its name: all its bytes may be here, and only the end of its request was
    /// lost.
    private func finish(_ id: UploadID) throws(DropError) {
        let known = try record(id)
        if known.offset > 0, known.offset == known.length, !known.new.name.isHeld {
            _ = try complete(id)
        } else {
            try end(id, .expired)
            if known.isHeldWhole {
                options.log("\(known.words) was sent, was not renamed to a photo's name, and is removed after its time")
            }
        }
    }

    /// Continues an upload at `offset`, and ends a writer that another request has. With `digest`, the bytes that come count only
    /// if they have it; without `isResumable`, nobody asks for those of half a request.
    package func append(
        to id: UploadID, at offset: UInt64, digest: ContentHash? = nil, isResumable: Bool = true,
        _ limits: DropLimits = DropLimits()
    ) throws(DropError) -> UploadWriter {
        let upload = try live(id)
        return try upload.state.withLock { state throws(DropError) in
            try interrupt(upload, &state)
            guard offset == state.synced else { throw .wrongOffset(state.synced) }
            upload.received.withLock { $0 = seconds }
            let known = try record(id)
            let length = known.length
            var limit = length ?? limits.largest
            // Of an upload of unknown length only what came is in use.
            if length == nil, let total = limits.total {
                limit = min(limit, offset + (total - min(total, used(by: known.new.owner))))
            }
            try checkRoom(for: length.map { $0 - min($0, offset) } ?? 0)
            if let digest { state.check = (offset == 0 ? nil : PartHasher(), digest, state.hasher?.value) }
            return UploadWriter(
                self, upload, number: state.writer, length: length, limit: limit, isResumable: isResumable)
        }
    }

    /// What is known of an upload. A writer that has it is ended, since the offset that is reported must stay true.
    package func status(of id: UploadID) throws(DropError) -> UploadRecord {
        if let upload = books.withLock({ $0.live[id] }) {
            try upload.requireIdle()
            try upload.state.withLock { state throws(DropError) in
                if state.file != nil { try interrupt(upload, &state) }
            }
        }
        guard let record = books.withLock({ $0.table[id] }) else { throw .notFound }
        return record
    }

    /// The uploads of one owner, with those that have ended lately.
    package func uploads(of owner: DropOwner) -> [UploadID: UploadRecord] {
        books.withLock { $0.table.uploads.filter { $0.value.new.owner == owner } }
    }

    /// Whether a file has this name in the inbox now; true where that cannot be seen.
    package func isInInbox(_ path: BytePath) -> Bool {
        do throws(SystemCallError) {
            return try !root.openDirectoryBeneath(path.parent).isFree(path.name)
        } catch { return ![.noSuchFileOrDirectory, .notDirectory].contains(error.code) }
    }

    /// How much of an owner's total is used.
    package func used(by owner: DropOwner) -> UInt64 { books.withLock { $0.table.use(of: owner).bytes } }

    /// Announces the length of an upload that began without one.
    package func setLength(_ length: UInt64, of id: UploadID, _ limits: DropLimits = DropLimits()) throws(DropError) {
        let upload = try live(id)
        try upload.state.withLock { state throws(DropError) in
            if length > limits.largest { throw .tooLong(limit: limits.largest) }
            guard length >= state.written else { throw .wrongLength }
            try books.withLock { books throws(DropError) in
                guard let known = books.table[id] else { throw .notFound }
                if let announced = known.length {
                    guard announced == length else { throw .wrongLength }
                    return
                }
                let use = books.table.use(of: known.new.owner)
                let others = use.bytes - known.size
                if let total = limits.total, total - min(total, others) < length { throw .overTotal }
                try dropping { () throws(SystemCallError) in try record([.length(id, length)], &books) }
            }
        }
    }

    /// All bytes of a held upload came.
    package func hold(_ id: UploadID) throws(DropError) {
        let known = try status(of: id)
        if known.length == nil { try setLength(known.offset, of: id) }
        try dropping(ledger.sync)
    }

    /// Gives a held upload, of which all bytes came, a name of its own, and that name in the inbox. May be repeated.
    package func name(_ id: UploadID, _ name: DropName) throws(DropError) -> UploadRecord {
        var known = try record(id)
        // One that has been named before failed.
        if known.phase == .receiving, known.new.name != name {
            known.new.name = name
            try placement.check(known.new, in: self)
            try dropping { () throws(SystemCallError) in try record([.named(id, name)]) }
        }
        return try complete(id)
    }

    /// All bytes came: gives the file its name, durably, or lets it wait for others of its set; nothing for one that is held. May be
    /// repeated after a failure.
    package func complete(_ id: UploadID) throws(DropError) -> UploadRecord {
        let before = try record(id)
        if before.phase == .receiving, before.new.name.isHeld { return before }
        if case .receiving = try record(id).phase { try seal(try live(id)) }
        let companions = books.withLock { $0.table.companions(of: id, since: seconds - options.setPatience) }
        if let companions { try placement.place(companions, in: self) } else { try dropping(ledger.sync) }
        var known = try record(id)
        if case .placing = known.phase {
            // With another of its set, which ended meanwhile.
            placement.lock.withLock { _ in }
            known = try record(id)
        }
        switch known.phase {
        case .placed: return known
        case .whole where companions == nil: return known
        case .ended(let end): throw .ended(end)
        // Its directory could not be synced: whether it has its name is seen at the next start.
        case .receiving, .whole, .placing: throw .system(SystemCallError("fsync", .ioError, path: known.new.name.path))
        }
    }

    /// Makes the bytes of an upload final.
    private func seal(_ upload: LiveUpload) throws(DropError) {
        let id = upload.id
        // Reading it again takes a while.
        upload.received.withLock { $0 = seconds }
        upload.isSealing.withLock { $0 = true }
        defer { upload.isSealing.withLock { $0 = false } }
        try upload.state.withLock { state throws(DropError) in
            guard let file = state.file else { return }
            try dropping { () throws(SystemCallError) in try state.withdraw() }
            let known = try record(id)
            guard state.offset == known.length ?? state.offset else {
                try sync(upload, &state)
                throw .wrongOffset(state.synced)
            }
            guard state.offset > 0 else {
                try end(id, .empty, &state)
                throw .empty
            }
            let digest: ContentHash
            do throws(SystemCallError) {
                if let hasher = state.hasher {
                    digest = hasher.value.hash()
                } else {
                    digest = try hashPart(file.descriptor, state.offset)
                }
            } catch { throw DropError(error) }
            if let wanted = known.new.digest, wanted != digest {
                try end(id, .wrongDigest, &state)
                throw .wrongDigest
            }
            try dropping { () throws(SystemCallError) in
                // What a full disk took of bytes that do not count.
                try file.descriptor.cut(to: state.offset)
                try placement.attributes.set(on: file.descriptor, isDirectory: false)
                // Some file systems have narrower times; the file matters more.
                if let modified = known.new.modified { try? file.descriptor.setModified(modified) }
            }
            try syncPart(upload, file, &state)
            var entries: [LedgerEntry] = known.length == nil ? [.length(id, state.offset)] : []
            entries += [.offset(id, state.offset), .whole(id, digest)]
            try dropping { () throws(SystemCallError) in try record(entries) }
            state.synced = state.offset
            state.writer += 1
            // The daemon waits for files that are open for writing.
            state.file = nil
            books.withLock { $0.live[id] = nil }
        }
    }

    // MARK: - From time to time

    /// Expires what nobody continues, places what waits in vain, and keeps the ledger small. From time to time.
    /// Returns what failed, for the administrator.
    @discardableResult
    package func tidy() -> [String] {
        let now = seconds
        let (abandoned, waiting) = books.withLock { books in
            (books.table.abandoned(since: now - options.keep), books.table.waiting(since: now - options.setPatience))
        }
        var failures: [String] = []
        func attempt(_ what: String, _ body: () throws(DropError) -> Void) {
            do throws(DropError) { try body() } catch { failures.append("\(what): \(error)") }
        }
        for id in abandoned {
            attempt("upload \(id)") { () throws(DropError) in try finish(id) }
        }
        for group in waiting {
            attempt("\(group.count) uploads get no name in the inbox") { () throws(DropError) in
                try placement.place(group, in: self)
            }
        }
        placement.removeEmptyDirectories(of: self)
        try? books.withLock { books throws(SystemCallError) in
            try record([.clock(options.clock())], &books)
            books.table.forget(at: now)
            guard ledger.size > Self.ledgerSize, ledger.lines > 2 * books.table.lineCount else { return }
            try ledger.replace(books.table.lines + [LedgerLine(now, .clock(options.clock()))], in: hidden)
        }
        return failures
    }

    /// At its end: makes durable what came, places what waits for others, and lets another store have the directory.
    package func close() {
        for upload in books.withLock({ Array($0.live.values) }) {
            try? upload.state.withLock { state throws(DropError) in
                if state.file != nil { try interrupt(upload, &state) }
            }
        }
        for group in books.withLock({ $0.table.waiting(since: .max) }) { try? placement.place(group, in: self) }
        flock(hidden.raw, LOCK_UN)
    }

    /// Whether the disk has failed so that nothing can be received before a new start.
    package var isBroken: Bool { ledger.isBroken || listings.withLock { $0.isBroken } }

    /// Whether a whole file waits for others of its set.
    package var isWaiting: Bool { books.withLock { !$0.table.waiting(since: .max).isEmpty } }

    /// Seconds, counted; see docs/decisions/0035.
    package var seconds: Int64 { origin.seconds + options.clock().elapsed(since: origin.reading) / 1_000_000_000 }

    /// In how many seconds an upload expires if nobody continues it.
    package func secondsLeft(of record: UploadRecord) -> Int64 { max(0, record.changed + options.keep - seconds) }

    // MARK: - Steps

    /// Throws if the inbox is not at its path any more: what is put there nobody would see.
    func checkInbox() throws(DropError) {
        let (there, own): (FileStatus, FileStatus)
        do throws(SystemCallError) {
            (there, own) = (try FileStatus(at: path, followingLinks: true), try FileStatus(of: root))
        } catch {
            throw error.code == .noSuchFileOrDirectory ? DropError.inboxGone : DropError(error)
        }
        guard there.identity.inode == own.identity.inode, there.device == own.device else { throw .inboxGone }
    }

    /// How many bytes can be written without falling below what must stay free; nil if that cannot be said.
    package var room: UInt64? {
        (try? FileSystemStatus(of: root).available).map { $0 - min($0, options.minFree) }
    }

    /// Throws if fewer than `bytes` can be written without falling below what must stay free.
    func checkRoom(for bytes: UInt64 = 0) throws(DropError) {
        let available = try dropping { () throws(SystemCallError) in try FileSystemStatus(of: root).available }
        if available < options.minFree || available - options.minFree < bytes { throw .noRoom }
    }

    /// The upload as one that receives bytes, whose part is open.
    private func live(_ id: UploadID) throws(DropError) -> LiveUpload {
        try books.withLock { books throws(DropError) in
            if let upload = books.live[id] {
                try upload.requireIdle()
                return upload
            }
            guard let record = books.table[id] else { throw .notFound }
            switch record.phase {
            case .receiving: break
            case .whole, .placing, .placed: throw .placed
            case .ended(let end): throw .ended(end)
            }
            let file = try dropping { () throws(SystemCallError) in
                let file = HeldDescriptor(try hidden.openBeneath(id.part, .readWrite))
                try file.descriptor.cut(to: record.offset)
                return file
            }
            let upload = LiveUpload(id, file, offset: record.offset, isNew: record.offset == 0)
            books.live[id] = upload
            return upload
        }
    }

    /// Ends the writer: what counts becomes durable, the rest is cut off.
    private func interrupt(_ upload: LiveUpload, _ state: inout LiveUpload.State) throws(DropError) {
        guard state.file != nil else {
            if case .ended(let end) = try record(upload.id).phase { throw .ended(end) }
            throw .placed
        }
        state.writer += 1
        try dropping { () throws(SystemCallError) in try state.withdraw() }
        try sync(upload, &state)
    }

    /// Makes durable what counts, and then what is said of it.
    func sync(_ upload: LiveUpload, _ state: inout LiveUpload.State) throws(DropError) {
        guard let file = state.file, state.offset > state.synced else { return }
        try syncPart(upload, file, &state)
        let entry = LedgerEntry.offset(upload.id, state.offset)
        try dropping { () throws(SystemCallError) in
            try record([entry])
            try ledger.sync()
        }
        state.synced = state.offset
        state.lastSync = monotonicNanoseconds()
    }

    private func syncPart(
        _ upload: LiveUpload, _ file: HeldDescriptor, _ state: inout LiveUpload.State
    ) throws(DropError) {
        var hasFallenBack = false
        do throws(SystemCallError) {
            do throws(SystemCallError) { try file.descriptor.sync() } catch {
                // The file system had no room for what the kernel had taken. What was durable before still is.
                guard error.code == .noSpace || error.code == .diskQuotaExceeded else { throw error }
                try state.fallBack()
                hasFallenBack = true
                throw error
            }
            if !state.isNamed { try hidden.syncDirectory() }
            state.isNamed = true
        } catch {
            // What the part has is unknown, and a second sync would not say.
            if !hasFallenBack { try? end(upload.id, .failed, &state) }
            throw DropError(error)
        }
    }

    /// Ends an upload without a name in the inbox.
    package func end(_ id: UploadID, _ end: UploadEnd = .cancelled) throws(DropError) {
        let upload = books.withLock { $0.live[id] }
        if let upload {
            try upload.state.withLock { state throws(DropError) in
                // It has become whole meanwhile.
                guard state.file != nil else { return }
                try self.end(id, end, &state)
            }
        }
        // Not while it is being placed.
        let late: LiveUpload? = try placement.lock.withLock { _ throws(DropError) in
            switch try record(id).phase {
            // It has become whole meanwhile.
            case .whole where end == .expired: return nil
            case .receiving, .whole: return try finishEnd(id, end)
            case .placing, .placed: throw .placed
            case .ended: return nil
            }
        }
        // A writer that began meanwhile has a part without a name.
        late?.state.withLock { state in
            state.writer += 1
            state.file = nil
        }
    }

    private func end(_ id: UploadID, _ end: UploadEnd, _ state: inout LiveUpload.State) throws(DropError) {
        state.writer += 1
        state.file = nil
        _ = try finishEnd(id, end)
    }

    /// The line is durable before the part is gone: a part that is gone without it was placed.
    private func finishEnd(_ id: UploadID, _ end: UploadEnd) throws(DropError) -> LiveUpload? {
        let known = try record(id)
        try dropping { () throws(SystemCallError) in
            try record([.ended(id, end)])
            try ledger.sync()
            guard end == .failed else { return try hidden.unlink(id.part) }
            let name = hidden.keptName(of: id)
            try hidden.keep(id, as: name)
            options.log("the disk failed: \(Self.directory)/\(name) is what is left of \(known.words), and stays")
        }
        return books.withLock { $0.live.removeValue(forKey: id) }
    }

    /// What is known of an upload, while bytes may come.
    package func record(_ id: UploadID) throws(DropError) -> UploadRecord {
        guard let record = books.withLock({ $0.table[id] }) else { throw .notFound }
        return record
    }

    /// Writes lines, and does what they mean.
    func record(_ entries: [LedgerEntry]) throws(SystemCallError) {
        try books.withLock { books throws(SystemCallError) in try record(entries, &books) }
    }

    private func record(_ entries: [LedgerEntry], _ books: inout Books) throws(SystemCallError) {
        let now = seconds
        let lines = entries.map { LedgerLine(now, $0) }
        try ledger.append(lines)
        for line in lines { _ = books.table.apply(line) }
    }
}

extension OwnedDescriptor {
    /// The store's directory in this inbox, made and locked.
    fileprivate borrowing func openHidden(of inbox: BytePath) throws -> OwnedDescriptor {
        let directory = DropStore.directory
        do throws(SystemCallError) {
            try makeDirectory(directory, mode: 0o700)
            try syncDirectory()
        } catch { guard error.code == .fileExists else { throw error } }
        // Before it is opened, which is forbidden to others.
        let owner = try FileStatus(of: directory, in: self).user
        guard owner == geteuid() else { throw DropStore.OtherOwner(path: inbox.appending(directory), user: owner) }
        let opened = try openDirectoryBeneath(directory)
        try opened.setMode(0o700)
        let number = opened.raw
        try systemCall("flock", path: directory) { flock(number, LOCK_EX | LOCK_NB) }
        return opened
    }

    /// A free name for what is left of an upload. The store is locked, so nobody takes it.
    borrowing func keptName(of id: UploadID) -> BytePath {
        var (name, number) = (id.kept, 1)
        while (try? isFree(name)) == false {
            number += 1
            name = BytePath("\(id)-\(number).kept")
        }
        return name
    }

    /// Keeps the bytes of an upload that cannot go on under a name that no start looks at.
    borrowing func keep(_ id: UploadID, as name: BytePath) throws(SystemCallError) {
        do throws(SystemCallError) {
            try rename(id.part, to: self, as: name)
            try syncDirectory()
        } catch { guard error.code == .noSuchFileOrDirectory else { throw error } }
    }
}

extension DropStore {
    /// The directory in the inbox is another user's, as after `photoinbox web` beside photoinbox-drop.service.
    package struct OtherOwner: Error, Hashable, Sendable, CustomStringConvertible {
        let path: BytePath
        let user: UInt32

        package var description: String {
            let (own, other) = (words(geteuid()), words(user))
            return "\(path) belongs to \(other), who receives photos there, and this program is run by \(own). "
                + "One user alone can: to let it be \(own), end the other's program, and then: "
                + "sudo chown -R \(own) \(path)"
        }

        private func words(_ user: UInt32) -> String { userName(user) ?? "\(user)" }
    }
}

/// The digest of the first `size` bytes of a part.
func hashPart(_ file: borrowing OwnedDescriptor, _ size: UInt64) throws(SystemCallError) -> ContentHash {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    file.adviseSequentialReading()
    var hasher = ContentHasher()
    var done: UInt64 = 0
    while done < size {
        let count = try file.read(into: buffer, at: done)
        if count == 0 { break }
        hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<Int(min(UInt64(count), size - done))]))
        done += UInt64(count)
    }
    return hasher.hash()
}
