import CLinux

extension OwnedDescriptor {
    /// Locks one byte at `offset` of this open file, which may be a directory, for reading: an open file description lock
    /// of fcntl(2), until this is closed. False on a file system without such locks, or if another has it for writing.
    package func lockByte(at offset: UInt64) -> Bool { clinux_lock_byte(raw, offset) == 0 }

    /// Whether another open file has locked any other byte.
    package func isLockedElsewhere(thanAt offset: UInt64) -> Bool { clinux_is_locked_elsewhere(raw, offset) == 1 }
}
