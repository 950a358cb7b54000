package import FileValues
import Glibc
import LinuxKernel

/// A POSIX extended regular expression over bytes: regcomp(3), regexec(3). This program stays in the C locale, as
/// inotifywait(1) does, so a byte is a character. Usable from any thread.
package final class RegularExpression: Sendable {
    /// The message of regerror(3) for an invalid one.
    package struct Mistake: Error { package let message: String }

    private let compiled: Locked<regex_t>
    /// Whether it has no operator that depends on the text after a match, except `$`.
    private let endsWhereItMatches: Bool

    package init(_ pattern: BytePath, ignoringCase: Bool) throws(Mistake) {
        var expression = regex_t()
        let flags = REG_EXTENDED | REG_NOSUB | (ignoringCase ? REG_ICASE : 0)
        let code = pattern.withCString { regcomp(&expression, $0, flags) }
        if code != 0 {
            let text = [CChar](unsafeUninitializedCapacity: 256) { buffer, count in
                // The size that it needs, with its NUL.
                count = min(Int(regerror(code, &expression, buffer.baseAddress, buffer.count)), buffer.count) - 1
            }
            throw Mistake(message: String(decoding: text.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        compiled = Locked(expression)
        let lookahead = Array("bB<>'`".utf8)
        endsWhereItMatches = !zip(pattern.bytes, pattern.bytes.dropFirst()).contains {
            $0 == UInt8(ascii: "\\") && lookahead.contains($1)
        }
    }

    deinit { compiled.withLock { regfree(&$0) } }

    /// Whether it matches anywhere in `path`.
    func matches(_ path: BytePath) -> Bool { matches(path, 0) }

    /// Whether it matches `path` and every path that begins with it. May be false where that is true.
    func matchesWhatBegins(with path: BytePath) -> Bool { endsWhereItMatches && matches(path, REG_NOTEOL) }

    private func matches(_ path: BytePath, _ flags: Int32) -> Bool {
        compiled.withLock { expression in path.withCString { regexec(&expression, $0, 0, nil, flags) } == 0 }
    }
}
