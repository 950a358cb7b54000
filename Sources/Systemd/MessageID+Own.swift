/// The identifiers of these libraries' messages. Random UUIDs that are never changed or reused, because saved queries
/// and alerts depend on them.
extension MessageID {
    /// Entries were lost because a sink did not accept them.
    public static let entriesDropped = MessageID(0x8bfa_242f_eab9_47eb, 0xa40c_283b_a4b8_2fd3)
    /// A rule of a monitor's lifecycle was broken; the process ends.
    public static let lifecycleViolation = MessageID(0xc4cc_fd85_5eb5_4ee4, 0x91f0_4dd3_af19_bcd0)
    /// An event handler threw, and its monitor is disabled.
    public static let handlerFailed = MessageID(0x6f32_f701_953e_4060, 0xa317_8461_66d1_2253)
}
