package import FileValues

package struct Problem: Hashable, Sendable {
    package let code: ProblemCode
    /// The name of its inbox, hook or monitor; empty if there is only one such thing.
    package let subject: String
    package fileprivate(set) var parameters: [ProblemParameter: ProblemValue]
    /// When it was first raised, in seconds since 1970.
    package let since: Int64

    package var severity: ProblemSeverity { code.row.severity }

    package func title(clock: LocalClock) -> String { code.row.title.rendered(parameters, clock: clock) }

    package func effect(clock: LocalClock) -> String { code.row.effect.rendered(parameters, clock: clock) }

    package func action(clock: LocalClock) -> String { code.row.action.rendered(parameters, clock: clock) }
}

/// The active problems, as one value: the daemon raises and clears them, and all programs show the same.
///
/// Times are seconds since 1970, given by the caller. Bounded: beyond ``capacity``, problems that stop nothing are
/// only counted. Pure.
package struct ProblemBoard: Hashable, Sendable {
    /// What raising a problem has changed.
    package enum Change: Hashable, Sendable {
        case raised
        /// It was active, with other parameters.
        case updated
        /// It was active, with the same parameters.
        case none
        case dropped
    }

    package struct Hidden: Hashable, Sendable {
        package let problem: Problem
        /// The visible problem at the end of the chain of causes.
        package let cause: ProblemCode
    }

    private struct Key: Hashable {
        let code: ProblemCode
        let subject: String
    }

    package static let capacity = 256
    package private(set) var dropped = 0
    private var problems: [Key: Problem] = [:]

    package init() {}

    /// Raises a problem, or updates its parameters. `since` stays that of the first time.
    @discardableResult
    package mutating func raise(
        _ code: ProblemCode, subject: String = "", _ parameters: [ProblemParameter: ProblemValue] = [:], at now: Int64
    ) -> Change {
        let key = Key(code: code, subject: subject)
        if let known = problems[key] {
            if known.parameters == parameters { return .none }
            problems[key]?.parameters = parameters
            return .updated
        }
        guard problems.count < Self.capacity || code.row.severity == .stopped else {
            dropped += 1
            return .dropped
        }
        problems[key] = Problem(code: code, subject: subject, parameters: parameters, since: now)
        return .raised
    }

    /// Clears a problem; returns it if it was active, so that its end can be reported.
    @discardableResult
    package mutating func clear(_ code: ProblemCode, subject: String = "") -> Problem? {
        problems.removeValue(forKey: Key(code: code, subject: subject))
    }

    /// Clears and returns all problems of a subject: an inbox that is no longer configured has none.
    @discardableResult
    package mutating func clearAll(subject: String) -> [Problem] {
        let gone = problems.values.filter { $0.subject == subject }.sorted(by: Self.precedes)
        for problem in gone { problems[Key(code: problem.code, subject: subject)] = nil }
        return gone
    }

    /// Sets the number of waiting photos in the problems that stop filing.
    package mutating func count(waiting: Int) {
        for (key, problem) in problems where problem.severity == .stopped {
            problems[key]?.parameters[.count] = .count(waiting)
        }
    }

    /// All of them, shown or not, sorted as ``visible(at:)``.
    package var all: [Problem] { problems.values.sorted(by: Self.precedes) }

    /// Problems to show: old enough, and not hidden by another one. The worst first, then by code and subject.
    package func visible(at now: Int64) -> [Problem] {
        let due = due(at: now)
        return due.filter { root(of: $0, among: due) == nil }
    }

    /// Problems that another one hides, in the same order.
    package func hidden(at now: Int64) -> [Hidden] {
        let due = due(at: now)
        return due.compactMap { problem in
            root(of: problem, among: due).map { Hidden(problem: problem, cause: $0.code) }
        }
    }

    /// The worst severity that is shown; nil if none is.
    package func worst(at now: Int64) -> ProblemSeverity? { visible(at: now).map(\.severity).max() }

    private func due(at now: Int64) -> [Problem] {
        problems.values.filter { now - $0.since >= $0.code.row.showAfter }.sorted(by: Self.precedes)
    }

    /// The last cause in the chain that hides `problem`. The table has no cycles, so this terminates.
    private func root(of problem: Problem, among due: [Problem]) -> Problem? {
        let cause = due.first { other in
            problem.code.row.hiddenBy.contains { cause in
                cause.code == other.code && (cause.scope == .everywhere || problem.subject == other.subject)
            }
        }
        guard let cause else { return nil }
        return root(of: cause, among: due) ?? cause
    }

    private static func precedes(_ left: Problem, _ right: Problem) -> Bool {
        if left.severity != right.severity { return left.severity > right.severity }
        return (left.code, left.subject) < (right.code, right.subject)
    }
}
