import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting
import Settings
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

    func run(in directory: BytePath, until: String?, quota: UInt64?, address: String) throws {
        let editor = AccountEditor<GuestLink>("photoinbox web link", in: directory)
        switch self {
        case .list: try list(editor)
        case .add(let label):
            // Checked with the arguments.
            guard let end = until.flatMap({ Self.end($0) }) else { return }
            let token = Secret()
            let isNew = try editor.change { links in
                defer { links.put(GuestLink(label: label, token: token.hash, end: end, quota: quota)) }
                return links[label] == nil
            }
            try printOut(
                "\(isNew ? "added" : "changed") \(label). Until \(Self.text(end)), photos\(Self.text(quota)) are sent at\n"
                    + "\(address)d/\(token.text)/\n"
                    + "Whoever has the link can send photos, and sees what others sent by it, nothing else.\n")
        case .remove(let label):
            guard try editor.change({ $0.remove(label) }) else {
                throw CommandFailure(.noMatch, "there is no link \(printable(label))")
            }
            try printOut("removed \(label)\n")
        }
    }

    private func list(_ editor: AccountEditor<GuestLink>) throws {
        let links = try editor.read().all
        if links.isEmpty {
            throw CommandFailure(
                .noMatch, "there are no links", action: "Add one: photoinbox web link add LABEL --until DATE")
        }
        let now = Int64(time(nil))
        var table = TextTable([("LINK", .left), ("UNTIL", .left), ("QUOTA", .left)])
        for link in links {
            table.add([
                link.label, Self.text(link.end) + (link.end <= now ? ", ended" : ""),
                link.quota.map { "\(ByteSize(bytes: $0))" } ?? "none",
            ])
        }
        try printOut(table.rendered(Terminal.style(.never)))
    }

    private static func text(_ end: Int64) -> String {
        let clock = LocalClock(at: end)
        return "\(clock.date(end)) \(clock.timeOfDay(end))"
    }

    private static func text(_ quota: UInt64?) -> String { quota.map { " of \(ByteSize(bytes: $0)) in all" } ?? "" }
}
