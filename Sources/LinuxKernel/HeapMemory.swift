import CLinux

/// What the process's heap holds that nobody uses. Any thread. Without effect where the C library is not glibc.
public enum HeapMemory {
    /// From now on little of it stays with the process: for programs that have a few large tables, which grow, and that
    /// allocate little in several threads at once. Early, before there are threads. See mallopt(3).
    ///
    /// Large blocks are mapped one by one (M_MMAP_THRESHOLD), so that they are the kernel's as soon as they are free. Left
    /// alone, glibc stops that when the first is freed, and a table that grows frees one each time: from then on all of up
    /// to that size are cut from the heap. And threads share two heaps (M_ARENA_MAX), since each keeps its end, up to
    /// 128 KiB, whatever is given back of the rest.
    public static func keepSmall() { clinux_keep_heap_small(128 << 10, 2) }

    /// Gives back what is free now, whole pages of it; see malloc_trim(3). Holds up allocations of other threads meanwhile.
    public static func giveBackWhatIsFree() { clinux_trim_heap() }
}
