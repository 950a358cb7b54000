import Glibc
import TestSupport
import Testing

private let archive = SystemdBox.repository + "/.build/tools/archive/Packages"
private let programs = [
    "photoinboxd", "photoinbox", "photoinbox-decoder", "photoinbox-fetch", "photoinbox-web", "photoinbox-drop",
]
private let obstacle =
    SystemdBox.obstacle ?? BuiltPrograms.obstacle
    ?? (programs.allSatisfy { access("\(BuiltPrograms.directory)/\($0)", X_OK) == 0 }
        ? nil : "skipped: not all programs are built in \(BuiltPrograms.directory)")
    ?? (access(archive, R_OK) == 0
        ? nil : "skipped: the packages that guides install are not fetched (scripts/deps test)")

extension WithSystemd {
    /// The commands of docs/guides, run as they stand there.
    @Suite("The guides", .enabled(if: obstacle == nil, Comment(rawValue: obstacle ?? "")))
    struct Guides {
        let box = SystemdBox(options: [
            "--show", "\(BuiltPrograms.directory):/photo-inbox-built", "--timeout", "400",
        ])

        @Test(
            "What a page says can be pasted, and does it", .timeLimit(.minutes(60)),
            arguments: [
                "guide-backup.sh", "guide-coming-from.sh", "guide-containers.sh", "guide-nas.sh", "guide-people.sh",
                "guide-postgresql.sh", "guide-servers.sh", "guide-several-hosts.sh", "guide-tutorial.sh",
            ])
        func page(script: String) async throws {
            let report = try await box.run(script: script)
            #expect(report.status == 0 && report.passed.last == "all of it was followed", "\(report.output)")
            if let cost = report.value(of: "photo dropped over Samba, SFTP and FTP") { print(cost) }
        }
    }
}
