package import FileValues

/// A place in a text: line and column count from 1, the column in Unicode scalars, as compilers print them.
package struct TextPosition: Hashable, Comparable, Sendable {
    /// From 1.
    package let line: Int
    /// From 1.
    package let column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    package static func < (left: TextPosition, right: TextPosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// The origin of an effective value.
package enum Origin: Hashable, Sendable {
    /// A position in a configuration file, by the path that was given for it.
    case file(BytePath, TextPosition)
    /// A configuration file as a whole.
    case wholeFile(BytePath)
    /// A command-line flag, with its dashes.
    case flag(String)
    /// A variable of the environment.
    case environment(String)
    /// The default.
    case standard
}

extension Origin: CustomStringConvertible {
    /// `photoinbox.toml:18`, `--quiet`, `$STATE_DIRECTORY` or `default`.
    package var description: String {
        switch self {
        case .file(let path, let position): "\(path):\(position.line)"
        case .wholeFile(let path): path.description
        case .flag(let name): name
        case .environment(let name): "$" + name
        case .standard: "default"
        }
    }
}
