import CommandContact
import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting
import SystemPackage
import WebAccounts

/// `photoinbox web link …`: what is done with the links of guests.
enum GuestLinkTask {
    case list
    case add(String)
    case remove(String)

    /// The end of a day, `2026-12-31`, or a time, `2026-12-31T18:00`, both local, in seconds since 1970; nil if it is neither, or has
    /// passed.
    static func end(_ text: String, now: Int64 = Int64(time(nil))) -> Int64? {
        guard text.first?.isNumber == true, text.contains("-"), let moment = SinceText(text)?.moment(now: now) else {
            return nil
        }
        var end = moment
        if !text.contains("T") {
            var (parts, start) = (tm(), time_t(moment))
            guard localtime_r(&start, &parts) != nil else { return nil }
            parts.tm_mday += 1
            parts.tm_isdst = -1
            end = Int64(mktime(&parts))
        }
        return end > now ? end : nil
    }

    func run(_ file: BytePath, until: String?, quota: UInt64?, address: String) throws {
        switch self {
        case .list: try list(file)
        case .add(let label):
            // Checked with the arguments.
            guard let end = until.flatMap({ Self.end($0) }) else { return }
            try add(label, end, quota, address, to: file)
        case .remove(let label):
            let lock = try SetupLock(of: file, against: "photoinbox web link")
            defer { withExtendedLifetime(lock) {} }
            var links = try read(file)
            guard links.remove(label) else { throw CommandFailure(.noMatch, "there is no link \(printable(label))") }
            try write(links, to: file)
            try printOut("removed \(label)\n")
        }
    }

    private func add(_ label: String, _ end: Int64, _ quota: UInt64?, _ address: String, to file: BytePath) throws {
        let lock = try SetupLock(of: file, against: "photoinbox web link")
        defer { withExtendedLifetime(lock) {} }
        var links = try read(file)
        let (isNew, token) = (links[label] == nil, Secret())
        links.put(GuestLink(label: label, token: token.hash, end: end, quota: quota))
        try write(links, to: file)
        try printOut(
            "\(isNew ? "added" : "changed") \(label). Until \(Self.text(end)), photos\(Self.text(quota)) are sent at\n"
                + "\(address)d/\(token.text)/\n"
                + "Whoever has the link can send photos, and sees what others sent by it, nothing else.\n")
    }

    private func list(_ file: BytePath) throws {
        let links = try read(file).all
        if links.isEmpty {
            throw CommandFailure(
                .noMatch, "there are no links", action: "Add one: photoinbox web link add LABEL --until DATE")
        }
        let now = Int64(time(nil))
        var table = TextTable([("LINK", .left), ("UNTIL", .left), ("QUOTA", .left)])
        for link in links {
            table.add([
                link.label, Self.text(link.end) + (link.end <= now ? ", ended" : ""),
                link.quota.map { HumanText.bytes($0) } ?? "none",
            ])
        }
        try printOut(table.rendered(Terminal.style(.never)))
    }

    private static func text(_ end: Int64) -> String {
        let clock = LocalClock(at: end)
        return "\(clock.date(end)) \(clock.timeOfDay(end))"
    }

    private static func text(_ quota: UInt64?) -> String { quota.map { " of \(HumanText.bytes($0)) in all" } ?? "" }

    private func read(_ file: BytePath) throws -> GuestLinks {
        let bytes: [UInt8]
        do throws(SystemCallError) { bytes = try content(of: file) } catch {
            if error.code == .noSuchFileOrDirectory { return GuestLinks() }
            throw error
        }
        do throws(GuestLinks.WrongLine) { return try GuestLinks(String(decoding: bytes, as: UTF8.self)) } catch {
            throw CommandFailure(.configuration, "\(file): \(error)", action: "Correct that line.")
        }
    }

    /// Readable for all: it has nothing that can be used.
    private func write(_ links: GuestLinks, to file: BytePath) throws {
        try openDirectory(file.parent).put(Array(links.text.utf8), as: file.name, mode: 0o644, durably: true)
    }
}
