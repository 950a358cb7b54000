import Glibc

/// Writes a line to standard error, which is the journal under a service manager. A failure cannot be reported.
package func writeToStandardError(_ line: String) {
    // One write, so that the line is not interleaved with others.
    var text = line + "\n"
    _ = text.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
