extension ProblemTemplate {
    /// The text for the manual, with parameters in capitals, like `PATH`.
    package var generalText: String {
        pieces.map { piece in
            switch piece {
            case .literal(let text): text
            case .value(let name), .shellQuoted(let name), .plainNumber(let name): name.rawValue.uppercased()
            case .counted(let name, _, let many): "\(name.rawValue.uppercased()) \(many)"
            case .word(_, _, let many): many
            }
        }.joined()
    }
}
