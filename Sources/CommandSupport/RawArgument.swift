import ArgumentParser
package import FileValues

/// A path on the command line, as the bytes that the shell gave.
///
/// ArgumentParser knows Strings only, and Swift repairs bytes that are not UTF-8, so that the file would not be found.
/// Such arguments are passed escaped, after a mark that no valid argument begins with.
package struct RawArgument: ExpressibleByArgument, Hashable, Sendable {
    package let path: BytePath

    package init(path: BytePath) { self.path = path }

    package init?(argument: String) {
        if argument.hasPrefix(Self.mark), let path = BytePath(escaped: String(argument.dropFirst(Self.mark.count))) {
            self.path = path
        } else {
            path = BytePath(argument)
        }
    }

    /// A noncharacter, which is never exchanged; an argument that begins with it is passed escaped, too.
    private static let mark = "\u{10FFFF}"

    /// The arguments of this process, without its own name.
    package static func ofProcess() -> [String] {
        (1..<max(1, Int(CommandLine.argc))).compactMap { index in
            CommandLine.unsafeArgv[index].map { carried(UnsafeRawBufferPointer(start: $0, count: length(of: $0))) }
        }
    }

    /// An argument's bytes as a String, which ``init(argument:)`` decodes.
    package static func carried(_ bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self), !text.hasPrefix(mark) { return text }
        return mark + escapeForDisplay(bytes)
    }

    private static func length(of text: UnsafePointer<CChar>) -> Int {
        var length = 0
        while text[length] != 0 { length += 1 }
        return length
    }
}
