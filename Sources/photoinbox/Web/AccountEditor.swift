import CommandContact
import CommandSupport
import FileValues
import LinuxKernel
import Reporting
import SettingUp
import SystemPackage
import WebAccounts

/// Reads and writes web.users, web.links and web.devices.
struct AccountEditor<Line: AccountLine> {
    /// What another command that is at work is called.
    let command: String
    private let file: BytePath

    init(_ command: String, in directory: BytePath) {
        self.command = command
        let file = directory.appending(Line.file)
        // A symbolic link is followed where the programs do, so that it is still one when the file is replaced.
        self.file = Line.isFollowed ? (try? realPath(file)) ?? file : file
    }

    func read() throws -> AccountLines<Line> {
        let bytes: [UInt8]
        do throws(SystemCallError) { bytes = try contents(of: file) } catch {
            if error.code == .noSuchFileOrDirectory { return AccountLines() }
            throw error
        }
        do throws(AccountLines<Line>.WrongLine) {
            return try AccountLines(String(decoding: bytes, as: UTF8.self))
        } catch {
            throw CommandFailure(.configuration, "\(file): \(error)", action: "Correct that line.")
        }
    }

    /// Readable for all, as passwd(5) is: it has nothing with which anybody can sign in.
    func change<Result>(_ body: (inout AccountLines<Line>) throws -> Result) throws -> Result {
        let lock = try SetupLock(of: file, against: command)
        defer { withExtendedLifetime(lock) {} }
        var lines = try read()
        let before = lines
        let result = try body(&lines)
        if lines != before {
            try openDirectory(file.parent).put(Array(lines.text.utf8), as: file.name, mode: 0o644, durably: true)
        }
        return result
    }
}
