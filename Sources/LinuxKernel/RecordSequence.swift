/// Records of a kernel queue, walked in the raw buffer that one read(2) put them into.
public protocol RecordSequence: Sequence {
    /// The records in `buffer`, which must outlive this value and all that it gives.
    init(_ buffer: UnsafeRawBufferPointer)
    /// Room for one record with the longest name: a read that leaves less may have left records behind.
    static var smallestBuffer: Int { get }
}
