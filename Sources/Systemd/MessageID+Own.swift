/// The kinds of entry that any daemon on these libraries writes. Random UUIDs, made once; never changed and never used
/// again for another kind, because saved queries and alerts hold on to them.
extension MessageID {
    /// Entries were lost because a sink did not take them.
    public static let entriesDropped = MessageID(0x8bfa_242f_eab9_47eb, 0xa40c_283b_a4b8_2fd3)
    /// A monitor was used against its lifecycle; the process ends.
    public static let lifecycleViolation = MessageID(0xc4cc_fd85_5eb5_4ee4, 0x91f0_4dd3_af19_bcd0)
    /// An event handler threw, and its monitor is disabled.
    public static let handlerFailed = MessageID(0x6f32_f701_953e_4060, 0xa317_8461_66d1_2253)
}
