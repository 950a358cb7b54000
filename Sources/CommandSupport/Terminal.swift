package import FileValues
import Glibc
import LinuxKernel
package import Reporting
import Settings

/// The terminal of this process. Reads the environment, so it must be used before other threads exist.
package enum Terminal {
    package static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Whether a person can be asked, on standard error, and answer.
    package static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// The size of the terminal at `descriptor`, which changes; nil if there is none, or its columns are unknown.
    package static func size(of descriptor: Int32 = STDOUT_FILENO) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// How text on standard output may look.
    package static func style(_ choice: TextStyle.ColourChoice) -> TextStyle {
        TextStyle(
            isTerminal: isOutput, choice: choice, noColour: variable("NO_COLOR"), terminal: variable("TERM"),
            colourTerminal: variable("COLORTERM"), columns: size()?.columns)
    }

    package static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}

/// `text` that begins at column `margin`, continued there where the terminal would break it; a word stays whole, so that
/// names and addresses can be copied. Where `columns` is nil, a line is a line.
package func hanging(_ text: String, at margin: Int, columns: Int?) -> String {
    wrappedAtBlanks(text, width: columns.map { $0 - margin })
        .joined(separator: "\n" + String(repeating: " ", count: margin))
}

/// Prints a line of a word and, two blanks later, its subject.
package func printLine(_ word: String, _ text: String) throws {
    let columns = Terminal.style(.never).width
    try printOut("\(word)  " + hanging(text, at: displayWidth(word) + 2, columns: columns) + "\n")
}

/// What a call that was refused says: to whom, and by which directory or mode.
package func permissionDenied(to path: BytePath) -> String { AccessObstacle(to: path).text }

/// How this user may get access to `path`, which may itself be invisible: sudo, or joining its group, if that has a name,
/// is not root's, and the user is not a member.
package func permissionAdvice(for path: BytePath) -> String {
    var place = path
    var status = try? FileStatus(at: place)
    while status == nil, !place.parent.isEmpty, place.parent != place {
        place = place.parent
        status = try? FileStatus(at: place)
    }
    guard let group = status?.group, group != 0, !isMember(of: group), let name = groupName(group) else {
        return "Use sudo."
    }
    let user = userName(getuid()) ?? "$USER"
    return "Use sudo, or join its group: sudo adduser \(user) \(name), then log in again."
}

private func isMember(of group: UInt32) -> Bool {
    var groups = [gid_t](repeating: 0, count: Int(NGROUPS_MAX))
    let count = getgroups(Int32(groups.count), &groups)
    return getegid() == group || groups.prefix(Int(max(0, count))).contains(group)
}

/// Prints to standard output at once; a failure ends the command. So does SIGINT or SIGTERM while the reader is stuck,
/// although the command has blocked it (``Interruption``): write(2) would wait for ever.
package func printOut(_ text: String) throws { try printOut(text.utf8) }

package func printOut(_ text: some Collection<UInt8>) throws {
    var rest = Array(text)[...]
    while !rest.isEmpty {
        if !hasRoom(STDOUT_FILENO) { throw CommandEnd(status: .someLeft) }
        // This much is written at once if there is room; it ends with a line unless that is longer.
        let most = rest.prefix(Int(PIPE_BUF))
        let piece = most.lastIndex(of: UInt8(ascii: "\n")).map { most[...$0] } ?? most
        var buffer = OutputBuffer(descriptor: STDOUT_FILENO)
        buffer.append(piece)
        switch buffer.flush() {
        case .written: rest = rest[piece.endIndex...]
        case .closed: throw CommandEnd(status: .ok)
        case .failed(let code): throw CommandFailure(.failed, "standard output: \(code)")
        }
    }
}

/// Prints a document to standard output, on one line.
package func printJSON(_ fields: [JSONField]) throws { try printOut(JSONValue.document(fields).compact + "\n") }

/// Waits until `descriptor` can be written; false if a stop is requested meanwhile, or was before and the reader does not
/// read for five seconds.
private func hasRoom(_ descriptor: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    // Each waits a quarter of a second. Writing reports whatever is wrong with the descriptor.
    var count = 0
    while poll(&entry, 1, 250) == 0 {
        count += 1
        var pending = sigset_t()
        sigpending(&pending)
        if sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 { return false }
        if count >= 20, Interruption.isStopRequestedAnywhere.withLock({ $0 }) { return false }
    }
    return true
}

/// Prints a remark to standard error; as an object with --json.
package func printRemark(_ text: String, asJSON: Bool = false) {
    printError(asJSON ? JSONValue.document([JSONField("remark", text)]).compact + "\n" : "photoinbox: \(text)\n")
}

/// Prints to standard error; a failure is ignored.
package func printError(_ text: String) {
    var buffer = OutputBuffer(descriptor: STDERR_FILENO)
    buffer.append(text)
    _ = buffer.flush()
}

/// Prints a line to standard error without a prefix, for programs that wait for it.
package func printPlainRemark(_ line: String) { printError(line + "\n") }
