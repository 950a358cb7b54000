// The program that the filing tests run, trace and kill. It files photos as the daemon does, with a real catalogue.
//
//   filing-probe file ROOT NAME [--kill-at STEP] [--save-at STEP] [--named]
//                                                             one file of ROOT/inbox into ROOT/library, killed or
//                                                             written to by another descriptor at that step
//   filing-probe recover ROOT                                 finishes or undoes what was pending; prints each
//   filing-probe bench ROOT COUNT BYTES                       times COUNT filings and SHA-256
//   filing-probe examine DIRECTORY                            proves the files that standard input names

import Glibc

var blocked = sigset_t()
sigemptyset(&blocked)
sigaddset(&blocked, SIGIO)
pthread_sigmask(SIG_BLOCK, &blocked, nil)

let arguments = CommandLine.arguments
do {
    switch (arguments.dropFirst().first, arguments.count) {
    case ("file", 4...):
        let killAt = arguments.firstIndex(of: "--kill-at").map { arguments[$0 + 1] }
        let saveAt = arguments.firstIndex(of: "--save-at").map { arguments[$0 + 1] }
        let fixture = try Fixture(arguments[2], named: arguments.contains("--named"))
        try fixture.file(arguments[3], killAt: killAt, saveAt: saveAt)
    case ("recover", 3):
        for line in try Fixture(arguments[2], named: false).recover() { print(line) }
    case ("bench", 5):
        try benchmark(arguments[2], count: Int(arguments[3]) ?? 0, size: Int(arguments[4]) ?? 0)
    case ("examine", 3): try examine(arguments[2])
    default:
        print("usage: see main.swift")
        exit(64)
    }
} catch {
    print("filing-probe: \(error)")
    exit(1)
}
