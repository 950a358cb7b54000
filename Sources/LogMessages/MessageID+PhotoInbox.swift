package import Systemd

/// The identifiers of photo-inbox's log messages. Random UUIDs that are never changed or reused, because saved queries
/// and alerts depend on them.
extension MessageID {
    /// The daemon has read its configuration, watches its inboxes and files photos.
    package static let ready = MessageID(0xeea5_0aa7_2c2f_48b3, 0x8ac1_6e92_2d6f_64d3)
    /// The daemon has released all resources and ends.
    package static let stopped = MessageID(0xaf89_6049_368c_4fe0, 0xb177_3f88_be80_e13f)
    /// A configuration was read and is in force.
    package static let configurationLoaded = MessageID(0xea55_a827_a681_4ad6, 0xaff2_7159_ed01_a56e)
    /// A configuration was invalid; the old one stays in force.
    package static let configurationRefused = MessageID(0x47e8_a126_409f_452f, 0x9c6c_8b17_7193_2410)
    /// A photo or set is in the library, durably.
    package static let filed = MessageID(0x43e0_849f_a2b8_46df, 0x9877_7912_e5ad_57ae)
    /// A photo was in the library already.
    package static let duplicate = MessageID(0x55f1_dfa6_4a71_4bd4, 0xa46f_d62a_42e4_92e7)
    /// An arrival is not complete, or could not be filed, and will be retried.
    package static let deferred = MessageID(0x48e7_87d8_6238_41a1, 0xb588_3136_4155_2550)
    /// An arrival was set aside for a person.
    package static let quarantined = MessageID(0xa703_9b91_b26d_4077, 0x99c2_ad45_96aa_ee4b)
    /// A file was left in its inbox by rule.
    package static let ignored = MessageID(0xfc61_7749_2640_4e78, 0xbcea_475e_f64c_05d9)
    /// An arrival was removed or renamed before it was filed.
    package static let withdrawn = MessageID(0xd35b_ebba_5d1d_4dae, 0xab04_7b7a_b0cc_2886)
    /// A person released a quarantined file.
    package static let released = MessageID(0x9942_9e39_2629_4872, 0x9534_2cbc_89a1_5637)
    /// A filing was undone.
    package static let undone = MessageID(0xcd98_a501_dbcc_465e, 0x8382_f7cd_4c5b_528e)
    /// A photo was moved to a bucket.
    package static let stored = MessageID(0x9451_f41d_47a4_4478, 0xa52e_1247_4942_6535)
    /// A summary of many outcomes.
    package static let importSummary = MessageID(0xb074_9259_388d_4759, 0xaa60_2643_db81_95c4)
    /// A copy in the library is not what was filed.
    package static let damageFound = MessageID(0x6193_aeb0_61b0_4112, 0xa25a_ace7_c417_4195)
    /// A problem began.
    package static let problemRaised = MessageID(0x465d_2d27_e070_4ad6, 0xa662_e8a7_1b4b_8c4c)
    /// A problem is over.
    package static let problemCleared = MessageID(0x10e4_0c14_b4f4_4945, 0xb96e_ef82_93d5_0618)
    /// The daemon's state was dumped.
    package static let stateDumped = MessageID(0x6aac_71a0_5096_4150, 0xb20b_a874_164d_aec6)

    /// A person discarded a file that was set aside: it is in the trash.
    package static let discarded = MessageID(0xe1bc_8491_97b2_4655, 0xb7bf_3de8_71e9_213a)
    /// Discarded files were deleted from the trash after their time.
    package static let trashExpired = MessageID(0xf7c2_4a0a_75de_4e03, 0x990c_fcc4_299e_5792)
    /// A person paused an inbox.
    package static let paused = MessageID(0x3456_d2de_aa3b_4519, 0x8138_13cc_2c92_2e07)
    /// A person resumed an inbox.
    package static let resumed = MessageID(0x71af_fe31_ea20_46d0, 0x86da_11a0_34e6_b6c7)
    /// A person requested a rescan of an inbox or a file.
    package static let rescanAsked = MessageID(0x23fc_ddb4_fb3a_4c57, 0x9639_7c77_9f4c_aac4)
    /// A person requested a retry of deferred files.
    package static let retryAsked = MessageID(0x6680_28ea_3b4d_4679, 0xa0a6_7a6a_7fe1_5fa9)
    /// A line of a hook's output.
    package static let hookOutput = MessageID(0x1b3e_3882_a09e_4e51, 0xbd19_61c1_635b_90cc)
    /// A run of a hook ended.
    package static let hookEnded = MessageID(0x93c5_4b79_535b_4928, 0xbb54_1157_a5c6_098d)
    /// A hook failed too often on a file and is not run for it again.
    package static let hookPassedOver = MessageID(0x950f_c8fe_e44f_4c7e, 0xada2_38f5_0a28_e795)
    /// The downloads of a file of links have ended.
    package static let linksFetched = MessageID(0xb67e_c7cb_3f68_4011, 0xa3a7_eca9_81ba_7f52)
    /// No address of a file of links can be fetched.
    package static let linksRefused = MessageID(0xb37f_67c6_bb6d_4170, 0xaf7b_2303_994c_a0a1)

    /// A card was mounted, and its import begins.
    package static let cardFound = MessageID(0x2d49_f758_4326_4bb1, 0xa3a5_0e25_1e6f_e836)
    /// All new files of a card, if any, are in its inbox.
    package static let cardImported = MessageID(0x4ab7_f59a_c572_41df, 0x9c12_1095_3f01_d200)
    /// The import of a card ended before all files were copied.
    package static let cardIncomplete = MessageID(0xfd56_4505_9cb6_42bd, 0x8c18_84d4_71ac_49c3)

    /// All identifiers with their names, for the message catalogue and the documentation.
    package static let all: [(name: String, id: MessageID)] = [
        ("ready", ready),
        ("stopped", stopped),
        ("configurationLoaded", configurationLoaded),
        ("configurationRefused", configurationRefused),
        ("filed", filed),
        ("duplicate", duplicate),
        ("deferred", deferred),
        ("quarantined", quarantined),
        ("ignored", ignored),
        ("withdrawn", withdrawn),
        ("released", released),
        ("undone", undone),
        ("stored", stored),
        ("importSummary", importSummary),
        ("damageFound", damageFound),
        ("problemRaised", problemRaised),
        ("problemCleared", problemCleared),
        ("stateDumped", stateDumped),
        ("discarded", discarded),
        ("trashExpired", trashExpired),
        ("paused", paused),
        ("resumed", resumed),
        ("rescanAsked", rescanAsked),
        ("retryAsked", retryAsked),
        ("entriesDropped", entriesDropped),
        ("lifecycleViolation", lifecycleViolation),
        ("handlerFailed", handlerFailed),
        ("hookOutput", hookOutput),
        ("hookEnded", hookEnded),
        ("hookPassedOver", hookPassedOver),
        ("cardFound", cardFound),
        ("cardImported", cardImported),
        ("cardIncomplete", cardIncomplete),
        ("linksFetched", linksFetched),
        ("linksRefused", linksRefused),
    ]
}
