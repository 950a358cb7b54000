import CLinux
public import FileValues
import Glibc
import SystemPackage

// The content and attributes of an open file. All calls pass an offset; the descriptor's position is not used.

extension OwnedDescriptor {
    /// Reads up to `buffer.count` bytes at `offset`; 0 at the end of the file. See pread(2).
    public borrowing func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(SystemCallError) -> Int {
        guard let start = off_t(exactly: offset) else { throw SystemCallError("pread", .invalidArgument) }
        let number = raw
        return try systemCall("pread") { pread(number, buffer.baseAddress, buffer.count, start) }
    }

    /// The `count` bytes at `offset`; fewer at the end of the file.
    package borrowing func read(_ count: Int, at offset: UInt64 = 0) throws(SystemCallError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let (number, start) = (raw, off_t(clamping: offset))
        bytes.removeLast(count - (try systemCall("pread") { pread(number, &bytes, count, start) }))
        return bytes
    }

    /// Writes all of `buffer` at `offset`. See pwrite(2).
    public borrowing func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(SystemCallError) {
        try writeAll(buffer, at: offset, to: raw)
    }

    /// Writes all of `bytes` at `offset`.
    public borrowing func write(_ bytes: [UInt8], at offset: UInt64) throws(SystemCallError) {
        // The rethrowing buffer call would lose the error's type, so its result is passed as a value.
        let number = raw
        let result: Result<Void, SystemCallError> = bytes.withUnsafeBytes { buffer in
            do throws(SystemCallError) { return .success(try writeAll(buffer, at: offset, to: number)) } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// Sets the length to `length` bytes. See ftruncate(2).
    public borrowing func cut(to length: UInt64) throws(SystemCallError) {
        guard let end = off_t(exactly: length) else { throw SystemCallError("ftruncate", .invalidArgument) }
        let number = raw
        try systemCall("ftruncate") { ftruncate(number, end) }
    }

    /// Makes content and attributes, or a directory's entries, durable; see fsync(2).
    ///
    /// Never retried, not even after EINTR: a failed fsync may have dropped the pages that it could not write and
    /// marked them clean, so that the next one would succeed without them. After an error the copy must be discarded.
    public borrowing func sync() throws(SystemCallError) {
        guard fsync(raw) == 0 else { throw SystemCallError("fsync", Errno(rawValue: errno)) }
    }

    /// Makes this directory's entries durable: by fsync(2), or by syncfs(2) if the file system cannot sync directories
    /// (vboxsf, 9p). Never retried, as ``sync()``.
    public borrowing func syncDirectory() throws(SystemCallError) {
        do { try sync() } catch {
            guard [.invalidArgument, .notSupported, .noFunction].contains(error.code) else { throw error }
            guard clinux_sync_file_system(raw) == 0 else { throw SystemCallError("syncfs", Errno(rawValue: errno)) }
        }
    }

    /// Starts writing changed pages without waiting, so that a later sync has less to do. Gives no guarantee; errors
    /// are left to that sync. See sync_file_range(2).
    public borrowing func startWriting() { _ = clinux_start_writing(raw) }

    /// Asks the kernel to read the first `length` bytes ahead; advice only. See posix_fadvise(2).
    public borrowing func adviseReadingSoon(length: UInt64) {
        _ = posix_fadvise(raw, 0, off_t(clamping: length), POSIX_FADV_WILLNEED)
    }

    /// Shares the blocks of `source` as this file's content, if both are on one file system that supports it; otherwise
    /// throws EOPNOTSUPP, EXDEV, EINVAL or ENOTTY. See ioctl_ficlone(2).
    public borrowing func clone(from source: borrowing OwnedDescriptor) throws(SystemCallError) {
        let (to, from) = (raw, source.raw)
        try systemCall("ioctl FICLONE") { clinux_clone_file(to, from) }
    }

    /// Copies up to `length` bytes at `offset` to the same offset here, inside the kernel; 0 at the end of `source`.
    /// See copy_file_range(2).
    public borrowing func copyRange(
        from source: borrowing OwnedDescriptor, at offset: UInt64, length: UInt64
    ) throws(SystemCallError) -> UInt64 {
        let (to, from) = (raw, source.raw)
        return UInt64(try systemCall("copy_file_range") { clinux_copy_range(from, to, offset, length) })
    }

    /// Announces reading from start to end; advice only. See posix_fadvise(2).
    public borrowing func adviseSequentialReading() {
        _ = posix_fadvise(raw, 0, 0, POSIX_FADV_SEQUENTIAL)
    }

    /// Asks the kernel to drop the file's clean pages, so that the next read comes from the medium (or its own cache).
    /// Advice only. See posix_fadvise(2).
    public borrowing func dropCachedPages() {
        _ = posix_fadvise(raw, 0, 0, POSIX_FADV_DONTNEED)
    }

    /// The parts of the first `size` bytes without data on the medium: holes, or preallocated space that is not written
    /// yet. The first 1,024 of them, in order; empty also if the file system does not track them. See lseek(2),
    /// SEEK_HOLE.
    public borrowing func holes(size: UInt64) throws(SystemCallError) -> [Range<UInt64>] {
        var holes: [Range<UInt64>] = []
        var position: UInt64 = 0
        while position < size, holes.count < 1_024 {
            guard let start = try seek(from: position, clinux_next_hole), start < size else { break }
            // ENXIO: a hole up to the end of the file.
            let end = min(size, try seek(from: start, clinux_next_data) ?? size)
            guard end > start else { break }
            holes.append(start..<end)
            position = end
        }
        return holes
    }

    /// Nil for EINVAL, unsupported, and for ENXIO: nothing of the kind before the end, or the file was truncated since
    /// its size was read, which its identity shows.
    private borrowing func seek(
        from offset: UInt64, _ call: (Int32, UInt64) -> Int64
    ) throws(SystemCallError) -> UInt64? {
        let number = raw
        do {
            return UInt64(try systemCall("lseek") { call(number, offset) })
        } catch  where error.code == .invalidArgument || error.code == .noSuchAddressOrDevice {
            return nil
        }
    }

    /// Gives a file that root created in a user's directory to that directory's owner and group, who could not change
    /// it otherwise. Does nothing unless run by root.
    package borrowing func giveToOwner(of directory: borrowing OwnedDescriptor) throws(SystemCallError) {
        guard geteuid() == 0 else { return }
        let (wanted, own) = (try FileStatus(of: directory), try FileStatus(of: self))
        // The owner of another hard link is unknown.
        guard own.kind == .directory || own.links == 1 else { return }
        if (wanted.user, wanted.group) != (own.user, own.group) {
            try setOwner(user: wanted.user, group: wanted.group)
        }
    }

    /// Sets owner and group; nil leaves one unchanged. See fchown(2).
    public borrowing func setOwner(user: UInt32?, group: UInt32?) throws(SystemCallError) {
        let number = raw
        try systemCall("fchown") { fchown(number, user ?? .max, group ?? .max) }
    }

    /// Sets the permission bits, whatever the umask is. See fchmod(2).
    public borrowing func setMode(_ mode: UInt32) throws(SystemCallError) {
        let number = raw
        try systemCall("fchmod") { fchmod(number, mode_t(mode)) }
    }

    /// The same, without set-user-ID, set-group-ID and sticky bit if they are refused, as under RestrictSUIDSGID= of
    /// systemd.exec(5); those that a directory got from its parent stay, where its file system has access lists.
    public borrowing func setModeOrLess(_ mode: UInt32) throws(SystemCallError) {
        do throws(SystemCallError) { try setMode(mode) } catch {
            guard error.code == .notPermitted, mode & 0o7000 != 0 else { throw error }
            // fchmod(2) would clear them; a list sets the permission bits and leaves these.
            if try FileStatus(of: self).mode & 0o7000 == mode & 0o7000 {
                let list = attribute(AccessList.ofFile, most: 4_096).flatMap { AccessList(attribute: $0) }
                let changed = (list ?? AccessList(mode: mode)).changed(to: mode)
                // Some file systems store the attribute without effect.
                if setAttribute(AccessList.ofFile, changed.attribute),
                    try FileStatus(of: self).mode & 0o7777 == mode & 0o7777
                {
                    return
                }
            }
            try setMode(mode & 0o777)
        }
    }

    /// Sets the modification time and leaves the access time. See futimens(3).
    public borrowing func setModified(_ time: FileTime) throws(SystemCallError) {
        let number = raw
        // UTIME_OMIT, a macro that Swift does not import; the value is part of the kernel's interface.
        let omit = (1 << 30) - 2
        let times = [
            timespec(tv_sec: 0, tv_nsec: omit),
            timespec(tv_sec: time_t(time.seconds), tv_nsec: Int(time.nanoseconds)),
        ]
        try systemCall("futimens") { futimens(number, times) }
    }
}

private func writeAll(_ buffer: UnsafeRawBufferPointer, at offset: UInt64, to number: Int32) throws(SystemCallError) {
    var done = 0
    while done < buffer.count {
        guard let start = off_t(exactly: offset + UInt64(done)) else { throw SystemCallError("pwrite", .fileTooLarge) }
        let rest = UnsafeRawBufferPointer(rebasing: buffer[done...])
        done += try systemCall("pwrite") { pwrite(number, rest.baseAddress, rest.count, start) }
    }
}
