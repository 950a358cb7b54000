import FileValues
import Filing
import Glibc
import LinuxKernel
import PhotoFormats
import PhotoModel

/// Examines files of `directory`, for campaigns with too many files for a daemon.
///
/// Reads a name from each line of standard input and prints a line with, separated by tabs: completeness, the decisions
/// at once, after the quiet window, at the last moment of patience and after it, and the reason.
func examine(_ directory: String) throws {
    let root = try openDirectory(BytePath(directory))
    let probe = WriterProbe()
    let windows = QuietWindows()
    while let name = readLine() {
        do {
            let source = try SourceFile(BytePath(name), beneath: root)
            var examination = try Examination(of: source, probe: probe)
            try examination.note(source.read().emptyBlocks, of: source)
            let first = ContinuousClock.now
            let check = QuietCheck(source.identity, at: first)
            let moments: [Duration] = [.zero, windows.remote, windows.patience - .seconds(1), windows.patience]
            let proofs = moments.map { examination.decide(check, windows: windows, at: first + $0) }
            let words = proofs.map(word(for:)) + [examination.report.completeness.words]
            print(examination.report.completeness.code, words.joined(separator: "\t"), separator: "\t")
        } catch {
            print("refused\trefused\trefused\trefused\trefused\t\(error)")
        }
        fflush(nil)
    }
}

private func word(for proof: Proof) -> String {
    switch proof {
    case .complete: "complete"
    case .wait: "wait"
    case .lacking: "lacking"
    case .incomplete: "incomplete"
    case .damaged: "damaged"
    case .notAPhoto: "not-a-photo"
    }
}
