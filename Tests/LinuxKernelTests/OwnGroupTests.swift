import Testing

@testable import LinuxKernel

@Test(
    "A group is dedicated if it is a service's or has its user's name",
    arguments: [
        (UInt32(0), "root", "root", true), (998, "_photoinbox", "_photoinbox", true), (33, "www-data", "users", true),
        (1000, "ana", "ana", true), (1000, "ana", "users", false), (1000, nil, nil, false),
        (65_534, "nobody", "nogroup", false),
    ] as [(UInt32, String?, String?, Bool)])
func dedicatedGroups(user: UInt32, name: String?, group: String?, isDedicated: Bool) {
    #expect(LinuxKernel.isDedicated(user: user, named: name, group: group) == isDedicated)
}
