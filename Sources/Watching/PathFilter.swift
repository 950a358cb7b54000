package import FileValues
import LinuxKernel
package import Settings

/// Which paths are reported: `--exclude`, `--include`, their globs, and `@PATH`. A value, usable from any thread.
///
/// Regular expressions see paths as they are printed, as inotifywait's do; globs see them from DIR down.
package struct PathFilter: Sendable {
    var excluded: [RegularExpression] = []
    /// Where there are any, of these or globs, a path must match one.
    var included: [RegularExpression] = []
    var excludedGlobs: [PathGlob] = []
    var includedGlobs: [PathGlob] = []
    /// Directories that are left out with all that is in them, as they would be printed, without a slash at the end.
    package var excludedTrees: Set<BytePath> = []

    package init(
        excluded: [RegularExpression] = [], included: [RegularExpression] = [], excludedGlobs: [PathGlob] = [],
        includedGlobs: [PathGlob] = []
    ) {
        (self.excluded, self.included) = (excluded, included)
        (self.excludedGlobs, self.includedGlobs) = (excludedGlobs, includedGlobs)
    }

    /// Whether it leaves nothing out.
    var isEmpty: Bool {
        excluded.isEmpty && included.isEmpty && excludedGlobs.isEmpty && includedGlobs.isEmpty && excludedTrees.isEmpty
    }

    /// Whether the entry at `path` is not reported; `root` is the part of it that DIR is.
    func hides(_ path: BytePath, root: Int) -> Bool {
        let relative = BytePath(path.bytes.dropFirst(root))
        if excluded.contains(where: { $0.matches(path) }) || excludedGlobs.contains(where: { $0.matches(relative) }) {
            return true
        }
        if included.isEmpty && includedGlobs.isEmpty { return false }
        return !included.contains { $0.matches(path) } && !includedGlobs.contains { $0.matches(relative) }
    }

    /// Whether nothing below the directory at `path`, which ends with a slash, can be reported: it then costs no
    /// watch.
    func prunes(_ path: BytePath, root: Int) -> Bool {
        if !excludedTrees.isEmpty, excludedTrees.contains(BytePath(path.bytes.dropLast())) { return true }
        if excluded.contains(where: { $0.matchesWhatBegins(with: path) }) { return true }
        guard !excludedGlobs.isEmpty else { return false }
        let relative = BytePath(path.bytes.dropFirst(root).dropLast())
        return excludedGlobs.contains { $0.matches(relative) }
    }

    /// The rule for a watched root at `prefix`, a path without a slash at its end unless it is nothing else.
    func rule(for prefix: BytePath) -> (@Sendable (BytePath, FileKind) -> Bool)? {
        guard !isEmpty else { return nil }
        let start = prefix.printedAsDirectory
        return { path, kind in
            let entry = start.bytes + path.bytes
            switch kind {
            case .directory: return prunes(BytePath(entry + [UInt8(ascii: "/")]), root: start.bytes.count)
            // It may turn out to be a directory.
            case .unknown:
                return hides(BytePath(entry), root: start.bytes.count)
                    && prunes(BytePath(entry + [UInt8(ascii: "/")]), root: start.bytes.count)
            default: return hides(BytePath(entry), root: start.bytes.count)
            }
        }
    }
}

extension BytePath {
    /// With one slash at its end at least, as inotifywait(1) prints directories.
    var printedAsDirectory: BytePath {
        bytes.last == UInt8(ascii: "/") ? self : BytePath(bytes + [UInt8(ascii: "/")])
    }
}
