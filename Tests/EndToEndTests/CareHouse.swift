import Foundation
import TestSupport
import Testing

extension House {
    struct Answer {
        let status: Int32
        let output: String
    }

    /// Runs `photoinbox` with this house's state directory, and no configuration.
    func askByState(_ arguments: String...) async throws -> Answer { try await askByState(arguments) }

    func askByState(_ arguments: [String]) async throws -> Answer {
        let out = path(".\(UUID()).out")
        let words = ([BuiltPrograms.path("photoinbox")] + arguments + ["--state", path("st")])
        let program = try RunningProgram(
            ["/bin/sh", "-c", "out=$1; shift; exec \"$@\" >\"$out\" 2>&1 </dev/null", "sh", out] + words)
        let ending = try await program.ending()
        let text = String(decoding: (try? Data(contentsOf: URL(filePath: out))) ?? Data(), as: UTF8.self)
        guard case .status(let status) = ending else { return Answer(status: -1, output: text) }
        return Answer(status: status, output: text)
    }

    /// A house with four filed photos, and their paths in order.
    static func filled() async throws -> (House, [String]) {
        let house = try House()
        let daemon = try await house.start()
        for number in 0..<4 {
            try house.drop(try Photos.unique(number), as: "\(number).jpg")
            try await daemon.line(holding: "filed inbox/\(number).jpg")
        }
        try await daemon.stop()
        return (house, (0..<4).map { "\(house.library)/\(Photos.day)/\($0).jpg" })
    }
}
