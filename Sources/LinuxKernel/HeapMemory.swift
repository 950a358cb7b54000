import CLinux

/// Returns unused memory of the heap to the kernel. Any thread. Without effect unless the C library is glibc.
public enum HeapMemory {
    /// Configures the heap to retain little: for programs with a few large, growing tables that allocate little in
    /// several threads at once. To be called before threads exist. See mallopt(3).
    ///
    /// Blocks of `size` bytes and more are mapped singly (M_MMAP_THRESHOLD), so that they return to the kernel when
    /// freed. By default glibc raises that threshold when it frees such a block, as each growth of a table does, and
    /// then cuts blocks up to that size from the heap. Threads share two heaps (M_ARENA_MAX), since each heap retains
    /// up to 128 KiB at its end.
    public static func keepSmall(mapping size: Int32 = 128 << 10) { clinux_keep_heap_small(size, 2) }

    /// Returns whole free pages now; see malloc_trim(3). Blocks allocations of other threads meanwhile.
    public static func giveBackWhatIsFree() { clinux_trim_heap() }
}
