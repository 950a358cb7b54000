public import Glibc
package import LinuxKernel
import SystemPackage

/// Held while a child is started, and while a file is written whose close must be visible at once: until it executes
/// its program, a child has all descriptors, and a file counts as closed with its last one.
///
/// Not of `Void`: for Thread Sanitizer a value without a size is at the address of its box, whose type others read.
package let openDescriptors = Locked(0)

/// Both ends of a new pipe, blocking, and closed on exec from the first moment on: a program that another test starts
/// would keep them open, and the end of what is written would be reported when it ends.
package func makePipe() throws(SystemCallError) -> (reading: Int32, writing: Int32) {
    let ends = try OutputPipe().take()
    _ = fcntl(ends.reading, F_SETFL, 0)
    return ends
}

/// Starts `arguments[0]` with no signal blocked or ignored: threads of libdispatch block nearly all, and a child
/// inherits that. `prepare` sets its open files.
public func spawn(
    _ arguments: [String], environment: [String: String], inASession: Bool = false,
    prepare: (inout posix_spawn_file_actions_t) -> Void
) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    prepare(&actions)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    var all = sigset_t()
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    // POSIX_SPAWN_SETSID, missing in Swift's Glibc module.
    let session: Int32 = inASession ? 0x80 : 0
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | session))
    var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for pointer in argv + envp { free(pointer) } }
    var child: pid_t = 0
    let result = openDescriptors.withLock { _ in
        posix_spawn(&child, arguments[0], &actions, &attributes, &argv, &envp)
    }
    guard result == 0 else { throw Errno(rawValue: result) }
    return child
}
