import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("The state dump matches its published schema")
    struct Schema {
        private static let project = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
            .joined(separator: "/")

        private static func schema() throws -> JSONTree {
            try JSONTree(try Data(contentsOf: URL(filePath: project + "/docs/state.schema.json")))
        }

        /// Requests a dump, validates it against the schema and returns it.
        private func checked(
            _ house: House, _ daemon: RunningProgram, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> DaemonState {
            let state = try await house.state(of: daemon)
            let bytes = try Data(contentsOf: URL(filePath: house.path("st/run/state.json")))
            let mistakes = JSONSchema(try Self.schema()).mistakes(in: try JSONTree(bytes))
            #expect(mistakes == [], sourceLocation: sourceLocation)
            return state
        }

        @Test("When idle, busy, paused, with outcomes and waits of every kind, with problems and with hooks")
        func states() async throws {
            let house = try House()
            let extras = """

                [inbox.lost]
                path = "@lost"
                [inbox.slow]
                path = "@slow"
                patience = "10m"
                [hook.h]
                command = ["/bin/true"]
                on = ["filed"]
                [pictures]
                enabled = "yes"
                decoder = "/nonexistent/decoder"
                """
            for name in ["lost", "slow"] { try makeDirectory(house.path(name)) }
            let daemon = try await house.start(configuration: House.oneCard + extras)
            let idle = try await checked(house, daemon)
            #expect(idle.inHand.isEmpty && idle.inboxes.count == 3 && idle.hooks?.count == 1 && idle.pictures != nil)

            let count = 60
            try makeDirectory("\(house.outside)/many")
            for number in 0..<count { try write(try Photos.unique(number), to: "\(house.outside)/many/\(number).jpg") }
            #expect(try await house.ask("pause", "card").status == 0)
            try move("\(house.outside)/many", to: "\(house.inbox)/many")
            try await poll({ try await checked(house, daemon) }) { $0.inHand.count == count }
            #expect(try await house.ask("resume", "card").status == 0)
            try await poll({ try await checked(house, daemon) }) { $0.inboxes.first?.counts.filed == count }

            try house.drop(try Photos.unique(1), as: "again.jpg")
            try house.drop(Data("text".utf8), as: "no\nte.txt")
            try house.drop(Data(), as: "empty.jpg")
            try house.drop(try Photos.unique(99).prefix(900), as: "cut.jpg", into: house.path("slow"))
            try await daemon.lines(holding: [
                "duplicate card/again.jpg", "ignored card/no", "quarantined card/empty.jpg", "deferred slow/cut.jpg",
            ])
            #expect(try await house.ask("pause", "card").status == 0)
            #expect(rmdir(house.path("lost")) == 0)
            try house.configure("libary = 1\n")
            daemon.signal(SIGHUP)
            try await daemon.line(holding: "PI-101")
            let trouble = try await poll({ try await checked(house, daemon) }) { state in
                state.inboxes.contains { $0.verdict == "gone" }
            }
            #expect(trouble.inboxes.first?.paused != nil && !trouble.inHand.isEmpty)
            #expect(Set(trouble.outcomes.map(\.outcome)).isSuperset(of: ["duplicate", "ignored", "quarantined"]))
            #expect(Set(trouble.problems.map(\.code)).isSuperset(of: ["PI-101", "PI-210"]), "\(trouble.problems)")
            try await daemon.stop()
        }

        @Test("The schema lists exactly the fields that the program may write")
        func fields() throws {
            guard case .object(let definitions) = try Self.schema()["$defs"] else { throw CocoaError(.fileReadUnknown) }
            let all = try [Self.schema()] + definitions.values
            let named = Set(
                all.flatMap { schema -> [String] in
                    if case .object(let properties) = schema["properties"] { Array(properties.keys) } else { [] }
                })
            let source = try Data(
                contentsOf: URL(filePath: Self.project + "/Sources/ControlProtocol/DaemonState.swift"))
            let written = Set(
                String(decoding: source, as: UTF8.self).matches(of: /package var (\w+)/).map { String($0.1) })
            #expect(written.symmetricDifference(named).sorted() == [])
        }

        @Test("The checker finds violations")
        func checker() throws {
            let schema = JSONSchema(try Self.schema())
            #expect(schema.mistakes(in: .object([:])).contains(": program is missing"))
            let log = JSONTree.object([
                "destination": .number(1), "queued": .number(-1), "sent": .number(1.5), "more": .null,
            ])
            let found = schema.mistakes(in: .object(["log": log, "format": .number(2), "at": .string("now")]))
            for mistake in [
                ".log: dropped is missing", ".log: more is not in the schema", ".log.destination: integer, not string",
                ".log.queued: -1.0 < 0.0", ".log.sent: number, not integer",
            ] {
                #expect(found.contains(mistake), "\(found)")
            }
            #expect(found.contains { $0.hasPrefix(".format: not ") } && found.contains { $0.hasPrefix(".at: ") })
            let later = JSONSchema(.object(["oneOf": .array([])]))
            #expect(later.mistakes(in: .null) == [": the schema's oneOf is not known here"])
        }

        @Test(
            "An independent checker agrees about the schema and a dump",
            .enabled(if: hasJSONSchema, "skipped: python3-jsonschema is not installed"))
        func independent() async throws {
            let house = try House()
            let daemon = try await house.start()
            _ = try await house.state(of: daemon)
            let program = """
                import json, sys
                from jsonschema import Draft202012Validator as Validator
                schema, dump = (json.load(open(path)) for path in sys.argv[1:])
                Validator.check_schema(schema)
                Validator(schema).validate(dump)
                """
            let paths = [Self.project + "/docs/state.schema.json", house.path("st/run/state.json")]
            try await aside { try runProgram(["/usr/bin/python3", "-c", program] + paths) }
            try await daemon.stop()
        }

        private static let hasJSONSchema =
            (try? runProgram(["/usr/bin/python3", "-c", "from jsonschema import Draft202012Validator"])) != nil
    }
}
