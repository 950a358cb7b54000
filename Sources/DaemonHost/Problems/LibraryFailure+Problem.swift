import FileValues
import Ingest
import LibraryCare
import LinuxKernel
import Reporting
import SystemPackage

extension LibraryFailure {
    /// What an error of looking at the library shows of it; nil if it shows nothing.
    init?(_ error: any Error) {
        switch error {
        case let refusal as LibraryGuard.Refusal: self = .replaced("\(refusal)")
        case let taken as PlaceLock.Taken: self = .taken("\(taken)")
        case let error as SystemCallError:
            switch error.code {
            case .noSuchFileOrDirectory, .notDirectory: self = .missing
            case .ioError: self = .inputOutput
            default: self = .other("\(error)")
            }
        default: return nil
        }
    }

    /// Which problem of the library at `path` it is, with the values of its texts; `room` is said of a full one.
    func problem(
        at path: BytePath, waiting: Int, room: String = ""
    ) -> (code: ProblemCode, parameters: [ProblemParameter: ProblemValue]) {
        let (code, reason): (ProblemCode, String?) =
            switch self {
            case .full: (.libraryFull, room)
            case .readOnly: (.libraryReadOnly, "it is read-only")
            case .inputOutput: (.libraryFailing, "input/output error")
            case .missing: (.libraryMissing, nil)
            case .taken(let reason): (.placeTaken, reason)
            case .replaced(let reason): (.libraryReplaced, reason)
            case .unsuitable(let reason): (.libraryUnsuitable, reason)
            case .other(let reason): (.libraryReadOnly, reason)
            }
        var parameters: [ProblemParameter: ProblemValue] = [.path: .path(path), .count: .count(waiting)]
        if let reason { parameters[.reason] = .text(reason) }
        return (code, parameters)
    }
}
