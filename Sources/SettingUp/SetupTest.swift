import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import Filing
import Glibc
import LinuxKernel
import Reporting
import Settings
import SystemPackage

/// A photo that is dropped as one of those who drop, followed to the library, and removed.
struct SetupTest {
    let plan: SetupPlan
    let account: Account
    let name: BytePath
    private let photo: [UInt8]
    private static let pause = timespec(tv_sec: 0, tv_nsec: 250_000_000)

    init(_ plan: SetupPlan, as account: Account) {
        var generator = SystemRandomNumberGenerator()
        let number = generator.next()
        (self.plan, self.account) = (plan, account)
        name = BytePath("photoinbox-setup-test-\(String(number, radix: 16)).jpg")
        // As EXIF writes it: 2026:11:25 22:44:57.
        let seconds = Int64(time(nil))
        let now = Array((LocalClock(at: seconds).rfc3339(seconds) ?? "").utf8.prefix(19))
        let taken = now.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: ":") : $0 == UInt8(ascii: "T") ? 0x20 : $0 }
        photo = Self.photo(number, taken: taken)
    }

    private var inbox: BytePath { plan.answers.inbox }
    private var contact: ControlContact { ControlContact(runtime: plan.settings.runtime) }
    /// Seconds until it must be filed.
    private var patience: Int64 {
        60 + (plan.settings.inboxes.first { $0.name == plan.inbox }?.quiet.milliseconds ?? 0) / 1_000
    }

    /// Returns where in the library the photo was.
    func run(_ interruption: Interruption) throws -> BytePath {
        try requireIncluded()
        let filed: DaemonState.Ended
        do {
            try drop()
            filed = try follow(interruption)
        } catch { throw try abandoned(because: error) }
        let place = filed.destination.flatMap { BytePath(escaped: $0) } ?? ""
        do {
            try requireOwn(filed)
            // An inbox that keeps its files keeps this one, too, and would file it again.
            try? openWithoutLinks(inbox).unlink(name)
            try takeAway(filed.operation)
        } catch {
            let failure = error as? CommandFailure ?? CommandFailure(.failed, "\(error)")
            throw CommandFailure(
                failure.status, "the test photo was filed, and is still in the library as \(place): \(failure.message)",
                action: "Take it out: photoinbox undo \(filed.operation.map { "\($0)" } ?? "\(plan.inbox)/\(name)")")
        }
        return place
    }

    /// Removes the photo, also if it was filed just before or meanwhile; returns `reason`, or what is left besides.
    private func abandoned(because reason: any Error) throws -> any Error {
        do {
            do { try openWithoutLinks(inbox).unlink(name) } catch {
                guard error.code == .noSuchFileOrDirectory else { throw error }
            }
            let began = Moment.now.monotonic
            while true {
                let state = try contact.daemonState(within: 5)
                if let filed = outcome(in: state), filed.outcome == "filed" {
                    try requireOwn(filed)
                    try takeAway(filed.operation)
                    return reason
                }
                if waiting(in: state) == nil { return reason }
                if Self.seconds(since: began) > 5 { throw CommandFailure(.failed, "it is still in hand") }
                clock_nanosleep(CLOCK_MONOTONIC, 0, [Self.pause], nil)
            }
        } catch {
            let failure = reason as? CommandFailure ?? CommandFailure(.failed, "\(reason)")
            return CommandFailure(
                failure.status, "\(failure.message); the test photo may have been filed meanwhile",
                action: (failure.action.map { "\($0) " } ?? "")
                    + "Then take it out: photoinbox undo \(plan.inbox)/\(name)")
        }
    }

    private func outcome(in state: DaemonState) -> DaemonState.Ended? {
        state.outcomes.last { $0.inbox == plan.inbox && $0.file == name.escaped }
    }

    private func waiting(in state: DaemonState) -> DaemonState.InHand? {
        state.inHand.first { $0.inbox == plan.inbox && $0.file == name.escaped }
    }

    /// Throws unless what was filed by this name is the photo.
    func requireOwn(_ filed: DaemonState.Ended) throws(CommandFailure) {
        var hasher = ContentHasher()
        photo.withUnsafeBytes { hasher.update($0) }
        guard filed.sha256 == hasher.hash().description else {
            throw CommandFailure(.failed, "what was filed under its name has other bytes")
        }
    }

    func requireIncluded() throws(CommandFailure) {
        let settings = plan.settings.inboxes.first { $0.name == plan.inbox }
        guard let pattern = settings?.exclusion(of: name) else { return }
        throw CommandFailure(
            .configuration, "[inbox.\(plan.inbox)] excludes the test photo by \(printable("\(pattern)"))",
            action: "Leave out the test: --no-test")
    }

    private func drop() throws {
        let photo = try memoryFile("photo", content: photo)
        var words = ["/usr/bin/tee", inbox.appending(name).escaped]
        if geteuid() == 0, account.user != 0 {
            // Its groups are those of its next login, not of sessions that run.
            words =
                [
                    // Of a session of its own, so that it cannot type into this terminal.
                    "setsid", "--wait", "setpriv", "--reuid=\(account.user)", "--regid=\(account.groups[0])",
                    "--init-groups",
                    "--inh-caps=-all",
                ]
                + words
        }
        guard let done = try runTool(words, input: .descriptor(photo.raw)) else {
            throw CommandFailure(
                .unavailable, "\(words[0]) is not installed", action: "Or leave out the test: --no-test")
        }
        if done.exit.isSuccess { return }
        let reason = done.output.split(separator: "\n").last { $0.contains(": ") } ?? ""
        throw CommandFailure(
            .permission,
            "\(account.name) cannot drop a photo into \(inbox) (\(SetupPlace(at: inbox)?.text ?? "gone")): \(printable(String(reason)))",
            action: "What is in the way: namei -l \(shellQuoted(inbox.escaped))")
    }

    private func follow(_ interruption: Interruption) throws -> DaemonState.Ended {
        let began = Moment.now.monotonic
        while true {
            let state = try contact.daemonState(within: 5)
            if let ended = outcome(in: state) {
                guard ended.outcome == "filed" else {
                    throw CommandFailure(
                        .failed,
                        "the test photo was not filed: \(printable(ended.outcome)), \(printable(ended.reason))",
                        action: "See: photoinbox explain \(plan.inbox)/\(name)")
                }
                return ended
            }
            if let paused = state.inboxes.first(where: { $0.name == plan.inbox })?.paused {
                throw CommandFailure(
                    .failed, "the inbox \(plan.inbox) is paused by \(printable(paused.by))",
                    action: "photoinbox resume \(plan.inbox)")
            }
            if interruption.isStopRequested {
                throw CommandFailure(.failed, "stopped before the test photo was filed", action: "Run this again.")
            }
            // A daemon that has seen it may have learned to wait longer in this inbox.
            let limit = patience + (waiting(in: state) == nil ? 0 : 120)
            if Self.seconds(since: began) > limit { throw late(state) }
            interruption.wait(atMost: Self.pause)
        }
    }

    private static func seconds(since began: Int64) -> Int64 { (Moment.now.monotonic - began) / 1_000_000_000 }

    /// Why it is not filed, as far as the daemon says.
    func late(_ state: DaemonState) -> CommandFailure {
        let place = SetupPlace(at: inbox.appending(name))?.text ?? "gone"
        let waits = waiting(in: state)
        var words = waits.map { "\($0.stage), \($0.what)" } ?? "photoinboxd has not seen it"
        let others = state.inHand.count + (state.inHandOmitted ?? 0) - (waits == nil ? 0 : 1)
        if others > 0 { words += "; \(others) other arrivals are in hand" }
        let problems = state.problems.filter { $0.hiddenBy == nil }
        let told = problems.map { "\n\($0.code) \($0.what): \($0.effect)" }.joined()
        return CommandFailure(
            .failed,
            "the test photo of \(account.name) (\(place)) was not filed in time, and is removed: \(printable(words))"
                + told,
            action: problems.first?.action ?? "See: photoinbox status")
    }

    /// Takes the photo out of the library by `undo`, and deletes what that returns.
    private func takeAway(_ operation: Int64?) throws {
        guard let operation else { throw CommandFailure(.failed, "photoinboxd names no operation of it") }
        let answer = try contact.ask(ControlRequest(.undo(operation: operation)))
        if let failure = CommandFailure(answer) { throw failure }
        for returned in answer.items.compactMap(\.to) { try remove(returned) }
    }

    /// Deletes a photo that was taken back. The daemon may be less trusted than this process, and what it names is a path.
    func remove(_ returned: BytePath) throws {
        guard returned.name == name, let top = plan.settings.library?.returned,
            let rest = returned.relative(to: top), rest.isSafeBeneath
        else { throw CommandFailure(.failed, "photoinboxd returned it to \(returned), which is left there") }
        let place = try LinkWalk(top).path.appending(rest.parent)
        try openWithoutLinks(place).unlink(name)
    }

    /// A whole JPEG of 8 × 8 grey pixels; `number` makes it unlike any other, and `taken` is its date.
    static func photo(_ number: UInt64, taken: [UInt8]) -> [UInt8] {
        func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
            [0xFF, marker, UInt8((content.count + 2) >> 8), UInt8((content.count + 2) & 0xFF)] + content
        }
        // One entry leads from the first directory to that of EXIF, whose one is DateTimeOriginal.
        let exif: [UInt8] =
            Array("Exif\0\0MM\0*\0\0\0\u{8}".utf8) + [0, 1, 0x87, 0x69, 0, 4, 0, 0, 0, 1, 0, 0, 0, 26, 0, 0, 0, 0]
            + [0, 1, 0x90, 0x03, 0, 2, 0, 0, 0, 20, 0, 0, 0, 44, 0, 0, 0, 0] + taken + [0]
        // Codes of one bit: no difference, end of block.
        let code: [UInt8] = [1] + [UInt8](repeating: 0, count: 16)
        return [0xFF, 0xD8] + segment(0xE1, exif) + segment(0xFE, Array("photoinbox setup \(number)".utf8))
            + segment(0xDB, [0] + [UInt8](repeating: 16, count: 64)) + segment(0xC0, [8, 0, 8, 0, 8, 1, 1, 0x11, 0])
            + segment(0xC4, [0x00] + code) + segment(0xC4, [0x10] + code) + segment(0xDA, [1, 1, 0, 0, 63, 0])
            + [0x3F, 0xFF, 0xD9]
    }
}
