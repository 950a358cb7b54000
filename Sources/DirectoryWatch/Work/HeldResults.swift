/// Results of file work that wait until the events that were queued before them have been applied.
///
/// What a lookup saw may be newer than the events that were read so far: the close that it saw may still wait in the
/// kernel's queue, to be applied later for another one. Once the queue has been read past the place where it ended when
/// the result came, every event that was queued before the lookup has been applied, and every one that comes is newer.
/// A value without I/O.
struct HeldResults<Result> {
    /// Each with the bytes of the queue that are still to be read before it. Ascending, since the queue is read in order.
    private var held: [(bytes: Int, result: Result)] = []

    /// Adds a result that came while so many bytes of records were queued; returns it if nothing is to be waited for.
    mutating func add(_ result: Result, queued bytes: Int) -> Result? {
        if held.isEmpty, bytes == 0 { return result }
        // None overtakes another: the results of a root are one history.
        held.append((max(bytes, held.last?.bytes ?? 0), result))
        return nil
    }

    /// So many bytes of records were applied; returns the results that waited for no more, in their order.
    mutating func advance(by bytes: Int) -> [Result] {
        if held.isEmpty { return [] }
        for place in held.indices { held[place].bytes -= bytes }
        let due = held.prefix { $0.bytes <= 0 }.map(\.result)
        held.removeFirst(due.count)
        return due
    }
}
