/// One row of the problem table: all texts and rules of a code.
package struct ProblemRow: Hashable, Sendable {
    /// Which problems a cause hides.
    package enum Scope: Hashable, Sendable {
        case everywhere
        /// Those of the cause's own subject only: a missing inbox hides its own.
        case sameSubject
    }

    /// A problem that hides this one while it is active, since it is the cause.
    package struct Cause: Hashable, Sendable {
        package let code: ProblemCode
        package let scope: Scope

        static func everywhere(_ code: ProblemCode) -> Cause { Cause(code: code, scope: .everywhere) }
        static func sameSubject(_ code: ProblemCode) -> Cause { Cause(code: code, scope: .sameSubject) }
    }

    package let severity: ProblemSeverity
    package let title: ProblemTemplate
    /// What it means for the photos.
    package let effect: ProblemTemplate
    package let action: ProblemTemplate
    /// Where to read more; nil if the action is enough.
    package let see: String?
    /// Seconds that it must last before it is shown, so that short interruptions are not reported.
    package let showAfter: Int64
    package let hiddenBy: [Cause]

    package var parameters: Set<ProblemParameter> { title.parameters.union(effect.parameters).union(action.parameters) }

    init(
        _ severity: ProblemSeverity, title: ProblemTemplate, effect: ProblemTemplate, action: ProblemTemplate,
        see: String? = nil, showAfter: Int64 = 0, hiddenBy: [Cause] = []
    ) {
        (self.severity, self.title, self.effect, self.action) = (severity, title, effect, action)
        (self.see, self.showAfter, self.hiddenBy) = (see, showAfter, hiddenBy)
    }
}
